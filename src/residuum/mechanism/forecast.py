"""What a release will take and how noisy it will be, from public quantities alone and before anything is spent."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from residuum.core import planner, zcdp
from residuum.core.domain import Clique
from residuum.core.neighbours import Neighbours
from residuum.core.residuals import v
from residuum.core.workload import Workload, subsets
from residuum.mechanism import aim, batch, guided
from residuum.mechanism.terms import Terms


@dataclass(frozen=True, slots=True)
class Forecast:
    """Memory in bytes, beside the table itself, and standard errors of a count.

    `planned` has one for every marginal that is asked for, if ResidualPlanner measures them all. It is what that method
    will reach, and a guide for the adaptive one, whose first measurements have `first` on a count.

    >>> from residuum import Domain
    >>> workload = Workload.all_kway(Domain({"age": 4, "sex": 2}), 1)
    >>> ahead = Forecast.of(aim.MECHANISM, Terms.agree(rho=0.5), workload)
    >>> {gamma: round(stderr, 2) for gamma, stderr in ahead.planned.items()}, round(ahead.first, 2)
    ({(0,): 1.17, (1,): 1.4}, 3.16)
    """

    memory: int
    planned: Mapping[Clique, float]
    first: float | None

    @classmethod
    def of(cls, mechanism: str, terms: Terms, workload: Workload) -> "Forecast":
        """The forecast for a mechanism by its name in releases."""
        rho, neighbours = zcdp.per_row(terms.rho, terms.rows_per_person), Neighbours(terms.neighbours)
        adaptive = mechanism == aim.MECHANISM
        sigma2 = planner.plan(workload, rho, neighbours=neighbours).sigma2
        return cls(
            guided.memory(workload) if adaptive else batch.memory(workload),
            {gamma: _stderr(gamma, sigma2, workload) for gamma in workload.targets},
            sqrt(guided.first_variance(workload, rho, neighbours)) if adaptive else None,
        )


def _stderr(gamma: Clique, sigma2: Mapping[Clique, float], workload: Workload) -> float:
    sizes = workload.domain.shape(gamma)
    return sqrt(sum(v(tau, gamma, sizes) * sigma2[tau] for tau in subsets(gamma)))
