"""A first schema for a source, guessed from its rows: for its owner's eyes until it is confirmed."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import count
from math import ceil, floor
from typing import Any, Literal

from residuum.data.columns import NUMBER, Boolean, plain
from residuum.data.encode import Field, among, literal
from residuum.data.schema import TOKENS, Csv
from residuum.data.sources import opened
from residuum.data.sources.engine import rows
from residuum.data.yaml import scalar
from residuum.errors import SourceError

MARK = "# read off the data"
"""What every line that tells about the private rows ends with."""

_MANY = 64
"""Texts with more values than this are left out, and whole numbers over half as wide a range get bins."""

_HEAD = f"""\
# A draft. Every line marked "{MARK[2:]}" was guessed from the private rows and tells about them, outside of every
# privacy budget. Replace values, bounds and bins by what is known without the rows (a questionnaire, a code book, a
# law), take the marks away, then set `confirmed: true`. Until then no release is made.
version: 1
confirmed: false
person: row # or {{id: COLUMN, rows: K}}, where one person can have several rows
"""

_NAMES_OF_IDS = re.compile(r"(^|[^a-z])(id|index|key|uuid|number|nr|no)$", re.IGNORECASE)


_CELLS = (
    "t#",
    "TRY_CAST(t# AS DOUBLE) AS x#",
    "CASE WHEN t# LIKE '____-__-__%' THEN TRY_CAST(TRY_CAST(t# AS TIMESTAMPTZ) AS DATE) END AS d#",
)
"""The text of a cell in column number #, and the number and the day in it."""

_FACTS = (
    "count(t#)",
    "approx_count_distinct(t#)",
    "count(x#) FILTER (isfinite(x#))",
    "count(x#) FILTER (isfinite(x#) AND x# = floor(x#))",
    "count(d#)",
    "coalesce(min(x#) FILTER (isfinite(x#)), 0)",
    "coalesce(max(x#) FILTER (isfinite(x#)), 0)",
    "CAST(min(d#) AS VARCHAR)",
    "CAST(max(d#) AS VARCHAR)",
)
"""What is asked of a column, in the order of the fields of `_Seen`."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the rows tell of one column."""

    name: str
    cells: int
    distinct: int
    numbers: int
    whole: int
    dates: int
    low: float
    high: float
    first: str
    last: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """Why a column is not proposed for release."""

    reason: str


def draft(source: Any, *, query: str | None = None, encoding: Literal["utf-8", "latin-1", "utf-16"] = "utf-8") -> str:
    """A schema for a source, as YAML to be checked by its owner. It is private: it tells about the rows.

    Few values make a categorical column, many numbers make bins with round cuts, and ids are left out.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("age,sex" + chr(10) + "20,female" + chr(10) + "23,male" + chr(10))
    ...     print(draft(path).partition("columns:")[2])
    <BLANKLINE>
      age:
        kind: integer # read off the data
        min: 20 # read off the data
        max: 23 # read off the data
      sex:
        kind: categorical # read off the data
        values:
          - "female" # read off the data
          - "male" # read off the data
    <BLANKLINE>
    """
    guesses = {seen.name: _guess(seen) for seen in _look(source, query, encoding)}
    lines = [f"csv: {{encoding: {encoding}}}"] if encoding != "utf-8" else []
    left_out = {name: guess for name, guess in guesses.items() if isinstance(guess, _LeftOut)}
    if len(left_out) == len(guesses):
        raise SourceError("No column has values to draft a schema from. Write one by hand: see docs/schema.md.")
    if left_out:
        lines += ["leave_out:", *(f"  - {_name(name)} {MARK}: {left_out[name].reason}" for name in left_out)]
    lines.append("columns:")
    for name, guess in guesses.items():
        if not isinstance(guess, _LeftOut):
            lines += [f"  {_name(name)}:", *(f"    {line}" for line in guess)]
    return _HEAD + "\n".join(lines) + "\n"


def _look(source: Any, query: str | None, encoding: Any) -> list[_Seen]:
    """What the rows tell of each column, in two passes over them."""
    try:
        dialect = Csv(encoding=encoding)
    except ValueError:
        raise SourceError(f"Unknown encoding {encoding!r}. It is one of utf-8, latin-1, utf-16.") from None
    with opened(source, dialect, query) as (engine, relation):
        fields = [Field(*field) for field in zip(relation.columns, relation.types, strict=True)]
        numbers = range(len(fields))
        texts = [
            f"CASE WHEN NOT {among(f.text, map(literal, TOKENS))} THEN {f.text} END AS t{i}"
            for i, f in enumerate(fields)
        ]

        def ask(parts: Sequence[str]) -> tuple[Any, ...]:
            """One row of aggregates over the cells."""
            cells = f"SELECT {_each(_CELLS, numbers)} FROM (SELECT {', '.join(texts)} FROM "
            return rows(engine, relation, lambda sql: f"SELECT {', '.join(parts)} FROM ({cells}{sql}))")[0]

        facts = ask([_each(_FACTS, numbers)])
        seen = [_Seen(name, *facts[k * len(_FACTS) :][: len(_FACTS)]) for k, name in enumerate(relation.names)]
        few = [i for i, s in enumerate(seen) if 0 < s.distinct <= 2 * _MANY]
        lists: Sequence[Any] = ask([f"list(DISTINCT t{i})" for i in few]) if few else []
    for i, found in zip(few, lists, strict=True):
        values = tuple(sorted(value for value in found if value is not None))
        seen[i] = replace(seen[i], distinct=len(values), values=values)
    twice = {s.name for s in seen if [other.name for other in seen].count(s.name) > 1}
    if twice:
        raise SourceError(f"Column {min(twice)!r} occurs twice in {relation.place}. Rename one of the two.")
    return seen


