"""The file of cliques: which marginals are wanted, and how much each of them matters.

A list in YAML (or JSON, which is YAML too), with an entry in one of three forms:

    - [age, sex]                                        the marginal over these columns
    - {columns: [age, income], weight: 5}               the same, five times as important
    - {all: 3, of: [age, sex, region, income]}          every marginal over three of these columns; without `of`, of all

What is named twice counts twice.
"""

from collections.abc import Iterator
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

from residuum.core.domain import Clique, Domain
from residuum.core.workload import Workload
from residuum.data import yaml
from residuum.errors import DomainError, WorkloadError

_FORMS = "`[age, sex]`, `{columns: [age, sex], weight: 2}` or `{all: 2}`"
_MOST_CLIQUES = 5_000_000
_FILE = "The file of cliques"


def load(path: str | Path, domain: Domain) -> Workload:
    """The workload in a file.

    >>> load("nowhere.yaml", Domain({"age": 4, "sex": 2}))
    Traceback (most recent call last):
    ...
    residuum.errors.WorkloadError: No file of cliques at 'nowhere.yaml'.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise WorkloadError(f"No file of cliques at {str(path)!r}.") from None
    except (OSError, ValueError):
        raise WorkloadError(f"Cannot read the file of cliques {str(path)!r}: it must be a text in UTF-8.") from None
    return parse(text, domain)


def parse(text: str, domain: Domain) -> Workload:
    """The workload in a text.

    >>> domain = Domain({"age": 4, "educ": 3, "sex": 2})
    >>> parse("[{all: 1}, {columns: [sex, age], weight: 2.5}]", domain).weights
    {(0,): 1.0, (1,): 1.0, (2,): 1.0, (0, 2): 2.5}
    """
    entries = yaml.parse(text, _FILE, WorkloadError)
    if not isinstance(entries, list) or not entries:
        raise WorkloadError(f"{_FILE} is not a list of {_FORMS}.")
    weights: dict[Clique, float] = {}
    room = _MOST_CLIQUES
    for number, entry in enumerate(entries, start=1):
        try:
            columns, order, weight = _read(entry, domain)
            room -= comb(len(columns), order)
            if room < 0:
                raise WorkloadError(f"More than {_MOST_CLIQUES:,} cliques are too many.")
            for gamma in combinations(columns, order):
                weights[gamma] = weights.get(gamma, 0.0) + weight
        except (DomainError, WorkloadError) as error:
            raise WorkloadError(f"{error} Look at entry {number} of the file of cliques.") from None
    return Workload(domain, weights)


def _read(entry: Any, domain: Domain) -> tuple[Clique, int, float]:
    """Columns, how many of them make a clique, and its weight."""
    if isinstance(entry, list):
        entry = {"columns": entry}
    if not isinstance(entry, dict) or ("columns" in entry) == ("all" in entry):
        raise WorkloadError(f"Expected {_FORMS}.")
    for key in entry:
        if key not in (("columns", "weight") if "columns" in entry else ("all", "of", "weight")):
            raise WorkloadError(f"Unknown key {key!r}. Expected {_FORMS}.")
    weight = _weight(entry.get("weight", "1"))
    if "columns" in entry:
        columns = domain.clique(_names(entry["columns"]))
        return columns, len(columns), weight
    columns = domain.clique(_names(entry["of"]) if "of" in entry else domain.names)
    order = entry["all"]
    if order not in (str(k) for k in range(1, len(columns) + 1)):
        raise WorkloadError(f"Expected `all` to be a number from 1 to {len(columns)}, got {_short(order)}.")
    return columns, int(order), weight


def _names(given: Any) -> Iterator[str]:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise WorkloadError(f"Expected a list of columns, got {_short(given)}.")
    return iter(given)


def _weight(given: Any) -> float:
    try:
        weight = float(given)
    except (TypeError, ValueError):
        weight = 0.0
    if not 0 < weight <= 1e30:
        raise WorkloadError(f"Expected a weight above 0, got {_short(given)}.")
    return weight


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
