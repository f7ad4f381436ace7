"""How much likelier a transcript is on one table than on another, if the mechanism does what it claims to do.

Written from the paper's formulas with dense matrices (App. C), not with the package's algebra, so that an error there
is not made twice.
"""

from collections.abc import Mapping
from functools import reduce
from math import pi, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.tables import Pair
from audit.transcript import Steps
from residuum.core.domain import Clique
from residuum.data.counts import Counts

Floats = NDArray[np.float64]


class Likelihood:
    """The log-likelihood ratio of transcripts on a pair of tables.

    An answer to `measure` is Gaussian: -‖center(z - ζ)‖² / (2σ²) up to a constant (Prop. 4.3). One to `select` follows
    the exponential mechanism with AIM's score (App. F.1), for which the estimates are built up again from the answers,
    or are those that the curator was told.
    """

    def __init__(self, pair: Pair) -> None:
        workload = pair.workload
        self._sizes = pair.sizes
        self._candidates = workload.closure[1:]
        self._cells = np.array([float(prod(self._shape(gamma))) for gamma in self._candidates])
        self._starts = np.concatenate([[0], np.cumsum(self._cells)[:-1]]).astype(np.int64)
        self._places = {gamma: slice(start, None) for gamma, start in zip(self._candidates, self._starts, strict=True)}
        self._weights = np.array([workload.weight(gamma) for gamma in self._candidates])
        self._sensitivity = self._weights.max() * pair.neighbours.moved
        self._truths = np.stack([self._flat(counts) for counts in pair.counts])
        self._recon = {
            tau: np.vstack([self._part(tau, gamma) for gamma in workload.closure[1:]]) for tau in workload.closure
        }
        self._centre = {tau: kron([centring(n) for n in self._shape(tau)]) for tau in workload.closure}
        self._residuals = {tau: self._true(tau, pair) for tau in workload.closure}

    def ratio(self, steps: Steps) -> float:
        """log P(transcript | first table) - log P(transcript | second table), the questions taken as given."""
        total = 0.0
        estimate = np.zeros(self._truths.shape[1])
        known: dict[Clique, tuple[Floats | float, float]] = {}
        for question, answers in steps:
            if "select" in question:
                total += self.of_selection(estimate, int(answers[0]), *question["select"])
                continue
            for columns, values in zip(question.get("told", ()), answers, strict=False):
                estimate[self._places[tuple(columns)]][: values.size] = values.reshape(-1)
            for (columns, sigma2), z in zip(question.get("measure", ()), answers, strict=False):
                tau, values = tuple(columns), z.reshape(-1)
                total += self.of_measurement(tau, values, sigma2)
                before, precision = known.get(tau, (0.0, 0.0))
                after = (precision * before + values / sigma2) / (precision + 1 / sigma2)
                known[tau] = after, precision + 1 / sigma2
                estimate += self._recon[tau] @ (after - before)
        return total

    def of_measurement(self, tau: Clique, values: Floats, sigma2: float) -> float:
        """What a noisy residual adds."""
        first, second = self._residuals[tau]
        if (first == second).all():
            return 0.0
        centre = self._centre[tau]
        far, near = (float(((centre @ (values - truth)) ** 2).sum()) for truth in (second, first))
        return (far - near) / (2 * sigma2)

    def of_selection(self, estimate: Floats, chosen: int, epsilon: float, sigma2: float) -> float:
        """What the choice of a candidate adds."""
        first, second = self.log_probabilities(estimate, epsilon, sigma2)
        return float(first[chosen] - second[chosen])

    def log_probabilities(self, estimate: Floats, epsilon: float, sigma2: float) -> Floats:
        """The logarithms of the chances of all candidates on both tables, of shape (2, candidates)."""
        distances = np.add.reduceat(np.abs(self._truths - estimate), self._starts, axis=1)
        scores = self._weights * (distances - sqrt(2 / pi * sigma2) * self._cells)
        powers = epsilon * scores / (2 * self._sensitivity)
        powers -= powers.max(axis=1, keepdims=True)
        return powers - np.log(np.exp(powers).sum(axis=1, keepdims=True))

    def residual(self, tau: Clique) -> Floats:
        """The true residual on the second table."""
        return self._residuals[tau][1]

    def move(self, tau: Clique) -> NDArray[np.int64]:
        """By how much the tables differ in the centred marginal times its number of cells, which is whole."""
        first, second = self._residuals[tau]
        return np.rint(prod(self._shape(tau)) * (self._centre[tau] @ (first - second))).astype(np.int64)

    def estimate(self, residuals: Mapping[Clique, Floats]) -> Floats:
        """The marginals of all candidates, one after the other, that residuals make."""
        return np.sum([self._recon[tau] @ z for tau, z in residuals.items()], axis=0)

    def marginals(self, estimate: Floats) -> dict[Clique, Floats]:
        """The same, each as an array with an axis per attribute."""
        parts = np.split(estimate, self._starts[1:])
        return {gamma: part.reshape(self._shape(gamma)) for gamma, part in zip(self._candidates, parts, strict=True)}

    def separation(self, steps: Steps) -> float:
        """By how many standard deviations the tables are apart in all that was measured: μ of a Gaussian mechanism."""
        total = 0.0
        for question, _ in steps:
            for columns, sigma2 in question.get("measure", ()):
                first, second = self._residuals[tuple(columns)]
                total += float(((self._centre[tuple(columns)] @ (first - second)) ** 2).sum()) / sigma2
        return sqrt(total)

    def _shape(self, gamma: Clique) -> list[int]:
        return [self._sizes[i] for i in gamma]

    def _axes(self, gamma: Clique) -> list[tuple[int, int]]:
        return [(i, self._sizes[i]) for i in gamma]

    def _flat(self, counts: Counts) -> Floats:
        return np.concatenate([counts.marginal(gamma).reshape(-1).astype(np.float64) for gamma in self._candidates])

    def _true(self, tau: Clique, pair: Pair) -> tuple[Floats, Floats]:
        differences = kron([subtracting(n) for n in self._shape(tau)])
        first, second = (differences @ counts.marginal(tau).reshape(-1) for counts in pair.counts)
        return first, second

    def _part(self, tau: Clique, gamma: Clique) -> Floats:
        """From a residual to its component of a marginal."""
        if not set(tau) <= set(gamma):
            return np.zeros((prod(self._shape(gamma)), prod(n - 1 for n in self._shape(tau))))
        return kron([centring(n) if i in tau else np.full((n, 1), 1 / n) for i, n in self._axes(gamma)])


def kron(factors: list[Floats]) -> Floats:
    """The Kronecker product of matrices."""
    product: Any = reduce(np.kron, factors, np.ones((1, 1)))
    return product


def subtracting(n: int) -> Floats:
    """`sub` along an axis of n values."""
    return np.hstack([-np.ones((n - 1, 1)), np.eye(n - 1)])


def centring(n: int) -> Floats:
    """`center`, which gives an axis of n values back."""
    return np.eye(n)[:, 1:] - np.full((n, n - 1), 1 / n)
