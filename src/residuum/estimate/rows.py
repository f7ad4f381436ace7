"""Rows drawn from a mixture: each is a draw from it, and together they stray from it less than independent draws do.

How many rows a class has, and how many of these have a value or one before it, is the expected number up or down to a
whole one. Which of the rows of a class have which value is left to chance, for every attribute anew: within a class the
attributes are independent.
"""

from collections.abc import Iterator
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from residuum.core.checks import Array
from residuum.core.domain import Domain
from residuum.errors import ReleaseError
from residuum.estimate.decode import decode
from residuum.estimate.mixture import Floats, Mixture

if TYPE_CHECKING:
    import pyarrow

Codes = NDArray[np.unsignedinteger]

MOST_ROWS = 2**31 - 1
_AT_ONCE = 1 << 20
"""How many rows are drawn at a time, so that any number of them can be written to a file."""


def batches(mixture: Mixture, domain: Domain, n: int, rng: np.random.Generator) -> Iterator["pyarrow.Table"]:
    """The rows of a synthetic table in labels and units, about a million at a time; one table at least.

    >>> mixture = Mixture((2,), 1.0, np.ones((1, 1), dtype=np.float32), np.array([[[0.5, 0.5]]], dtype=np.float32))
    >>> tables = batches(mixture, Domain({"sex": ["f", "m"]}), 4, np.random.default_rng(0))
    >>> sorted(row["sex"] for table in tables for row in table.to_pylist())
    ['f', 'f', 'm', 'm']
    """
    n = _rows(n)
    parts = [min(_AT_ONCE, n - first) for first in range(0, n, _AT_ONCE)] or [0]
    return (decode(draw(mixture, part, rng), domain, rng) for part in parts)


def draw(mixture: Mixture, n: int, rng: np.random.Generator) -> Codes:
    """The codes of n rows, of shape (n, attributes), in the smallest type that fits and in random order.

    Each row is a draw from the mixture. The rows are not independent, which makes their counts less noisy.

    >>> shares = np.array([[[0.5, 0.5, 1.0, 0.0], [0.5, 0.5, 0.0, 1.0]]], dtype=np.float32)
    >>> mixture = Mixture((2, 2), 1.0, np.array([[0.75, 0.25]], dtype=np.float32), shares)
    >>> draw(mixture, 8, np.random.default_rng(0)).sum(axis=0).tolist()
    [4, 2]
    """
    n = _rows(n)
    weights = mixture.weights.reshape(-1).astype(np.float64)
    rows = _in_proportion(weights, n, rng)
    used = np.flatnonzero(rows)
    rows = rows[used]
    shares = mixture.shares.reshape(len(weights), -1)[used]
    order = rng.permutation(n)
    codes = np.empty((len(mixture.sizes), n), dtype=np.min_scalar_type(max(mixture.sizes) - 1))
    for column, begin, size in zip(codes, mixture.starts, mixture.sizes, strict=True):
        ascending = _ascending(shares[:, begin : begin + size], rows, rng)
        column[:] = _shuffled(ascending, rows, size, rng)[order]
    return codes.T


def _rows(n: int) -> int:
    if isinstance(n, bool) or not isinstance(n, Integral) or not 0 <= n <= MOST_ROWS:
        raise ReleaseError(f"Expected a number of rows from 0 to {MOST_ROWS:,}, got {n!r}.")
    return int(n)


def _in_proportion(weights: Array, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """How many of n rows each class gets: its share, up or down to a whole number, which it is on average.

    Classes come in random order, because those that stand next to one another share what rounding leaves over.
    """
    order = rng.permutation(len(weights))
    reached = np.cumsum(weights[order])
    ends = np.floor(reached / reached[-1] * n + rng.random()).astype(np.intp)
    rows = np.empty_like(ends)
    rows[order] = np.diff(ends, prepend=0)
    return rows


def _ascending(shares: Floats, rows: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Codes of one attribute, class after class and ascending within each, of shape (Σ rows,).

    A class with m rows has the numbers (k + V) / m, k = 0 ... m - 1, with a V from [0, 1) for each; a value gets as
    many rows as numbers lie in its part of [0, 1). Only those V decide that have a bound of such a part in their m-th.
    The V are spread evenly too, which helps where there are fewer rows than classes.
    """
    n, size = int(rows.sum()), shares.shape[1]
    begin = np.cumsum(rows) - rows
    within = (rng.permutation(n) + rng.random(n)) / max(1, n)
    bounds = np.cumsum(shares, axis=1, dtype=np.float64)
    bounds *= (rows / bounds[:, -1])[:, None]
    whole = np.minimum(bounds.astype(np.intp), rows[:, None] - 1)
    below = whole + (within[begin[:, None] + whole] < bounds - whole)
    below[:, -1] = rows
    return np.repeat(np.tile(np.arange(size), len(rows)), np.diff(below, axis=1, prepend=0).reshape(-1))


def _shuffled(
    codes: NDArray[np.intp], rows: NDArray[np.intp], size: int, rng: np.random.Generator
) -> NDArray[np.uint64]:
    """The codes of each class in random order, of shape (Σ rows,).

    One sort does it for all classes: of words with the class in the first bits, the code in the last, chance between.
    """
    for_class, for_code = (len(rows) - 1).bit_length(), (size - 1).bit_length()
    words = rng.integers(0, 2**64 - 1, len(codes), dtype=np.uint64, endpoint=True)
    words >>= np.uint64(for_class + for_code)
    words <<= np.uint64(for_code)
    words |= codes.astype(np.uint64)
    if for_class:
        words |= np.repeat(np.arange(len(rows), dtype=np.uint64) << np.uint64(64 - for_class), rows)
    words.sort()
    return words & np.uint64((1 << for_code) - 1)
