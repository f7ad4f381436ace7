"""The exponential mechanism over the closure, with the score of AIM.

Paper: App. F.1, selection step.
"""

from collections.abc import Callable
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from residuum import kernels
from residuum.core.domain import Clique
from residuum.core.workload import Workload

_ALL = np.empty(0, dtype=np.int64)
_FIRST = np.array([1], dtype=np.int64)
"""The first candidate, renewed even where nothing changed: no change at all would read as a change of all."""


class Selection:
    """Weights of all candidates (the closure without ∅), of which a round renews only those that changed.

    The score of a clique is w (‖μ - μ̂‖₁ - √(2/π) σ n); one person changes it by at most the largest w.
    """

    def __init__(self, workload: Workload) -> None:
        self.candidates: tuple[Clique, ...] = workload.closure[1:]
        weight = np.array([workload.weight(gamma) for gamma in self.candidates])
        self._cells = np.array([float(workload.domain.size(gamma)) for gamma in self.candidates])
        self.sensitivity = float(weight.max())
        self._weight = weight / self.sensitivity
        self._exponents = np.empty(len(self.candidates))
        self._weights = np.empty(len(self.candidates))
        self._blocks = np.empty(-(-len(self.candidates) // kernels.BLOCK))
        self._reference = 0.0
        self._parameters = (0.0, 0.0)

    def choose(
        self,
        distances: Callable[[NDArray[np.int64] | slice], NDArray[np.float64]],
        touched: list[NDArray[np.int64]],
        epsilon_select: float,
        sigma2: float,
        uniform: float,
    ) -> Clique:
        """A candidate drawn with probability ∝ exp(ε · score / (2 Δ)).

        `distances` gives the L1 distances at positions of the closure, `touched` lists the positions where they are not
        what they were at the last call; `uniform` is the random number that decides.
        """
        if self._parameters != (epsilon_select, sigma2):
            self._parameters = epsilon_select, sigma2
            at, positions, changed = slice(None), slice(1, None), _ALL
        else:
            positions = np.concatenate([*touched, _FIRST])
            positions = positions[positions > 0]
            at = changed = positions - 1
        expected_noise = sqrt(2 / pi * sigma2) * self._cells[at]
        scores = self._weight[at] * (distances(positions) - expected_noise)  # in units of the sensitivity
        self._exponents[at] = epsilon_select / 2 * scores
        self._reference = kernels.weigh(self._exponents, self._weights, self._blocks, changed, self._reference)
        return self.candidates[kernels.choose(self._weights, self._blocks, uniform)]
