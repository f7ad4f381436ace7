"""The kinds of columns that hold days and times, and the labels that each gives."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, model_validator

from residuum.core.units import Unit
from residuum.data.columns import MOST, OUTSIDE, Column, Ordered, Text, Unordered

Form = Annotated[Text, Field(pattern=r"^([^%]|%-?[aAbBdfHIjmMpSyY]|%%)+$")]
"""How a day or a time is written in texts, in the letters of strptime."""

_STEPS = {"day": timedelta(days=1), "week": timedelta(weeks=1), "hour": timedelta(hours=1)}
_MONTHS = {"year": 12, "quarter": 3, "month": 1}


class Date(Column):
    """Days, or times of days, from `min` to `max`, both included. Times with a zone are taken to UTC."""

    kind: Literal["date"]
    min: date
    max: date
    granularity: Literal["year", "quarter", "month", "week", "day", "hour"]
    format: Form | None = Field(default=None, description="How texts are written, such as %d/%m/%Y; else ISO 8601.")
    outside: Ordered = Field(default="clamp", description=OUTSIDE)

    @model_validator(mode="after")
    def _check(self) -> "Date":
        if not self.min <= self.max:
            raise ValueError(f"Expected min <= max, got {self.min} and {self.max}.")
        if (self.max - self.min).days * (24 if self.granularity == "hour" else 1) > MOST:
            raise ValueError("The bounds are too far apart. Bring them closer to one another.")
        return self

    @cached_property
    def edges(self) -> tuple[str, ...]:
        """Where each bin begins, and where the last one ends, in ISO 8601; the first begins at `min`'s own bin."""
        return tuple(
            start.isoformat(" ", "minutes")[: 16 if self.granularity == "hour" else 10] for start in self.starts
        )

    @property
    def cells(self) -> list[str]:
        """Such as 2024, 2024-Q1, 2024-01, 2024-W01, 2024-01-31, 2024-01-31 13:00."""
        return [self._label(start) for start in self.starts[:-1]]

    def unit(self, tokens: Sequence[str] = ()) -> Unit:
        """The days of each bin between the bounds, or for hours their minutes."""
        hours = self.granularity == "hour"
        low, high = (f"{self.min} 00:00", f"{self.max} 23:59") if hours else (str(self.min), str(self.max))
        gaps = {
            moment.isoformat(" ", "minutes") if hours else str(moment.date())
            for moment in _moments(tokens, self.format, datetime.fromisoformat)
            if self.min <= moment.date() <= self.max
        }
        starts = (low, *self.edges[1:-1])
        return Unit("datetime" if hours else "date", starts, high, tuple(sorted(gaps)), self.format)

    @cached_property
    def starts(self) -> list[datetime]:
        """The beginnings of the bins, and the first one beyond `max`."""
        start = datetime(self.min.year, self.min.month, self.min.day)
        last = datetime(self.max.year, self.max.month, self.max.day, 23, 59)
        if self.granularity == "week":
            start -= timedelta(days=start.weekday())
        months = _MONTHS.get(self.granularity)
        if months:
            start = start.replace(month=(start.month - 1) // months * months + 1, day=1)
        starts = [start]
        while starts[-1] <= last:
            try:
                starts.append(_later(starts[-1], months) if months else starts[-1] + _STEPS[self.granularity])
            except (OverflowError, ValueError):
                starts.append(datetime.max)
        return starts

    def _label(self, start: datetime) -> str:
        if self.granularity == "quarter":
            return f"{start.year:04}-Q{(start.month + 2) // 3}"
        if self.granularity == "week":
            year, week, _ = start.isocalendar()
            return f"{year:04}-W{week:02}"
        return start.isoformat(" ")[: {"year": 4, "month": 7, "day": 10, "hour": 16}[self.granularity]]


def _later(start: datetime, months: int) -> datetime:
    month = start.month - 1 + months
    return start.replace(year=start.year + month // 12, month=month % 12 + 1)


class Time(Column):
    """Times of the day."""

    kind: Literal["time"]
    granularity: Literal["hour", "half-hour", "quarter-hour", "minute"]
    format: Form | None = Field(default=None, description="How texts are written, such as %I:%M %p; else ISO 8601.")
    outside: Unordered = Field(default="missing", description=OUTSIDE)

    @property
    def minutes(self) -> int:
        """How many minutes have one code."""
        return {"hour": 60, "half-hour": 30, "quarter-hour": 15, "minute": 1}[self.granularity]

    @cached_property
    def edges(self) -> tuple[str, ...]:
        """When each bin begins, and the end of the day."""
        return tuple(f"{k // 60:02}:{k % 60:02}" for k in range(0, 24 * 60 + 1, self.minutes))

    @property
    def cells(self) -> tuple[str, ...]:
        """When each bin begins."""
        return self.edges[:-1]

    def unit(self, tokens: Sequence[str] = ()) -> Unit:
        """The minutes of each bin."""
        times = _moments(tokens, self.format, lambda text: datetime.combine(date.min, time.fromisoformat(text)))
        gaps = {f"{moment:%H:%M}" for moment in times}
        return Unit("time", self.cells, "23:59", tuple(sorted(gaps)), self.format)


def _moments(tokens: Sequence[str], form: str | None, read: Callable[[str], datetime]) -> list[datetime]:
    """The times that tokens name, in texts of the column's form."""
    found = []
    for token in tokens:
        with suppress(ValueError):
            found.append(datetime.strptime(token, form.replace("%-", "%")) if form else read(token))
    return [moment for moment in found if moment.tzinfo is None]
