"""How far estimates of marginals are from the truth, and the model they are compared with that needs no thought."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from residuum import Domain, Release, Table, Workload
from residuum.core.domain import Clique
from residuum.core.marginals import Marginals
from residuum.data.counts import Counts
from residuum.estimate.nonnegative import consistent
from residuum.marginal import Estimate

Answers = Callable[[Clique], NDArray[Any]]
"""A marginal for a clique, of shape (n_i for i in γ)."""

Batch = Callable[[Sequence[Clique]], Mapping[Clique, NDArray[Any]]]
"""Marginals for many cliques at once."""

Errors = dict[str, float]

MEASURES = {
    "L1": "mean over the marginals of ‖μ - μ̂‖₁ / N",
    "L2": "mean over the marginals of ‖μ - μ̂‖₂ / N",
    "worst": "the worst marginal: largest ‖μ - μ̂‖₁ / N",
}

PORTION = 1 << 25
"""So many cells of the truth are in memory at a time, or one marginal."""


def errors(answers: Answers, truth: Counts, targets: Sequence[Clique]) -> Errors:
    """Every measure of `MEASURES`, over the marginals named."""
    return _summary([_away(answers, truth, gamma) for gamma in targets], truth.marginal(()).item())


def errors_of(answers: Mapping[str, Batch], table: Table, targets: Sequence[Clique]) -> dict[str, Errors]:
    """The same for several answers, a portion of the marginals at a time."""
    away: dict[str, list[tuple[float, float]]] = {name: [] for name in answers}
    for portion in _portions(table.domain, targets):
        truth = Counts(table, Workload(table.domain, portion))
        for name, batch in answers.items():
            given = batch(portion)
            away[name] += [_away(given.__getitem__, truth, gamma) for gamma in portion]
    return {name: _summary(found, table.columns.shape[1]) for name, found in away.items()}


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


def one_by_one(answers: Answers) -> Batch:
    """Many marginals, each asked for alone."""
    return lambda targets: {gamma: answers(gamma) for gamma in targets}


def together(release: Release) -> Batch:
    """The most likely marginals, without their error bars, all at once."""

    def batch(targets: Sequence[Clique]) -> Mapping[Clique, NDArray[np.float64]]:
        marginals = Marginals(release.estimates.workload, targets)
        release.estimates.rebuild_into(marginals)
        return marginals

    return batch


def some_targets(workload: Workload, number: int, seed: int = 0) -> Workload:
    """So many of the cliques asked for, drawn by a fixed seed: enough where all are too many to compare."""
    cliques = workload.targets
    drawn = np.random.default_rng(seed).choice(len(cliques), size=min(number, len(cliques)), replace=False)
    return Workload(workload.domain, [cliques[k] for k in sorted(drawn)])


def _away(answers: Answers, truth: Counts, gamma: Clique) -> tuple[float, float]:
    """The distances in L1 and in L2."""
    away = answers(gamma) - truth.marginal(gamma)
    return float(np.abs(away).sum()), float(np.linalg.norm(away))


def _summary(distances: list[tuple[float, float]], rows: int) -> Errors:
    l1, l2 = np.array(distances).T / rows
    return {"L1": float(l1.mean()), "L2": float(l2.mean()), "worst": float(l1.max())}


def _portions(domain: Domain, targets: Sequence[Clique]) -> Iterator[list[Clique]]:
    portion: list[Clique] = []
    cells = 0
    for gamma in targets:
        portion.append(gamma)
        cells += domain.size(gamma)
        if cells >= PORTION:
            yield portion
            portion, cells = [], 0
    if portion:
        yield portion
