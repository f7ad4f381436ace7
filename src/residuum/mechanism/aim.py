"""AIM+GReM: select the worst-known marginal, measure its residuals, update the estimates, until the budget is spent.

Paper: Alg. 4, whose line numbers stand in the margin.
"""

from collections.abc import Sequence
from dataclasses import asdict
from math import pi, sqrt
from os import PathLike
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from residuum.core.domain import Clique, Domain
from residuum.core.grem import Estimates, Measurement, movement
from residuum.core.neighbours import Relation
from residuum.core.workload import Workload
from residuum.data.counts import Counts
from residuum.data.differences import Differences
from residuum.data.table import Table
from residuum.errors import ResiduumError
from residuum.estimate.reference import Reference
from residuum.estimate.reference import check as check_reference
from residuum.mechanism.allocation import initial, optimal, singles
from residuum.mechanism.anneal import (
    SELECTION,
    WORTHWHILE,
    Round,
    Schedule,
    first_round,
    next_round,
    sigma2_init,
    within,
)
from residuum.mechanism.curator import AdaptiveCurator
from residuum.mechanism.guided import Guided, Path, first_variance, worth_knowing
from residuum.mechanism.progress import Listener, Progress, Report
from residuum.mechanism.run import Run
from residuum.mechanism.terms import Sampler, Terms
from residuum.privacy.budget import BudgetFile
from residuum.release import Release

Steps = dict[Clique, NDArray[np.float64]]
Allocation = Literal["crp", "iid"]

MECHANISM = "AIM+GReM"


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
    reference: Reference = "latent",
    rounds: int | None = None,
    share_singles: float | None = None,
    share_select: float = SELECTION,
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
    function of yours.

    `reference` says what a residual is taken for while nobody has measured it: what latent classes predict, which is
    most accurate, what independent attributes would give, or, with "none", zero: the paper's algorithm as it stands.
    The rest is for experiments. `rounds`, `share_singles` and `share_select` share out the budget (see `Schedule`).
    `allocation` ("iid" for `reference="none"` alone) and `min_share` say how a round's budget is shared between
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
    check_reference(reference)
    if allocation == "iid" and reference != "none":
        raise ResiduumError("Allocation 'iid' is a variant of the paper's algorithm. Say reference='none' with it.")
    schedule = Schedule(rounds, share_singles, share_select)
    terms = Terms.agree(
        epsilon, delta, rho, rows_per_person=rows_per_person, neighbours=neighbours, seed=seed, noise=noise
    )
    parameters = {"reference": reference, **asdict(schedule), "allocation": allocation, "min_share": min_share}
    origin = getattr(table, "origin", None)  # what is no table is refused later
    with Run.start(MECHANISM, terms, workload, parameters, origin, prior, output, ledger) as run:
        return spend(run, table, workload, progress=progress, **parameters)


def spend(
    run: Run,
    table: Table | Counts,
    workload: Workload,
    *,
    allocation: Allocation,
    min_share: float,
    progress: bool | Listener | None,
    reference: Reference = "none",
    rounds: int | None = None,
    share_singles: float | None = None,
    share_select: float = SELECTION,
) -> Release:
    """Spend the budget of a run that was started or is resumed; the last four are not in journals of old runs."""
    schedule = Schedule(rounds, share_singles, share_select)
    with Progress(progress, MECHANISM) as report:
        path: Path = "rounds"
        if reference == "none":
            estimates, done = adaptive_loop(run, table, workload, schedule, allocation, min_share, report)
        else:
            guided = Guided(run, table, workload, schedule, reference, min_share, report)
            path, done = guided.loop()
            estimates = guided.estimates
    parameters = {"reference": reference, **asdict(schedule), "allocation": allocation, "min_share": min_share}
    return run.finish(MECHANISM, estimates, {**parameters, "path": path, "rounds": done})


def adaptive_loop(
    run: Run,
    table: Table | Counts,
    workload: Workload,
    schedule: Schedule,
    allocation: Allocation,
    min_share: float,
    report: Progress,
) -> tuple[Estimates, int]:
    """The paper's algorithm: the estimates, and the number of rounds. Paper: Alg. 4."""
    ledger, moved, selection = run.ledger, run.neighbours.moved, schedule.share_select
    planned = schedule.rounds or len(workload.closure)
    rho = ledger.remaining  # all of it, unless the run died before it measured anything
    sigma2_0 = sigma2_init(rho, planned, moved, selection)  # line 2
    if schedule.share_singles is not None:
        sigma2_0 = first_variance(workload, rho, run.neighbours, schedule.share_singles)
    elif moved * singles(workload) / (2 * sigma2_0) >= rho:
        raise ResiduumError(
            f"With `rounds` of {planned} the first measurements would take the whole budget. "
            "Name more of them, or say what they may take by `share_singles`."
        )
    known = worth_knowing(run.prior, sigma2_0)
    estimates = Estimates(workload, known)  # line 1
    noisiest = max([sigma2_0, sigma2_init(rho, planned, moved, selection), *(residual.sigma2 for residual in known)])
    differences = Differences(table, workload, sqrt(noisiest), report.counting)
    curator = AdaptiveCurator(differences, ledger, run.noise, run.neighbours, run.journal)
    curator.follow((residual.tau, residual.values) for residual in known)
    curator.follow(_absorb(estimates, curator.measure(initial(workload, sigma2_0))).items())  # lines 3, 5
    current = first_round(rho, planned, ledger.remaining, moved, selection)  # line 4
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
    return estimates, rounds


def _absorb(estimates: Estimates, measured: Sequence[Measurement]) -> Steps:
    """Take in measurements of different residuals; return how far each estimate moved."""
    return {tau: step for measurement in measured for tau, step in estimates.absorb(measurement).items()}


def _moved(domain: Domain, gamma: Clique, steps: Steps, current: Round) -> bool:
    """Whether the round moved the marginal's estimate by more than noise alone would."""
    return movement(steps, gamma, domain.shape(gamma)) > sqrt(2 / pi * current.sigma2) * domain.size(gamma)
