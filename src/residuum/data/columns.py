"""The kinds of columns that a schema declares, and the labels that each gives."""

import re
from collections.abc import Sequence
from functools import cached_property
from math import floor, isfinite, log10
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from residuum.core.units import Unit

MOST = 2**20
"""The most values that one column may have."""

MOST_BINS = 2**12
"""The most bins that numbers may be put in."""

MISSING, OTHER = "(missing)", "(other)"
"""The labels of the categories that `own` makes."""

WHITE = " \t\n\r\f\v\u00a0\ufeff"
"""What is stripped around texts."""

NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?")
"""Texts that are matched as numbers too. With zeros in front they are names, such as postal codes."""


def as_text(value: Any) -> Any:
    """A label as text, from what YAML, JSON or Python gave for it.

    >>> as_text(True), as_text(1.0), as_text("yes")
    ('true', '1', 'yes')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return plain(value)
    if isinstance(value, str) and "\0" in value:
        raise ValueError("Expected a text without the character NUL.")
    return value


def plain(number: float) -> str:
    """A number in as few characters as name it.

    >>> plain(20.0), plain(0.5), plain(-3)
    ('20', '0.5', '-3')
    """
    return str(int(number)) if isfinite(number) and number == int(number) and abs(number) < 1e15 else repr(number)


SCALAR = {"type": ["string", "number", "boolean"]}
Text = Annotated[str, BeforeValidator(as_text), WithJsonSchema(SCALAR)]
Name = Annotated[str, Field(min_length=1), BeforeValidator(as_text), WithJsonSchema(SCALAR | {"minLength": 1})]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=-(2**53), le=2**53)]


class Part(BaseModel):
    """What all parts of a schema have in common: no unknown keys, and no change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class As(Part):
    """A category named by the owner: one of the column's own values, or one more."""

    name: Name = Field(alias="as", description="The label of the category.")


def _rule(*words: str) -> BeforeValidator:
    def check(value: Any) -> Any:
        if isinstance(value, As | dict) or value in words:
            return value
        raise ValueError(f"Expected {', '.join(f'`{word}`' for word in words)} or `{{as: NAME}}`, got {value!r}.")

    return BeforeValidator(check)


Missing = Annotated[Literal["own", "error"] | As, _rule("own", "error")]
Unordered = Annotated[Literal["missing", "own", "error"] | As, _rule("missing", "own", "error")]
Ordered = Annotated[Literal["clamp", "missing", "own", "error"] | As, _rule("clamp", "missing", "own", "error")]

GONE = "What a missing value becomes. `error` tells that there is one: a leak."
CUTS = "Where a new bin begins, without the bounds."
OUTSIDE = "What a value outside the domain becomes. `error` tells that there is one: a leak."


class Column(Part):
    """What all kinds of columns have in common: where missing values and values outside the domain go."""

    kind: Any
    missing: Missing = Field(default="own", description=GONE)
    outside: Any = "missing"

    @property
    def cells(self) -> Sequence[str]:
        """The labels of the column's own values, in the order of their codes."""
        raise NotImplementedError

    @cached_property
    def edges(self) -> tuple[Any, ...] | None:
        """Where the bins begin, and where the last one ends; None where a code is one value."""
        return None

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of all codes: the column's own values, then the categories made for what is not one of them."""
        names = [rule.name if isinstance(rule, As) else own for rule, own in self._rules() if rule != "error"]
        return tuple(dict.fromkeys([*self.cells, *names]))

    def unit(self, tokens: Sequence[str] = ()) -> Unit:
        """What the codes stand for, so that rows can be written; none has a value that `tokens` take for missing."""
        raise NotImplementedError

    @property
    def missing_code(self) -> int:
        """The code of missing values; the number of labels where they are an error."""
        return self._code(self.missing, MISSING, len(self.labels))

    @property
    def outside_code(self) -> int:
        """The code of values outside the domain that have no nearest one; one more than the labels for an error."""
        if self.outside in ("missing", "clamp"):
            return self.missing_code
        return self._code(self.outside, OTHER, len(self.labels) + 1)

    def _rules(self) -> list[tuple[Any, str]]:
        own = [] if self.outside in ("missing", "clamp") else [(self.outside, OTHER)]
        return [(self.missing, MISSING), *own]

    def _code(self, rule: Any, own: str, error: int) -> int:
        if rule == "error":
            return error
        return self.labels.index(rule.name if isinstance(rule, As) else own)


