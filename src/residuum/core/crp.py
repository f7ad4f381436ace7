"""Conditional ResidualPlanner: how precisely to measure the residuals of a marginal, given what is known of them.

Paper: section 4.3 (eq. 2) and App. D.

The paper hands the general case to a numerical solver. It needs none: by the optimality conditions x is
max(0, θ √(v/p) - a) for one θ, where a are the precisions so far. Think of basins with floors at a / √(v/p) and areas
√(p v): the budget is water poured into them and θ is its level, found by going through the floors in ascending order.
Only ratios of budget and floors are compared, so the paper's division by the budget is not needed.
"""

from collections.abc import Sequence
from math import fsum, isfinite, sqrt
from operator import mul, truediv

from residuum.errors import ResiduumError

_WITHIN = 1 - 2.0**-40
"""The part of the budget that is given out: the rest is more than rounding can add."""


def allocate(
    p: Sequence[float],
    v: Sequence[float],
    prior_precision: Sequence[float],
    cost: float,
    min_share: float = 1e-3,
) -> list[float]:
    """The precision x = 1/σ² to measure each residual with, 0 where to omit it: least Σ v / (x + prior), Σ p x <= cost.

    Paper: eq. 2 and App. D, where cost = 2 ρ and `min_share` is η. Residuals whose share p x / cost of the optimum is
    below `min_share` are omitted and the others share the whole cost, optimally; the largest share always stays.

    >>> x = allocate(p=[1.0, 0.5, 0.5], v=[0.25, 0.5, 0.5], prior_precision=[9.0, 0.0, 1.0], cost=2.0)
    >>> [round(precision, 3) for precision in x]
    [0.0, 2.5, 1.5]
    """
    _check(p, v, prior_precision, cost, min_share)
    areas = list(map(sqrt, map(mul, p, v)))
    floors = list(map(truediv, map(mul, p, prior_precision), areas))
    spent = _pour(areas, floors, cost)
    least = min(min_share * cost, max(spent))
    kept = [share if share >= least else 0.0 for share in spent]
    if kept != spent:
        # With fewer basins the water only rises: none of those kept falls dry or below `min_share`.
        rise = (cost - sum(kept)) / sum(area for area, share in zip(areas, kept, strict=True) if share)
        spent = [share + area * rise if share else 0.0 for area, share in zip(areas, kept, strict=True)]
    scale = cost / fsum(spent) * _WITHIN
    return [share * scale / pi for share, pi in zip(spent, p, strict=True)]


def _pour(areas: list[float], floors: list[float], cost: float) -> list[float]:
    """How much of the cost comes to stand over each floor."""
    level, wet, left = min(floors), 0.0, cost
    for floor, area in sorted(zip(floors, areas, strict=True)):
        needed = (floor - level) * wet
        if needed >= left:
            break
        left -= needed
        level = floor
        wet += area
    # The level and its rise stay apart: next to large priors, their sum would lose what a small cost adds.
    rise = left / wet
    return [area * (level - floor + rise) if floor <= level else 0.0 for area, floor in zip(areas, floors, strict=True)]


def _check(
    p: Sequence[float], v: Sequence[float], prior_precision: Sequence[float], cost: float, min_share: float
) -> None:
    if not len(p) == len(v) == len(prior_precision) > 0:
        raise ResiduumError(
            "Expected `p`, `v` and `prior_precision` of the same length, at least 1, "
            f"got {len(p)}, {len(v)} and {len(prior_precision)}."
        )
    if not (cost > 0 and isfinite(cost)):
        raise ResiduumError(f"Expected `cost` to be a finite number above 0, got {cost!r}.")
    if not 0 <= min_share < 1:
        raise ResiduumError(f"Expected `min_share` to be at least 0 and below 1, got {min_share!r}.")
    # A NaN can hide from a minimum, but not from a sum.
    if min(p) > 0 and min(v) > 0 and min(prior_precision) >= 0 and isfinite(sum(p) + sum(v) + sum(prior_precision)):
        return
    for name, values, sign in (("p", p, "above 0"), ("v", v, "above 0"), ("prior_precision", prior_precision, ">= 0")):
        for i, value in enumerate(values):
            if not (isfinite(value) and (value > 0 or (value == 0 and name == "prior_precision"))):
                raise ResiduumError(f"Expected finite numbers {sign} in `{name}`, got {value!r} at index {i}.")
    raise ResiduumError("Expected `p`, `v` and `prior_precision` whose sums are finite. Give them in other units.")
