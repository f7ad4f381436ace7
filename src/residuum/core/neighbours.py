"""Which tables count as neighbours, and by how much one row can then change what is measured.

Paper: app. B has tables that differ by one row. The other relation, one row replaced, is the usual alternative.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Literal, get_args

from residuum.errors import ResiduumError

Relation = Literal["add-remove", "replace"]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Tables that differ by one row: added or removed, or replaced by another. In the latter case N is public.

    >>> Neighbours("add-remove").moved, Neighbours("replace").moved
    (1, 2)
    """

    relation: Relation

    def __post_init__(self) -> None:
        if self.relation not in get_args(Relation):
            raise ResiduumError(
                f"Expected neighbours 'add-remove' or 'replace', got {self.relation!r}. "
                "Tables are neighbours if one has one row more than the other, or if one row is replaced."
            )

    @property
    def moved(self) -> int:
        """By how much one row changes a marginal, in L1 and in squared L2 alike."""
        return 1 if self.relation == "add-remove" else 2

    def sensitivity2(self, sizes: tuple[int, ...]) -> tuple[int, int]:
        """The squared L2 sensitivity of a residual over attributes of these sizes, as an exact fraction.

        Paper: Prop. 4.3, Π (n_i - 1) / n_i for a row more or less. Where a row is replaced it is the largest of
        2 Π_{j ≠ i} (n_j - 1) / n_j: the two rows differ in the attribute with the fewest values. The total is then 0.

        >>> Neighbours("add-remove").sensitivity2((4, 2)), Neighbours("replace").sensitivity2((4, 2))
        ((3, 8), (6, 4))
        """
        if self.relation == "add-remove":
            return prod(n - 1 for n in sizes), prod(sizes)
        if not sizes:
            return 0, 1
        others = sorted(sizes)[1:]
        return 2 * prod(n - 1 for n in others), prod(others)

    def cost(self, sizes: tuple[int, ...]) -> float:
        """The same as a float: measured with variance σ², the residual costs this / (2σ²) of the budget ρ.

        >>> Neighbours("replace").cost((4, 2))
        1.5
        """
        return _cost(self, sizes)


@lru_cache(maxsize=65536)
def _cost(neighbours: Neighbours, sizes: tuple[int, ...]) -> float:
    numerator, denominator = neighbours.sensitivity2(sizes)
    return numerator / denominator


ADD_REMOVE = Neighbours("add-remove")
