"""Tables to measure on: Adult from a file, and stand-ins made here with the shape of the paper's other data sets."""

import json
import os
from pathlib import Path

import numpy as np

from residuum import Domain, Table

SHARED = Path(os.environ.get("RESIDUUM_SHARED", "../shared"))
"""Where `data/adult.csv` and `shapes.json` are."""


def adult() -> Table:
    """The paper's Adult: each column coded by its sorted unique values, a domain that only a benchmark may use."""
    raw = np.loadtxt(SHARED / "data" / "adult.csv", delimiter=",", skiprows=1, dtype=np.int64)
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in raw.T])
    return Table.from_codes(codes, _domain([int(column.max()) + 1 for column in codes.T]))


def stand_in(name: str, seed: int = 0) -> Table:
    """A made-up table with the rows and sizes of a data set of the paper ("acs" or "loans")."""
    shape = json.loads((SHARED / "shapes.json").read_text())[name]
    return tree(shape["sizes"], shape["rows"], seed)


def tree(sizes: list[int], rows: int, seed: int = 0) -> Table:
    """Rows drawn from a random tree: each attribute follows a random conditional table given one before it."""
    rng = np.random.default_rng(seed)
    codes = np.empty((rows, len(sizes)), dtype=np.uint8 if max(sizes) <= 256 else np.uint32)
    for i, n in enumerate(sizes):
        if i == 0:
            codes[:, i] = rng.choice(n, size=rows, p=rng.dirichlet(np.full(n, 0.7)))
            continue
        parent = int(rng.integers(i))
        cumulative = rng.dirichlet(np.full(n, 0.5), size=sizes[parent]).cumsum(axis=1)
        thresholds = cumulative[:, :-1][codes[:, parent]]
        codes[:, i] = (rng.random(rows)[:, None] > thresholds).sum(axis=1)
    return Table.from_codes(codes, _domain(sizes))


def _domain(sizes: list[int]) -> Domain:
    return Domain({f"x{i}": n for i, n in enumerate(sizes)})
