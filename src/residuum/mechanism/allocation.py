"""How a budget is shared between residuals: to begin with, for one marginal, and evenly over many."""

from collections.abc import Mapping
from functools import lru_cache
from math import fsum

from residuum.core import crp
from residuum.core.domain import Clique, Domain
from residuum.core.grem import Estimates
from residuum.core.neighbours import ADD_REMOVE, Neighbours
from residuum.core.residuals import v
from residuum.core.workload import Workload, subsets
from residuum.mechanism.anneal import CRUMB


def initial(workload: Workload, sigma2: float) -> dict[Clique, float]:
    """Variances that amount to measuring each 1-way marginal of the closure with variance σ₀².

    Paper: Alg. 6. The measurements of the total are merged into one with their summed precision, at the same cost.
    """
    alone = [gamma for gamma in workload.closure if len(gamma) == 1]
    total = sigma2 / sum(1 / workload.domain.size(gamma) for gamma in alone)
    return {(): total} | dict.fromkeys(alone, sigma2)


def singles(workload: Workload) -> int:
    """How many attributes the workload asks about: so many 1-way marginals are measured to begin with.

    >>> from residuum import Domain
    >>> singles(Workload(Domain({"age": 4, "sex": 2, "educ": 3}), [("age", "educ")]))
    2
    """
    return sum(len(gamma) == 1 for gamma in workload.closure)


def optimal(
    estimates: Estimates, gamma: Clique, precision: float, min_share: float, neighbours: Neighbours = ADD_REMOVE
) -> dict[Clique, float]:
    """The variances that conditional ResidualPlanner gives the residuals of a marginal, for the price of precision / 2.

    Paper: Alg. 4, line 9. Those it omits are left out, and so is the total where it is public.
    """
    taus, costs, v = _costs(gamma, estimates.workload.domain.shape(gamma), neighbours)
    precisions = crp.allocate(costs, v, [estimates.precision(tau) for tau in taus], precision, min_share)
    return {tau: 1 / x for tau, x in zip(taus, precisions, strict=True) if x > 0}


@lru_cache(maxsize=65536)
def _costs(
    gamma: Clique, sizes: tuple[int, ...], neighbours: Neighbours
) -> tuple[list[Clique], list[float], list[float]]:
    """The residuals of a marginal that cost something, what they cost, and what they contribute."""
    size = dict(zip(gamma, sizes, strict=True))
    costs = {tau: neighbours.cost(tuple(size[i] for i in tau)) for tau in subsets(gamma)}
    taus = [tau for tau, cost in costs.items() if cost > 0]
    return taus, [costs[tau] for tau in taus], [v(tau, gamma, sizes) for tau in taus]


def evenly(
    weights: Mapping[Clique, float], domain: Domain, rho: float, neighbours: Neighbours = ADD_REMOVE
) -> dict[Clique, float]:
    """The variances of residuals whose precisions are in proportion to these weights and cost ρ together.

    >>> evenly({(0,): 1.0, (1,): 1.0}, Domain({"age": 4, "sex": 2}), rho=0.625)
    {(0,): 1.0000000009313226, (1,): 1.0000000009313226}
    """
    costs = {tau: neighbours.cost(domain.shape(tau)) for tau in weights}
    unit = fsum(costs[tau] * weight for tau, weight in weights.items()) / (2 * rho * (1 - CRUMB))
    return {tau: unit / weight for tau, weight in weights.items()}
