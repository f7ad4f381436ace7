"""Neighbouring tables on small domains, on which one person shows as much as one person can."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from residuum import Domain, Table, Workload
from residuum.core.neighbours import Neighbours, Relation
from residuum.data.counts import Counts

Row = tuple[int, ...]

_MIXED = (((0, 0, 0), 8), ((1, 1, 1), 8), ((0, 2, 1), 5), ((1, 0, 0), 2))


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables, as how many rows of a kind they have, and the workload that is asked of them."""

    sizes: tuple[int, ...]
    ways: int
    common: tuple[tuple[Row, int], ...]
    first: tuple[Row, ...]
    """The rows that only the first table has."""
    second: tuple[Row, ...] = ()

    @property
    def relation(self) -> Relation:
        """Which kind of neighbours they are."""
        return "replace" if self.second else "add-remove"

    @property
    def neighbours(self) -> Neighbours:
        """The same, with its sensitivities."""
        return Neighbours(self.relation)

    @cached_property
    def workload(self) -> Workload:
        """All marginals of so many attributes."""
        return Workload.all_kway(Domain({f"x{i}": n for i, n in enumerate(self.sizes)}), self.ways)

    @cached_property
    def counts(self) -> tuple[Counts, Counts]:
        """The counts of the two tables."""
        return self._counts(self.first), self._counts(self.second)

    def _counts(self, own: Sequence[Row]) -> Counts:
        rows = [row for row, times in self.common for _ in range(times)] + list(own)
        codes = np.array(rows, dtype=np.int64).reshape(-1, len(self.sizes))
        return Counts(Table.from_codes(codes, self.workload.domain), self.workload)


def crossed(rows_per_person: int = 1) -> Pair:
    """Three attributes, the first two of which mostly agree and the third mostly does not; the person agrees in all.

    So one more row takes the first pair of attributes further from what their own marginals suggest and the other two
    pairs closer to it: the scores move apart.
    """
    agree = (((0, 0, 0), 2), ((1, 1, 1), 1))
    cross = (((0, 0, 1), 11), ((1, 1, 0), 11))
    common = (*agree, *cross, ((0, 1, 0), 2), ((1, 0, 1), 2), ((0, 1, 1), 2), ((1, 0, 0), 2))
    return Pair((2, 2, 2), 2, common, ((0, 0, 0),) * rows_per_person)


def uncrossed() -> Pair:
    """The same table; the person now is replaced by one who does not agree, which moves two scores apart."""
    return Pair((2, 2, 2), 2, crossed().common, ((0, 0, 0),), ((0, 1, 1),))


def replaced() -> Pair:
    """Three attributes of 2, 3 and 2 values, each measured for itself; a person changes in all of them."""
    return Pair((2, 3, 2), 1, _MIXED, ((0, 0, 0),), ((1, 1, 1),))


def moved() -> Pair:
    """The same attributes measured together; a person changes in the first."""
    return Pair((2, 3, 2), 3, _MIXED, ((0, 0, 0),), ((1, 0, 0),))


def flat() -> Pair:
    """Two attributes and next to no rows: what is left to know is noise, and each person counts."""
    return Pair((2, 2), 2, (((0, 0), 3), ((1, 1), 3)), ((0, 0),))


def steep() -> Pair:
    """Four attributes, each measured for itself, and far from even: for long, every round is worth its noise."""
    return Pair((2, 2, 2, 2), 1, (((0, 0, 0, 0), 2000),), ((0, 0, 0, 0),))


def residual(sizes: tuple[int, ...], relation: Relation) -> Pair:
    """A table of a few rows, and the person who moves the residual over all its attributes the most."""
    here = (0,) * len(sizes)
    narrowest = min(range(len(sizes)), key=sizes.__getitem__)
    there = tuple(int(i == narrowest) for i in range(len(sizes)))
    common = ((here, 5), (tuple(n - 1 for n in sizes), 7))
    return Pair(sizes, len(sizes), common, (here,), (there,) if relation == "replace" else ())