class Categorical(Column):
    """One of a list of values."""

    kind: Literal["categorical"]
    values: tuple[Name, ...] = Field(min_length=1, max_length=MOST, description="The values, by code.")
    aliases: dict[Name, Name] = Field(default={}, description="Other spellings, and the value each stands for.")
    outside: Unordered = Field(default="missing", description=OUTSIDE)

    @model_validator(mode="after")
    def _check(self) -> "Categorical":
        if len(set(self.values)) < len(self.values):
            twice = next(value for value in self.values if self.values.count(value) > 1)
            raise ValueError(f"The value {twice!r} is listed twice. List it once.")
        for spelling, value in self.aliases.items():
            if value not in self.values:
                raise ValueError(f"The alias {spelling!r} stands for {value!r}, which is not one of the values.")
            if spelling in self.values:
                raise ValueError(f"The alias {spelling!r} is one of the values. Take it out of either.")
        self.numbers  # noqa: B018
        return self

    @property
    def cells(self) -> tuple[str, ...]:
        """The listed values."""
        return self.values

    def unit(self, tokens: Sequence[str] = ()) -> Unit:  # noqa: ARG002 (a listed value is never missing)
        """Labels; what is missing and not called by a value is an empty cell."""
        code = self.missing_code
        return Unit("category", missing=code if len(self.values) <= code < len(self.labels) else None)

    @cached_property
    def keys(self) -> dict[str, int]:
        """The code of every text that is understood, `true` and `false` in the usual letters."""
        keys = {value: code for code, value in enumerate(self.values)}
        keys |= {spelling: keys[value] for spelling, value in self.aliases.items()}
        for value in [value for value in keys if value.lower() in ("true", "false")]:
            for spelling in (value.lower(), value.title(), value.upper()):
                keys.setdefault(spelling, keys[value])
        return keys

    @cached_property
    def numbers(self) -> dict[float, int]:
        """The code of every number that is understood, so that 1, "1" and 1.0 are one value."""
        numbers: dict[float, tuple[str, int]] = {}
        for key, code in self.keys.items():
            if NUMBER.fullmatch(key):
                first, known = numbers.setdefault(float(key), (key, code))
                if known != code:
                    raise ValueError(f"The values {first!r} and {key!r} are the same number. List one of them.")
        return {number: code for number, (_, code) in numbers.items()}


class Boolean(Column):
    """True or false, also as yes and no, t and f, y and n, on and off, 1 and 0, in any letters."""

    kind: Literal["boolean"]
    outside: Unordered = Field(default="missing", description=OUTSIDE)
    keys: ClassVar[dict[str, int]] = {
        **dict.fromkeys(["false", "f", "no", "n", "off", "0"], 0),
        **dict.fromkeys(["true", "t", "yes", "y", "on", "1"], 1),
    }
    numbers: ClassVar[dict[float, int]] = {0.0: 0, 1.0: 1}

    @property
    def cells(self) -> tuple[str, ...]:
        """False comes first."""
        return ("false", "true")

    def unit(self, tokens: Sequence[str] = ()) -> Unit:  # noqa: ARG002 (both values are listed)
        """False and true."""
        return Unit("boolean")


