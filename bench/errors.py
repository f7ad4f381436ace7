"""How far estimates of marginals are from the truth, and the model they are compared with that needs no thought."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from residuum import Release, Workload
from residuum.core.domain import Clique
from residuum.data.counts import Counts
from residuum.estimate.nonnegative import consistent
from residuum.marginal import Estimate

Answers = Callable[[Clique], NDArray[Any]]
"""A marginal for a clique, of shape (n_i for i in γ)."""

MEASURES = {
    "L1": "mean over the marginals of ‖μ - μ̂‖₁ / N",
    "L2": "mean over the marginals of ‖μ - μ̂‖₂ / N",
    "worst": "the worst marginal: largest ‖μ - μ̂‖₁ / N",
}


def errors(answers: Answers, truth: Counts, targets: Sequence[Clique]) -> dict[str, float]:
    """Every measure of `MEASURES`, over the marginals named."""
    rows = truth.marginal(()).item()
    distances = []
    for gamma in targets:
        away = answers(gamma) - truth.marginal(gamma)
        distances.append((np.abs(away).sum(), np.linalg.norm(away)))
    l1, l2 = np.array(distances).T / rows
    return {"L1": float(l1.mean()), "L2": float(l2.mean()), "worst": float(l1.max())}


def independent(truth: Counts) -> Answers:
    """The product of the exact 1-way marginals: made from the truth, so no private method, but a mark to be below."""
    rows = truth.marginal(()).item()

    def product(gamma: Clique) -> NDArray[np.float64]:
        return reduce(np.multiply.outer, (truth.marginal((i,)) / rows for i in gamma), np.array(float(rows)))

    return product


def estimate_of(release: Release, name: Estimate | Literal["consistent"]) -> Answers:
    """One of the estimates that a release offers, or "consistent": the most likely that are non-negative and agree."""
    if name == "consistent":
        return consistent(release.estimates).marginal
    return lambda gamma: release.marginal(gamma, estimate=name).values


def some_targets(workload: Workload, number: int, seed: int = 0) -> Workload:
    """So many of the cliques asked for, drawn by a fixed seed: enough where all are too many to compare."""
    cliques = workload.targets
    drawn = np.random.default_rng(seed).choice(len(cliques), size=min(number, len(cliques)), replace=False)
    return Workload(workload.domain, [cliques[k] for k in sorted(drawn)])
