"""The files of the tour: made-up people as a CSV file, and the schema their owner has confirmed.

The file is as untidy as real ones are: years and amounts in place of bins, cells that are empty or "?", two spellings.
"""

import csv
import os
import shutil
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from residuum.data.sample import DOMAIN, people
from residuum.data.yaml import scalar
from residuum.errors import ReleaseError

PEOPLE, SCHEMA = "people.csv", "schema.yaml"
ROWS = 50_000

_AGES = (18, 25, 35, 45, 55, 65, 75, 100)
_INCOMES = (0, 10_000, 20_000, 30_000, 45_000, 60_000, 90_000, 250_000)
_NUMBERS = {"age": _AGES, "income": _INCOMES}
_MISSING = {"income": 0.04, "insurance": 0.02, "education": 0.01}
"""Which cells are empty or "?", and how many."""

_HEAD = """\
# The schema of people.csv. Nothing in it was read off the rows: it is what the questionnaire allows.
version: 1
confirmed: true
person: row
leave_out: [id]
columns:
"""


def write(folder: Path, rows: int = ROWS) -> None:
    """Write both files to a folder that is new or empty: both or none."""
    if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise ReleaseError(f"Expected a new folder to write to, but there is something at {str(folder)!r}.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    place = Path(mkdtemp(prefix=".unfinished-", dir=folder.parent))
    try:
        _write_people(place / PEOPLE, rows)
        (place / SCHEMA).write_text(_HEAD + "".join(map(_lines, DOMAIN.names)), encoding="utf-8")
        place.rename(folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _write_people(path: Path, rows: int) -> None:
    rng = np.random.default_rng(1)
    codes = people(rows).columns
    columns = [np.arange(1, rows + 1).astype(str)]
    for name, labels, code in zip(DOMAIN.names, DOMAIN.labels, codes, strict=True):
        if name in _NUMBERS:
            edges = np.array(_NUMBERS[name])
            within = rng.random(rows) ** 2 if name == "income" else rng.random(rows)
            cells = (edges[code] + within * (edges[code.astype(int) + 1] - edges[code])).astype(int).astype(str)
        else:
            cells = np.array(labels, dtype="U20")[code]
        if name == "sex":
            cells = np.where(rng.random(rows) < 0.1, np.char.upper(cells.astype("U1")), cells)
        if name in _MISSING:
            cells = np.where(rng.random(rows) < _MISSING[name], rng.choice(["", "?"], rows), cells)
        columns.append(cells)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", *DOMAIN.names])
        writer.writerows(zip(*(column.tolist() for column in columns), strict=True))


def _lines(name: str) -> str:
    """A column of the schema."""
    if name in _NUMBERS:
        low, *cuts, high = _NUMBERS[name]
        keys = f"kind: integer, min: {low}, max: {high - 1}, cuts: {cuts}"
    else:
        values = ", ".join(map(scalar, map(str, DOMAIN.labels[DOMAIN.names.index(name)] or ())))
        aliases = ", aliases: {F: female, M: male}" if name == "sex" else ""
        keys = f"kind: categorical, values: [{values}]{aliases}"
    return f"  {name}: {{{keys}}}\n"
