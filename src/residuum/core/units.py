"""What the codes of an attribute stand for in the column it was read from: truth values, numbers, days, times."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import pairwise
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, Literal, get_args

from residuum.errors import DomainError

Kind = Literal["category", "boolean", "integer", "real", "date", "datetime", "time"]
Value = int | float | str
"""A number; or a day or a time in ISO 8601, such as 2024-01-31, 2024-01-31 13:00 and 13:00."""

CLOCKS = ("date", "datetime", "time")
"""The kinds whose values are days or times."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What the first codes of an attribute stand for; codes behind them, such as that of missing values, have none.

    A category's codes stand for their labels and the codes of a boolean for false and true. Any other code stands for
    the values from its start up to the next start, without it; the last one for those up to `last`, with it.

    >>> Unit("integer", starts=(0, 20, 40), last=99).values
    3
    """

    kind: Kind
    starts: tuple[Value, ...] = ()
    """The least value of each code, ascending."""
    last: Value | None = None
    """The greatest value of all."""
    without: tuple[Value, ...] = ()
    """Values between that no row has, because they mean a missing one."""
    form: str | None = None
    """How days and times are written as texts, in the letters of strptime, where they were texts."""
    missing: int | None = None
    """The code of a category's missing values."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise DomainError(f"Expected a unit of kind {', '.join(get_args(Kind))}, got {self.kind!r}.")
        ranges, lists = self.kind not in ("category", "boolean"), (self.starts, self.without)
        given = (bool(self.starts), self.last is not None)
        if not all(isinstance(values, tuple) for values in lists) or given != (ranges, ranges):
            raise DomainError(f"Expected {'values' if ranges else 'no values'} in a unit of kind {self.kind}.")
        if not (self.form is None or (isinstance(self.form, str) and self.kind in CLOCKS)):
            raise DomainError(f"Expected no form, or a text in a unit of days or times, got {self.form!r}.")
        if self.missing is not None and (self.kind != "category" or type(self.missing) is not int or self.missing < 0):
            raise DomainError(f"Expected no code of missing values, or one of a category, got {self.missing!r}.")
        if ranges:
            *starts, last = self.numbers((*self.starts, self.last))
            if not all(low < high for low, high in pairwise(starts)) or last < starts[-1] or last - starts[0] == inf:
                raise DomainError(f"Expected ascending values, not too far apart, in a unit of kind {self.kind}.")
        self.numbers(self.without)

    @property
    def values(self) -> int | None:
        """How many of the first codes have a value; None where labels are all there is."""
        return {"category": None, "boolean": 2}.get(self.kind, len(self.starts))

    def numbers(self, values: tuple[Any, ...]) -> list[float]:
        """Values as numbers: days as those since 1970, times as minutes, since 1970 or midnight.

        >>> Unit("date", starts=("2024-01-01",), last="2024-12-31").numbers(("1970-01-03",))
        [2]
        """
        try:
            return [_READERS[self.kind](value) for value in values]
        except (KeyError, OverflowError, TypeError, ValueError):
            raise DomainError(f"Expected values of kind {self.kind} in a unit, got {_shown(values)}.") from None


def _whole(value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or abs(int(value)) > 2**53:
        raise ValueError
    return int(value)


def _real(value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not isfinite(value):
        raise ValueError
    return float(value)


def _day(value: Any) -> int:
    return date.fromisoformat(value).toordinal() - _EPOCH


def _minute(value: Any) -> int:
    moment = datetime.fromisoformat(value)
    return (moment.toordinal() - _EPOCH) * 1440 + _of_day(moment.timetz())


def _clock(value: Any) -> int:
    return _of_day(time.fromisoformat(value))


def _of_day(moment: time) -> int:
    if moment.second or moment.microsecond or moment.tzinfo is not None:
        raise ValueError
    return moment.hour * 60 + moment.minute


def _shown(values: tuple[Any, ...]) -> str:
    text = ", ".join(repr(value) for value in values[:3])
    return text if len(values) <= 3 else f"{text} and more"


_EPOCH = date(1970, 1, 1).toordinal()
_READERS: dict[str, Callable[[Any], float]] = {
    "integer": _whole, "real": _real, "date": _day, "datetime": _minute, "time": _clock,
}  # fmt: skip