def _each(parts: Sequence[str], numbers: Iterable[int]) -> str:
    return ", ".join(part.replace("#", str(i)) for i in numbers for part in parts)


def _guess(seen: _Seen) -> list[str] | _LeftOut:
    """The lines of a column, or why it is left out."""
    if not seen.cells:
        return _LeftOut("no values")
    if seen.name.startswith("Unnamed: "):
        return _LeftOut("a column without a name, an index perhaps")
    if seen.distinct == 1 or (
        seen.numbers == seen.cells and seen.low == seen.high
    ):  # one number may be spelt in two ways
        return _LeftOut("one value only")
    own = seen.distinct > 0.95 * seen.cells and seen.cells > 20
    if seen.numbers == seen.cells:
        if own and _NAMES_OF_IDS.search(seen.name) and seen.whole == seen.cells:
            return _LeftOut("an id")
        return list(_numbers(seen))
    if {Boolean.keys.get(value.lower()) for value in seen.values} == {0, 1}:
        return _marked(kind="boolean")
    if seen.dates == seen.cells and not seen.numbers:
        return list(_dates(seen))
    if seen.values and seen.distinct <= _MANY:
        return list(_texts(seen.values))
    return _LeftOut("almost every row has a value of its own" if own else f"more than {_MANY} values")


def _marked(**keys: Any) -> list[str]:
    return [f"{key}: {value} {MARK}" for key, value in keys.items()]


def _numbers(seen: _Seen) -> Iterator[str]:
    whole = seen.whole == seen.cells and max(abs(seen.low), abs(seen.high)) < 2**53
    if whole and seen.high - seen.low < _MANY // 2:
        yield from _marked(kind="integer", min=plain(seen.low), max=plain(seen.high))
    elif seen.values and seen.distinct <= _MANY // 4:
        yield from _texts(sorted({plain(float(value)) for value in seen.values}, key=float))
    else:
        low, high, bins = _round(seen.low, seen.high, whole)
        yield from _marked(kind="integer" if whole else "real", min=low, max=high, bins=bins)


def _round(low: float, high: float, whole: bool) -> tuple[str, str, int]:
    """Bounds around two numbers at round places, and how many round steps are between them: from 13 to 33."""
    start = floor(Decimal((high - low) / 100).adjusted()) if high - low < float("inf") else 306
    for power in count(max(start, 0) if whole else start):
        for factor in (1, 2, 5):
            step = Fraction(factor) * Fraction(10) ** power
            first, last = floor(Fraction(low) / step), ceil((Fraction(high) + whole) / step)
            if last - first <= _MANY // 2 + 1:
                ends = [Decimal(k * factor).scaleb(power) - (whole and k == last) for k in (first, last)]
                return f"{ends[0]:f}", f"{ends[1]:f}", last - first
    raise AssertionError


def _dates(seen: _Seen) -> Iterator[str]:
    days = (date.fromisoformat(seen.last) - date.fromisoformat(seen.first)).days + 1
    steps = {"day": 1, "week": 7, "month": 31, "quarter": 92}
    granularity = next((name for name, step in steps.items() if days <= step * _MANY // 2), "year")
    yield from _marked(kind="date", min=seen.first, max=seen.last, granularity=granularity)


def _texts(values: Sequence[str]) -> Iterator[str]:
    """A list of values, spellings that differ in letters or a full stop being one value."""
    spellings: dict[str, list[str]] = {}
    for value in values:
        key = value if NUMBER.fullmatch(value) else " ".join(value.casefold().rstrip(".").split())
        spellings.setdefault(key, []).append(value)
    yield from _marked(kind="categorical")
    yield "values:"
    groups = [sorted(group, key=len) for group in spellings.values()]
    for group in groups:
        yield f"  - {scalar(group[0])} {MARK}"
    if any(len(group) > 1 for group in groups):
        yield "aliases:"
        for group in groups:
            for other in group[1:]:
                yield f"  {scalar(other)}: {scalar(group[0])} {MARK}"


def _name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name) else scalar(name)
