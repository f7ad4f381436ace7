"""ResidualPlanner: decide all noise beforehand, measure every residual once. The optimal batch method.

Paper: the baseline of section 6; its allocation is `core/planner.py`.
"""

from collections.abc import Iterator, Mapping
from os import PathLike
from typing import get_args

import numpy as np

from residuum.core import planner
from residuum.core.domain import Clique
from residuum.core.grem import Estimates
from residuum.core.neighbours import Relation
from residuum.core.planner import Objective
from residuum.core.workload import Workload
from residuum.data.counts import Counts, counting
from residuum.data.memory import cells_of, check_memory, measuring
from residuum.data.table import Table
from residuum.errors import ResiduumError
from residuum.mechanism.anneal import WORTHWHILE
from residuum.mechanism.curator import Curator
from residuum.mechanism.progress import Listener, Progress, Report
from residuum.mechanism.run import Run
from residuum.mechanism.terms import Sampler, Terms
from residuum.privacy.budget import BudgetFile
from residuum.release import Release, measurements

MECHANISM = "ResidualPlanner"

_BEYOND = 1 + 2.0**-30
"""A plan that no longer fits is stretched by this much more than it has to be: more than rounding can add."""


def residual_planner(
    table: Table | Counts,
    workload: Workload,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    rows_per_person: int = 1,
    neighbours: Relation = "add-remove",
    seed: int | None = None,
    noise: Sampler = "exact",
    prior: Release | None = None,
    output: str | PathLike[str] | None = None,
    ledger: str | PathLike[str] | BudgetFile | None = None,
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
    if objective not in get_args(Objective):
        raise ResiduumError(f'Expected the objective "sum" or "max", got {objective!r}.')
    terms = Terms.agree(
        epsilon, delta, rho, rows_per_person=rows_per_person, neighbours=neighbours, seed=seed, noise=noise
    )
    parameters = {"objective": objective}
    origin = getattr(table, "origin", None)  # what is no table is refused later
    with Run.start(MECHANISM, terms, workload, parameters, origin, prior, output, ledger) as run:
        return batch(run, table, workload, objective=objective, progress=progress)


def batch(
    run: Run, table: Table | Counts, workload: Workload, *, objective: Objective, progress: bool | Listener | None
) -> Release:
    """The method itself, for a run that was started or is resumed."""
    check_memory(workload, memory(workload, counted=isinstance(table, Counts)))
    with Progress(progress, MECHANISM) as report:
        plan = planner.plan(workload, run.ledger.remaining, objective, run.neighbours)
        estimates = Estimates(workload, measurements(run.prior.estimates) if run.prior else ())
        truth = Counts.of(table, workload, in_turn=True, watch=report.counting)
        curator = Curator(truth, run.ledger, run.noise, run.neighbours, run.journal)
        measure_in_turn(curator, estimates, plan.sigma2, report)
    return run.finish(MECHANISM, estimates, {"objective": objective, "duality_gap": plan.gap})


def measure_in_turn(
    curator: Curator, estimates: Estimates, sigma2: Mapping[Clique, float], report: Progress, done: int = 0
) -> int:
    """Measure residuals with these variances, one after another; return how many were measured, with those done before.

    Where a crash has taken a part of what they cost, those that are left share the rest.
    """
    ledger, domain = curator.ledger, estimates.workload.domain
    costs = [curator.neighbours.cost(domain.shape(tau)) for tau in sigma2]
    for tau, variance, still in _ahead(sigma2, costs):
        if ledger.remaining <= WORTHWHILE * ledger.rho and still > 2 * ledger.remaining:
            break  # a crash has taken what the rest would have cost
        stretch = still / ledger.remaining * _BEYOND if still > ledger.remaining else 1.0
        (residual,) = curator.measure({tau: variance * stretch})
        estimates.absorb(residual)
        done += 1
        report(Report(ledger.spent / ledger.rho, done, domain.name(tau)))
    return done


def memory(workload: Workload, *, counted: bool = False) -> int:
    """How many bytes the method takes: for counts, unless they are there, for estimates, and to measure.

    >>> from residuum import Domain
    >>> memory(Workload.all_kway(Domain({"a": 300, "b": 300, "c": 300}), 3)) // 2**30
    1
    """
    counts = 0 if counted else counting(workload, in_turn=True)
    return counts + 8 * cells_of(workload) + measuring(workload)


def _ahead(sigma2: Mapping[Clique, float], costs: list[float]) -> Iterator[tuple[Clique, float, float]]:
    """Every residual with its variance, and what it and those after it cost together."""
    variances = np.array([*sigma2.values()])
    shares = np.divide(costs, 2 * variances, out=np.zeros(len(costs)), where=variances > 0)
    still = np.cumsum(shares[::-1])[::-1]  # added up from the end, so that small rests are exact
    return zip(sigma2, variances.tolist(), still.tolist(), strict=True)
