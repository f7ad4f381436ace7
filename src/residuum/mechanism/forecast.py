"""What a release will take and how noisy it will be, from public quantities alone and before anything is spent."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from residuum.core import planner, zcdp
from residuum.core.domain import Clique
from residuum.core.neighbours import Neighbours
from residuum.core.workload import Workload
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
        return cls(
            guided.memory(workload) if adaptive else batch.memory(workload),
            planner.plan(workload, rho, neighbours=neighbours).stderr,
            sqrt(guided.first_variance(workload, rho, neighbours)) if adaptive else None,
        )
