"""ResidualPlanner: how precisely to measure every residual of a workload, all at once and before any data is seen.

Paper: Prop. 4.3, 4.4 (what a residual costs and contributes); Xiao et al., "An Optimal and Scalable Matrix Mechanism
for Noisy Marginals under Convex Loss Functions".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, isfinite
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from residuum.core.checks import Array
from residuum.core.domain import Clique
from residuum.core.neighbours import ADD_REMOVE, Neighbours
from residuum.core.residuals import p
from residuum.core.workload import Workload, subsets
from residuum.errors import ResiduumError

Objective = Literal["sum", "max"]

_GAP = 1e-3
_MOST_ROUNDS = 1_000
"""Ten rounds are usual; should these not suffice, the plan says how large its gap is."""
_BEYOND = 1 + 2.0**-40
"""Variances are larger than the budget asks for by this much: more than rounding can take away."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A variance for every residual of the closure, what the objective comes to, and how far it may be from the best.

    The least value possible is at least `value * (1 - gap)`. `stderr` is that of a cell of each target.

    >>> Plan(sigma2={(): 0.5}, stderr={(): 0.7}, value=0.5, gap=0.0).sigma2[()]
    0.5
    """

    sigma2: Mapping[Clique, float]
    stderr: Mapping[Clique, float]
    value: float
    gap: float


def plan(workload: Workload, rho: float, objective: Objective = "sum", neighbours: Neighbours = ADD_REMOVE) -> Plan:
    """The variances σ²_τ with Σ cost_τ / (2 σ²_τ) <= ρ that serve the targets best; 0 for what costs nothing.

    Paper: Prop. 4.3 and 4.4. With "sum" the objective is the expected squared error of all targets together,
    Σ weight_γ n_γ var_γ, where var_γ is the variance of one cell, and the plan is optimal. With "max" it is the largest
    weight_γ var_γ, and the plan is optimal to within its gap: rounds go on until that is at most 0.1%.

    >>> from residuum import Domain, Workload
    >>> workload = Workload.all_kway(Domain({"age": 4, "sex": 2}), 1)
    >>> best = plan(workload, rho=0.5)
    >>> {tau: round(sigma2, 3) for tau, sigma2 in best.sigma2.items()}
    {(): 3.549, (0,): 1.537, (1,): 2.173}
    >>> round(best.value, 3), best.gap
    (9.444, 0.0)
    """
    if (
        isinstance(rho, bool)
        or not isinstance(rho, int | float | np.integer | np.floating)
        or not (isfinite(rho) and rho > 0)
    ):
        raise ResiduumError(f"Expected `rho` to be a finite number above 0, got {rho!r}.")
    if objective not in ("sum", "max"):
        raise ResiduumError(f'Expected the objective "sum" or "max", got {objective!r}.')
    pairs = _Pairs.of(workload, neighbours)
    weights = np.array([*workload.weights.values()], dtype=np.float64)
    if objective == "sum":
        sigma2, gap = pairs.best(weights * pairs.cells), 0.0
    else:
        sigma2, gap = _least_largest(pairs, weights)
    sigma2 *= fsum(pairs.precisions(sigma2)) / (2 * float(rho)) * _BEYOND
    variances = pairs.variances(sigma2)
    losses = weights * variances
    value = float(losses @ pairs.cells if objective == "sum" else losses.max())
    planned = MappingProxyType(dict(zip(workload.closure, sigma2.tolist(), strict=True)))
    stderr = MappingProxyType(dict(zip(workload.weights, np.sqrt(variances).tolist(), strict=True)))
    return Plan(planned, stderr, value, gap)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Which residual is part of which target, as flat arrays: v_τ = p_τ (n_τ / n_γ)² needs nothing but τ and γ."""

    residual: NDArray[np.intp]
    start: NDArray[np.intp]
    count: NDArray[np.intp]
    cost: Array
    p: Array
    residual_cells: Array
    cells: Array

    @classmethod
    def of(cls, workload: Workload, neighbours: Neighbours) -> "_Pairs":
        domain = workload.domain
        place = {tau: i for i, tau in enumerate(workload.closure)}
        count = np.array([2 ** len(gamma) for gamma in workload.targets], dtype=np.intp)
        inside = (place[tau] for gamma in workload.targets for tau in subsets(gamma))
        return cls(
            residual=np.fromiter(inside, dtype=np.intp, count=int(count.sum())),
            start=np.cumsum(count) - count,
            count=count,
            cost=np.array([neighbours.cost(domain.shape(tau)) for tau in workload.closure]),
            p=np.array([p(domain.shape(tau)) for tau in workload.closure]),
            residual_cells=np.array([float(domain.size(tau)) for tau in workload.closure]),
            cells=np.array([float(domain.size(gamma)) for gamma in workload.targets]),
        )

    def variances(self, sigma2: Array) -> Array:
        """The variance of one cell of each target, Σ_τ v_τ σ²_τ."""
        parts = self.p * self.residual_cells**2 * sigma2
        return np.add.reduceat(parts[self.residual], self.start) / self.cells**2

    def precisions(self, sigma2: Array) -> Array:
        """What each residual takes of twice the budget, cost_τ / σ²_τ."""
        return np.divide(self.cost, sigma2, out=np.zeros(len(sigma2)), where=self.cost > 0)

    def best(self, weights: Array) -> Array:
        """The variances with the least Σ weight_γ var_γ, for Σ cost_τ / σ²_τ = 1.

        By Cauchy-Schwarz σ²_τ is proportional to √(cost_τ / c_τ), where c_τ = Σ_γ weight_γ v_τ.
        """
        above = np.bincount(self.residual, np.repeat(weights / self.cells**2, self.count), len(self.p))
        sigma2 = np.sqrt(self.cost / self.p / above) / self.residual_cells
        return sigma2 * self.precisions(sigma2).sum()


def _least_largest(pairs: _Pairs, weights: Array) -> tuple[Array, float]:
    """The variances with nearly the least largest weight_γ var_γ, for Σ cost_τ / σ²_τ = 1, and the gap.

    Any shares u_γ >= 0 with sum 1 bound it from below: the average loss is at most the largest, and its minimum g(u)
    has a closed form. Each round multiplies u_γ by the square of its loss. As √g is a sum of square roots of sums over
    u, Jensen's inequality makes this the best step on a lower bound that touches √g, so g never falls.
    """
    shares = np.full(len(weights), 1 / len(weights))
    lower, upper, best = 0.0, np.inf, np.empty(0)
    for _ in range(_MOST_ROUNDS):
        sigma2 = pairs.best(shares * weights)
        losses = weights * pairs.variances(sigma2)
        lower = max(lower, float(shares @ losses))
        if losses.max() < upper:
            upper, best = float(losses.max()), sigma2
        if upper - lower <= _GAP * upper:
            break
        shares *= (losses / upper) ** 2
        shares /= shares.sum()
    return best, max(0.0, 1 - lower / upper)
