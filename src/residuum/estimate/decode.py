"""Codes written as what they stand for: labels, and in columns of numbers, days or times a value of the code's own.

A code of several values becomes one of them by chance, all of them alike. Read by the schema that made the codes, a
value has its code again; codes that stand for no value, such as that of missing ones, become empty cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residuum.core.checks import Array
from residuum.core.domain import Domain
from residuum.core.units import Unit
from residuum.errors import DomainError, ReleaseError

if TYPE_CHECKING:
    import pyarrow

Integers = NDArray[np.int64]

_DIGITS = 3
"""How many digits a real number has beyond the first of its bin's width; whole numbers are never rounded further."""
_EXACT = 2.0**53
"""Up to here a float holds every whole number."""


def decode(codes: ArrayLike, domain: Domain, rng: np.random.Generator) -> "pyarrow.Table":
    """The rows with the given codes, of shape (rows, attributes), in the labels and units of their columns.

    Attributes without a unit have their labels, of one kind or as texts, or their codes where they have no labels.

    >>> from residuum.core.units import Unit
    >>> domain = Domain({"age": ["[0, 20)", "[20, 99]", "(missing)"]}, {"age": Unit("integer", (0, 20), last=99)})
    >>> ages = decode([[0], [1], [2]], domain, np.random.default_rng(0)).to_pydict()["age"]
    >>> ages[0] < 20 <= ages[1], ages[2]
    (True, None)
    """
    pa = _arrow()
    array = np.asarray(codes)
    if array.ndim != 2 or array.shape[1] != len(domain) or array.dtype.kind not in "iu":
        raise DomainError(f"Expected codes with a column for each of the {len(domain)} attributes.")
    columns = {}
    for name, size, labels, unit, column in zip(
        domain.names, domain.sizes, domain.labels, domain.units, array.T, strict=True
    ):
        if column.size and not (column.min() >= 0 and column.max() < size):
            raise DomainError(f"Expected codes from 0 to {size - 1} in column {name!r}, got one outside.")
        columns[name] = labelled(pa, labels, column) if unit is None else _column(pa, unit, labels, column, rng)
    return pa.table(columns)


def labelled(pa: Any, labels: Sequence[Any] | None, codes: NDArray[np.integer]) -> Any:
    """An Arrow column of labels, or of the codes where there are none. Labels of several kinds become texts.

    >>> import pyarrow
    >>> labelled(pyarrow, ("f", "m"), np.array([1, 0])).to_pylist()
    ['m', 'f']
    """
    if labels is None:
        return pa.array(codes)
    try:
        names = pa.array(labels)
    except (pa.ArrowException, OverflowError, TypeError):
        texts = [None if label is None else str(label) for label in labels]
        names = pa.array(texts if len(set(texts)) == len(texts) else [repr(label) for label in labels])
    return names.take(pa.array(codes))


def _arrow() -> Any:
    """Arrow, which only those need who ask for its tables."""
    try:
        return import_module("pyarrow")
    except ImportError:
        raise ReleaseError("This needs pyarrow, which is not installed. Run: pip install 'residuum'") from None


