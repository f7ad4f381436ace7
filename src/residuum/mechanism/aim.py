"""AIM+GReM: select the worst-known marginal, measure its residuals, update the estimates, until the budget is spent.

Paper: Alg. 4, whose line numbers stand in the margin.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import pi, sqrt
from os import PathLike
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from residuum.core import crp
from residuum.core.domain import Clique, Domain
from residuum.core.grem import Estimates, Measurement, NoisyResidual, movement
from residuum.core.neighbours import ADD_REMOVE, Neighbours, Relation
from residuum.core.residuals import v
from residuum.core.workload import Workload, subsets
from residuum.data.counts import Counts
from residuum.data.differences import Differences
from residuum.data.table import Table
from residuum.errors import ResiduumError
from residuum.mechanism.anneal import WORTHWHILE, Round, first_round, next_round, sigma2_init, within
from residuum.mechanism.curator import AdaptiveCurator
from residuum.mechanism.progress import Listener, Progress, Report
from residuum.mechanism.run import Run
from residuum.mechanism.terms import Sampler, Terms
from residuum.privacy.budget import BudgetFile
from residuum.release import Release, measurements

Steps = dict[Clique, NDArray[np.float64]]
Allocation = Literal["crp", "iid"]

MECHANISM = "AIM+GReM"

_WORTH_KNOWING = 1e4
"""A prior's residuals with a variance beyond so many times that of the first measurements are left out as noise."""


def aim(
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
    allocation: Allocation = "crp",
    min_share: float = 1e-3,
    progress: bool | Listener | None = None,
) -> Release:
    """Release the marginals of a workload with AIM+GReM, under (ε, δ)- or ρ-zero-concentrated differential privacy.

    Paper: Alg. 4. In place of a table its `Counts` will do, of this workload or one that covers it. The budget is per
    person, who may have up to `rows_per_person` rows. `neighbours` says what it protects from being told: whether
    somebody is in the table ("add-remove"), or what their row says, the number of rows being public ("replace"). A seed
    makes the run reproducible and not private. `noise="opendp"` draws it with OpenDP.

    A `prior` release, of the same workload or a part of it, is built upon and costs nothing again. With `output`, the
    release is saved in that folder, and a run that dies can be resumed from it. With `ledger`, a budget file, the run
    is charged to what the data set has left.
    `progress` shows how far it is: where standard error is a terminal (None), always (True), never (False), or to a
    function of yours. `allocation` and `min_share` are for experiments: how a round's budget is shared between
    residuals, and which shares are dropped.

    >>> import numpy as np
    >>> from residuum import Domain, Table, Workload
    >>> domain = Domain({"age": 4, "educ": 3, "sex": 2})
    >>> codes = np.random.default_rng(0).integers(0, domain.sizes, size=(1000, 3))
    >>> workload = Workload.all_kway(domain, 2)
    >>> release = aim(Table.from_codes(codes, domain), workload, epsilon=1.0, delta=1e-9, seed=1)
    >>> release.marginal(("sex", "age")).values.shape
    (2, 4)
    >>> release.provenance["caveats"]
    ('not private: seeded',)
    """
    if allocation not in get_args(Allocation):
        raise ResiduumError(f"Expected allocation 'crp' or 'iid', got {allocation!r}.")
    terms = Terms.agree(
        epsilon, delta, rho, rows_per_person=rows_per_person, neighbours=neighbours, seed=seed, noise=noise
    )
    parameters = {"allocation": allocation, "min_share": min_share}
    origin = getattr(table, "origin", None)  # what is no table is refused later
    with Run.start(MECHANISM, terms, workload, parameters, origin, prior, output, ledger) as run:
        return adaptive_loop(run, table, workload, allocation=allocation, min_share=min_share, progress=progress)


def adaptive_loop(
    run: Run,
    table: Table | Counts,
    workload: Workload,
    *,
    allocation: Allocation,
    min_share: float,
    progress: bool | Listener | None,
) -> Release:
    """The algorithm itself, for a run that was started or is resumed. Paper: Alg. 4."""
    ledger, moved, cliques = run.ledger, run.neighbours.moved, len(workload.closure)
    with Progress(progress, MECHANISM) as report:
        rho = ledger.remaining  # all of it, unless the run died before it measured anything
        sigma2_0 = sigma2_init(rho, cliques, moved)  # line 2
        known = [residual for residual in _known(run.prior) if residual.sigma2 <= _WORTH_KNOWING * sigma2_0]
        estimates = Estimates(workload, known)  # line 1
        noisiest = max([sigma2_0, *(residual.sigma2 for residual in known)])
        differences = Differences(table, workload, sqrt(noisiest), report.counting)
        curator = AdaptiveCurator(differences, ledger, run.noise, run.neighbours, run.journal)
        curator.follow((residual.tau, residual.values) for residual in known)
        curator.follow(_absorb(estimates, curator.measure(initial(workload, sigma2_0))).items())  # lines 3, 5
        current = first_round(rho, cliques, ledger.remaining, moved)  # line 4
        rounds = 0
        report(Report(ledger.spent / ledger.rho, rounds, ()))
        while ledger.remaining > WORTHWHILE * ledger.rho:  # line 6
            rounds += 1
            gamma = curator.select(current.epsilon_select, current.sigma2)  # line 8
            if ledger.remaining <= WORTHWHILE * ledger.rho:
                break  # a crash has taken what the measurement would have cost
            current = within(current, ledger.remaining)
            if allocation == "crp":
                shares = optimal(estimates, gamma, current.precision, min_share, run.neighbours)  # line 9
                measured = curator.measure(shares)  # line 11
            else:
                measured = [curator.measure_marginal(gamma, current.sigma2)]
            steps = _absorb(estimates, measured)  # lines 12, 14
            curator.follow(steps.items())  # line 13
            report(Report(ledger.spent / ledger.rho, rounds, workload.domain.name(gamma)))
            if current.last:
                break
            current = next_round(current, _moved(workload.domain, gamma, steps, current), ledger.remaining)  # line 16
    return run.finish(MECHANISM, estimates, {"allocation": allocation, "min_share": min_share, "rounds": rounds})


def _known(prior: Release | None) -> list[NoisyResidual]:
    return measurements(prior.estimates) if prior else []


def initial(workload: Workload, sigma2: float) -> dict[Clique, float]:
    """Variances that amount to measuring each 1-way marginal of the closure with variance σ₀².

    Paper: Alg. 6. The measurements of the total are merged into one with their summed precision, at the same cost.
    """
    singles = [gamma for gamma in workload.closure if len(gamma) == 1]
    total = sigma2 / sum(1 / workload.domain.size(gamma) for gamma in singles)
    return {(): total} | dict.fromkeys(singles, sigma2)


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


def _absorb(estimates: Estimates, measured: Sequence[Measurement]) -> Steps:
    """Take in measurements of different residuals; return how far each estimate moved."""
    return {tau: step for measurement in measured for tau, step in estimates.absorb(measurement).items()}


def _moved(domain: Domain, gamma: Clique, steps: Steps, current: Round) -> bool:
    """Whether the round moved the marginal's estimate by more than noise alone would."""
    return movement(steps, gamma, domain.shape(gamma)) > sqrt(2 / pi * current.sigma2) * domain.size(gamma)
