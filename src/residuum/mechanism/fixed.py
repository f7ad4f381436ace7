"""Measure a fixed sequence of marginals: the paper's ablation of how to share the budget and how to update.

Paper: section 6, "Algorithmic improvements". Half of the budget goes to the 1-way marginals, half to the sequence.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from residuum.core.domain import Clique
from residuum.core.grem import Estimates
from residuum.core.marginals import Marginals
from residuum.data.counts import Counts
from residuum.errors import ResiduumError
from residuum.mechanism.aim import Allocation
from residuum.mechanism.allocation import initial, optimal, singles
from residuum.mechanism.curator import Curator
from residuum.mechanism.run import Run
from residuum.mechanism.terms import Terms
from residuum.release import Release

Reconstruction = Literal["lazy", "full"]


def fixed_sequence(
    counts: Counts,
    sequence: Sequence[Clique],
    *,
    rho: float,
    seed: int,
    allocation: Allocation = "crp",
    reconstruction: Reconstruction = "lazy",
    min_share: float = 1e-3,
    steps: int | None = None,
    every: int = 1,
    watch: Callable[[int], None] | None = None,
) -> Release:
    """Measure the 1-way marginals and then a sequence, keeping an estimate of every target after each step.

    `allocation` shares a step's budget by conditional ResidualPlanner ("crp") or puts isotropic noise on the marginal
    ("iid"); `reconstruction` updates the targets a measurement touches ("lazy") or puts all together anew ("full").
    `steps` stops after a prefix of the sequence, at the budget per step of the whole. With "full", all is put together
    only after `every` so many steps, where each one would take too long. `watch` is called with the number of steps
    done, from 0 on.

    >>> import numpy as np
    >>> from residuum import Domain, Table, Workload
    >>> domain = Domain({"age": 4, "educ": 3, "sex": 2})
    >>> codes = np.random.default_rng(0).integers(0, domain.sizes, size=(1000, 3))
    >>> counts = Counts(Table.from_codes(codes, domain), Workload.all_kway(domain, 2))
    >>> release = fixed_sequence(counts, [(0, 1), (1, 2), (0, 2)], rho=0.5, seed=1)
    >>> release.marginal((0, 1)).values.shape
    (4, 3)
    """
    if allocation not in ("crp", "iid") or reconstruction not in ("lazy", "full"):
        raise ResiduumError(f"Unknown strategy {reconstruction!r} + {allocation!r}: take lazy or full, crp or iid.")
    terms = Terms.agree(rho=rho, seed=seed)
    workload, run = counts.workload, Run(terms)
    curator = Curator(counts, run.ledger, run.noise)
    lazy = reconstruction == "lazy"
    estimates = Estimates(workload, held=workload.targets if lazy else ())
    marginals = Marginals(workload, () if lazy else workload.targets)
    within = 1 + 2.0**-40  # leaves more of the budget than rounding can add
    for residual in curator.measure(initial(workload, singles(workload) / rho * within)):
        estimates.absorb(residual)
    sigma2 = len(sequence) / rho * within
    watch = watch or (lambda _: None)
    watch(0)
    for done, gamma in enumerate(sequence[:steps], start=1):
        if allocation == "crp":
            measured = curator.measure(optimal(estimates, gamma, 1 / sigma2, min_share))
        else:
            measured = [curator.measure_marginal(gamma, sigma2)]
        for measurement in measured:
            estimates.absorb(measurement)
        if marginals and done % every == 0:
            estimates.rebuild_into(marginals)
        watch(done)
    parameters = {"allocation": allocation, "reconstruction": reconstruction, "min_share": min_share}
    return run.finish("fixed sequence", estimates, parameters)
