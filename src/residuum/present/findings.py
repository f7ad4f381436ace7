"""Which columns depend on each other, by the latent classes of a release: post-processing, so it costs nothing."""

from dataclasses import dataclass

import numpy as np

from residuum.core.checks import Array
from residuum.core.domain import Clique
from residuum.core.workload import Workload
from residuum.estimate.mixture import Mixture, starts
from residuum.release import Release


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What is worth looking at in a release."""

    strengths: Array
    """How strongly each pair of columns depends, from 0 to 1, of shape (columns, columns)."""
    pairs: tuple[Clique, ...]
    """Pairs that can be asked for, the strongest first."""
    triples: tuple[Clique, ...]
    """Triples that can be asked for, those made of the strongest pairs first."""

    @classmethod
    def of(cls, release: Release, most: int = 6) -> "Findings":
        """The strongest pairs, and a triple made of them where the release has some."""
        strengths = dependence(release.fit())
        pairs = _strongest(strengths, release.workload, most)
        return cls(strengths, pairs, _triples(strengths, pairs, release.workload))


def dependence(model: Mixture) -> Array:
    """How strongly each pair of columns depends: 0 not at all, 1 one follows from the other.

    It is √(1 - exp(-2 I)), where I is the mutual information of the average of the fits, less what the single fits
    have beyond that: where they differ the measurements are noise, and noise looks like dependence.

    >>> shares = np.array([[[0.5, 0.5, 1.0, 0.0], [0.5, 0.5, 0.0, 1.0]]], dtype=np.float32)
    >>> dependence(Mixture((2, 2), 100.0, np.array([[0.5, 0.5]], dtype=np.float32), shares))[0, 1].item()
    0.0
    """
    members = [
        Mixture(model.sizes, model.total, model.weights[k : k + 1], model.shares[k : k + 1])
        for k in range(len(model.weights))
    ]
    average = _information(model)
    beyond = np.mean([_information(member) for member in members], axis=0) - average
    return np.sqrt(-np.expm1(-2 * np.maximum(average - np.maximum(beyond, 0.0), 0.0)))


def _information(model: Mixture) -> Array:
    """The mutual information of each pair of columns, in nats, of shape (columns, columns); 0 on the diagonal."""
    begin, members = starts(model.sizes), len(model.weights)
    flat = model.shares.reshape(-1, sum(model.sizes)).astype(np.float64)
    weighted = flat * (model.weights.reshape(-1, 1).astype(np.float64) / members)
    single = weighted.sum(axis=0)
    found = np.zeros((len(begin), len(begin)))
    for i, size in enumerate(model.sizes):
        own = slice(begin[i], begin[i] + size)
        joint = weighted[:, own].T @ flat
        apart = np.outer(single[own], single)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(joint > 0, joint * np.log(joint / apart), 0.0)
        found[i] = np.add.reduceat(parts.sum(axis=0), begin)
    np.fill_diagonal(found, 0.0)
    return np.maximum(np.where(found > 1e-6, found, 0.0), 0.0)  # what is less is rounding


def _strongest(strengths: Array, workload: Workload, most: int) -> tuple[Clique, ...]:
    first, second = np.triu_indices(len(strengths), 1)
    order = np.argsort(-strengths[first, second], kind="stable")
    found: list[Clique] = []
    for k in order.tolist():
        pair = (int(first[k]), int(second[k]))
        if strengths[pair] <= 0.02 or len(found) == most:
            break
        if pair in workload:
            found.append(pair)
    return tuple(found)


def _triples(strengths: Array, pairs: tuple[Clique, ...], workload: Workload) -> tuple[Clique, ...]:
    """The triple whose second strongest pair is the strongest, among those with one of the pairs in it."""
    scored: dict[Clique, float] = {}
    for i, j in pairs:
        for k in range(len(strengths)):
            triple = tuple(sorted({i, j, k}))
            if len(triple) == 3 and triple in workload:
                scored[triple] = sorted((strengths[i, j], strengths[i, k], strengths[j, k]))[1]
    return tuple(sorted(scored, key=lambda triple: -scored[triple])[:1])
