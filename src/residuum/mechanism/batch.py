"""ResidualPlanner: decide all noise beforehand, measure every residual once. The optimal batch method.

Paper: the baseline of section 6; its allocation is `core/planner.py`.
"""

from residuum.core import planner
from residuum.core.grem import Estimates
from residuum.core.planner import Objective
from residuum.core.workload import Workload
from residuum.data.counts import Counts, counting
from residuum.data.memory import cells_of, check_memory, measuring
from residuum.data.table import Table
from residuum.mechanism.curator import Curator
from residuum.mechanism.progress import Listener, Progress, Report
from residuum.mechanism.setup import Terms, check_prior, make_release
from residuum.release import Release, measurements


def residual_planner(
    table: Table | Counts,
    workload: Workload,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    rows_per_person: int = 1,
    seed: int | None = None,
    prior: Release | None = None,
    objective: Objective = "sum",
    progress: bool | Listener | None = None,
) -> Release:
    """Release the marginals of a workload by ResidualPlanner: no adaptivity, known error beforehand.

    The objective is the weighted sum of the marginals' squared errors ("sum") or the largest weighted variance of a
    cell ("max"). The other parameters are those of `aim`; a prior release is averaged in by precision.

    >>> import numpy as np
    >>> from residuum import Domain, Table, Workload
    >>> domain = Domain({"age": 4, "educ": 3, "sex": 2})
    >>> codes = np.random.default_rng(0).integers(0, domain.sizes, size=(1000, 3))
    >>> workload = Workload.all_kway(domain, 2)
    >>> release = residual_planner(Table.from_codes(codes, domain), workload, rho=0.5, seed=1)
    >>> release.marginal(("age", "sex")).unmeasured
    ()
    """
    terms = Terms.agree(epsilon, delta, rho, rows_per_person, seed)
    prior = check_prior(prior, workload, terms)
    noise, ledger = terms.noise(prior), terms.ledger()
    counts = 0 if isinstance(table, Counts) else counting(workload, in_turn=True)
    check_memory(workload, counts + 8 * cells_of(workload) + measuring(workload))  # the second are the estimates
    with Progress(progress, "ResidualPlanner") as report:
        plan = planner.plan(workload, ledger.rho, objective)
        estimates = Estimates(workload, measurements(prior.estimates) if prior else ())
        curator = Curator(Counts.of(table, workload, in_turn=True, watch=report.counting), ledger, noise)
        for done, (tau, sigma2) in enumerate(plan.sigma2.items(), start=1):
            (residual,) = curator.measure({tau: sigma2})
            estimates.absorb(residual)
            report(Report(ledger.spent / ledger.rho, done, workload.domain.name(tau)))
    parameters = {"objective": objective, "duality_gap": plan.gap}
    return make_release("ResidualPlanner", terms, estimates, ledger, noise, prior, parameters)