def _column(
    pa: Any, unit: Unit, labels: Sequence[Any] | None, codes: NDArray[np.integer], rng: np.random.Generator
) -> Any:
    """An Arrow column of one kind."""
    if unit.values is None:
        names = None if labels is None else [None if k == unit.missing else label for k, label in enumerate(labels)]
        return labelled(pa, names, codes)
    empty = codes >= unit.values
    if unit.kind == "boolean":
        return pa.array(codes == 1, mask=empty)
    own = np.minimum(codes.astype(np.intp), unit.values - 1)
    if unit.kind == "real":
        return pa.array(_reals(unit, own, rng), mask=empty)
    values = Grid.of_whole(unit).draw(own, rng)
    if unit.form is not None:
        return _written(pa, unit, values, empty)
    return pa.array(*_typed(pa, unit, values), mask=empty)


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The whole numbers that each code stands for: from `low` to `high`, both of shape (codes,), without some.

    >>> Grid(np.array([0, 3]), np.array([1, 9]), [(0, 0)]).draw(np.array([0, 0, 0]), np.random.default_rng(0)).tolist()
    [1, 1, 1]
    """

    low: Integers
    high: Integers
    without: Sequence[tuple[int, int]] = ()
    """Codes and the numbers that they do not stand for, ascending."""

    @classmethod
    def of_whole(cls, unit: Unit) -> "Grid":
        """The grid of a unit whose values are whole numbers, days or minutes.

        >>> Grid.of_whole(Unit("integer", (0, 20), last=99)).high.tolist()
        [19, 99]
        """
        *starts, last = unit.numbers((*unit.starts, unit.last))
        low = np.array(starts, dtype=np.int64)
        high = np.append(low[1:] - 1, np.int64(last))
        without = sorted({*unit.numbers(unit.without)})
        gaps = [(int(np.searchsorted(low, gap, "right")) - 1, int(gap)) for gap in without]
        return cls(low, high, [(code, gap) for code, gap in gaps if code >= 0 and gap <= high[code]])

    def draw(self, codes: NDArray[np.integer], rng: np.random.Generator) -> Integers:
        """A number for each code, all that it stands for alike. One without any has those it should be without."""
        lacking = np.array([code for code, _ in self.without], dtype=np.intp)
        fewer = np.bincount(lacking, minlength=len(self.low))
        fewer[fewer > self.high - self.low] = 0
        high = self.high - fewer
        if (high == self.low).all():
            drawn = self.low[codes]
        else:
            drawn = rng.integers(self.low[codes], high[codes], endpoint=True)
        for code, gap in self.without:
            if fewer[code]:
                drawn += (codes == code) & (drawn >= gap)
        return drawn


def _reals(unit: Unit, codes: NDArray[np.integer], rng: np.random.Generator) -> Array:
    """Decimal numbers with few digits from the bins of some codes; a bin too narrow for one has its lower bound."""
    *starts, last = unit.numbers((*unit.starts, unit.last))
    ends = [*starts[1:], np.nextafter(last, np.inf)]
    bins = [_decimals(low, high) for low, high in zip(starts, ends, strict=True)]
    digits, low, high = (np.array(part, dtype=np.int64) for part in zip(*bins, strict=True))
    without = []
    for gap in sorted({gap for gap in unit.numbers(unit.without) if starts[0] <= gap <= last}):
        code = int(np.searchsorted(starts, gap, "right")) - 1
        k = round(_scaled(gap, bins[code][0]))
        if _decimal(k, bins[code][0]) == gap and low[code] <= k <= high[code]:
            without.append((code, k))
    drawn = Grid(low, np.maximum(low, high), without).draw(codes, rng)
    up, down = (np.array([10.0 ** max(0, sign * d) for d in digits.tolist()]) for sign in (1, -1))
    return np.where((high < low)[codes], np.array(starts)[codes], drawn * down[codes] / up[codes])


def _decimals(low: float, high: float) -> tuple[int, int, int]:
    """How many digits the numbers in [low, high) get, and the first and the last of them in units of the last digit."""
    largest, width = max(abs(low), abs(high)), high - low
    digits = _DIGITS - floor(log10(width))
    if largest < _EXACT:
        digits = max(digits, 0)
    digits = max(-300, min(digits, 300, floor(log10(_EXACT) - log10(largest))))
    first, last = ceil(_scaled(low, digits)) - 1, floor(_scaled(high, digits)) + 1
    while _decimal(first, digits) < low:
        first += 1
    while _decimal(last, digits) >= high:
        last -= 1
    return digits, first, last


def _decimal(k: int, digits: int) -> float:
    return k / 10.0**digits if digits >= 0 else k * 10.0**-digits


def _scaled(number: float, digits: int) -> float:
    return number * 10.0**digits if digits >= 0 else number / 10.0**-digits


def _typed(pa: Any, unit: Unit, values: Integers) -> tuple[NDArray[Any], Any]:
    """Whole numbers, days or times as Arrow takes them, and their type there."""
    if unit.kind == "time":
        return (values * 60).astype(np.int32), pa.time32("s")
    if unit.kind == "date":
        return values.astype("M8[D]"), pa.date32()
    return (values.astype("M8[m]").astype("M8[s]"), pa.timestamp("s")) if unit.kind == "datetime" else (values, None)


def _written(pa: Any, unit: Unit, values: Integers, empty: NDArray[np.bool_]) -> Any:
    """Days and times as the texts that the column had."""
    form, step = str(unit.form), timedelta(days=1) if unit.kind == "date" else timedelta(minutes=1)
    found, places = np.unique(values, return_inverse=True)
    texts = [(datetime(1970, 1, 1) + int(value) * step).strftime(form) for value in found]
    return pa.array(texts, pa.string()).take(pa.array(places, mask=empty))