class Binned(Column):
    """Numbers between two bounds."""

    bins: int | None = Field(default=None, ge=1, le=MOST_BINS, description="How many bins of equal width.")
    outside: Ordered = Field(default="clamp", description=OUTSIDE)

    def _intervals(self, edges: Sequence[float]) -> list[str]:
        ends = [*[")"] * (len(edges) - 2), "]"]
        pairs = zip(edges, edges[1:], ends, strict=False)
        return [f"[{plain(low)}, {plain(high)}{end}" for low, high, end in pairs]

    def _check_bins(self, low: float, high: float, cuts: Sequence[float] | None) -> None:
        if not low < high:
            raise ValueError(f"Expected min < max, got {plain(low)} and {plain(high)}.")
        if cuts is not None and self.bins is not None:
            raise ValueError("Expected `bins` or `cuts`, got both. Give one of them.")
        if cuts is not None and not all(a < b for a, b in zip([low, *cuts], [*cuts, high], strict=True)):
            raise ValueError(f"Expected ascending cuts between {plain(low)} and {plain(high)}, without these bounds.")


def _gaps(tokens: Sequence[str], low: float, high: float) -> tuple[float, ...]:
    """The numbers between two bounds that mean a missing value."""
    numbers = {float(token) for token in tokens if NUMBER.fullmatch(token)}
    return tuple(sorted(number for number in numbers if low <= number <= high))


class Integer(Binned):
    """Whole numbers from `min` to `max`, both included: one value each, or in bins."""

    kind: Literal["integer"]
    min: Whole
    max: Whole
    cuts: tuple[Whole, ...] | None = Field(default=None, max_length=MOST_BINS - 1, description=CUTS)

    @model_validator(mode="after")
    def _check(self) -> "Integer":
        self._check_bins(self.min, self.max, self.cuts)
        values = self.max - self.min + 1
        if (self.bins or 0) > values:
            raise ValueError(f"Expected at most {values} bins, one for each whole number, got {self.bins}.")
        if self.edges is None and values > MOST:
            raise ValueError(f"Expected at most {MOST:,} values, got {values:,}. Give it `bins` or `cuts`.")
        return self

    @cached_property
    def edges(self) -> tuple[int, ...] | None:
        """The least number of each bin, and the greatest of all."""
        if self.cuts is not None:
            return (self.min, *self.cuts, self.max)
        if self.bins is None:
            return None
        values = self.max - self.min + 1
        return (*(self.min + -(-k * values // self.bins) for k in range(self.bins)), self.max)

    @property
    def cells(self) -> Sequence[str]:
        """A label for each number, or for each bin."""
        return [str(k) for k in range(self.min, self.max + 1)] if self.edges is None else self._intervals(self.edges)

    def unit(self, tokens: Sequence[str] = ()) -> Unit:
        """The numbers of each bin, or of each code."""
        starts = tuple(range(self.min, self.max + 1)) if self.edges is None else self.edges[:-1]
        without = tuple(int(gap) for gap in _gaps(tokens, self.min, self.max) if gap == int(gap))
        return Unit("integer", starts, self.max, without)


class Real(Binned):
    """Numbers from `min` to `max`, both included, in bins that begin at a cut and end before the next."""

    kind: Literal["real"]
    min: Finite
    max: Finite
    cuts: tuple[Finite, ...] | None = Field(default=None, max_length=MOST_BINS - 1, description=CUTS)

    @model_validator(mode="after")
    def _check(self) -> "Real":
        self._check_bins(self.min, self.max, self.cuts)
        if self.bins is None and self.cuts is None:
            raise ValueError("Expected `bins` or `cuts`: real numbers need one of them.")
        if not isfinite(self.max - self.min):
            raise ValueError("Expected bounds that are less far apart.")
        if not all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise ValueError(f"The bounds are too close to one another for {self.bins} bins.")
        return self

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """Bounds and cuts. Equal widths are rounded to a few digits, so that a label says exactly what is in a bin."""
        if self.cuts is not None:
            return (self.min, *self.cuts, self.max)
        width = (self.max - self.min) / (self.bins or 1)
        digits = 3 - floor(log10(width)) if width > 0 else 0
        return (self.min, *(round(self.min + k * width, digits) for k in range(1, self.bins or 1)), self.max)

    @property
    def cells(self) -> list[str]:
        """A label for each bin."""
        return self._intervals(self.edges)

    def unit(self, tokens: Sequence[str] = ()) -> Unit:
        """The numbers of each bin."""
        return Unit("real", self.edges[:-1], self.max, _gaps(tokens, self.min, self.max))
