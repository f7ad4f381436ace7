"""How a release compares with the true table: plain numbers, computed elsewhere, by somebody who has the data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """How wrong the marginals over so many columns are."""

    columns: str
    marginals: int
    looked_at: int
    people: float
    """The mean error of a count."""
    middle: float
    """The share of people that are in the wrong cell, half the L1 distance over the number of rows: the median."""
    low: float
    """The same, which 5% of the marginals stay below."""
    high: float
    """And which 95% do."""
    inside: float | None
    """The share of the true counts that lie within their intervals."""


@dataclass(frozen=True, slots=True)
class Compared:
    """How wrong one marginal is."""

    columns: tuple[str, ...]
    cells: int
    people: float
    """The mean error of a count."""
    share: float
    """The share of people that are in the wrong cell."""


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one column, with their shares."""

    name: str
    labels: tuple[str, ...]
    real: tuple[float, ...]
    released: tuple[float, ...]
    synthetic: tuple[float, ...]

    @property
    def apart(self) -> float:
        """The share of synthetic rows that would have to change for the column to be as in the real ones.

        >>> round(Column("sex", ("f", "m"), (0.5, 0.5), (0.4, 0.6), (0.4, 0.6)).apart, 3)
        0.1
        """
        return sum(abs(a - b) for a, b in zip(self.real, self.synthetic, strict=True)) / 2


@dataclass(frozen=True, slots=True)
class Against:
    """A release beside the true table: private, and for the owner of the data only."""

    rows: int
    """Of the true table."""
    people: float
    """As released."""
    orders: tuple[Order, ...]
    best: tuple[Compared, ...]
    worst: tuple[Compared, ...]
    columns: tuple[Column, ...]
    """The furthest apart first."""
    drawn: int
    """How many synthetic rows were drawn."""
