"""The exponential mechanism over the closure, with the score of AIM, exact.

Paper: App. F.1, selection step.

The score of a clique is w (‖μ - μ̂‖₁ - √(2/π) σ n). The L1 norms come as whole numbers of 2^-bits people. Each is
multiplied by a float, its rate, and less another float, its offset; neither depends on the data. That is the exponent,
taken as an exact number: one row changes a norm by at most `moved` · 2^bits, and the rates were rounded so that this
changes no exponent by more than ε / 2. What is chosen has probability exactly proportional to e^exponent, because
weights in floating point decide only where their rounding errors cannot matter.
"""

from fractions import Fraction
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from residuum import kernels
from residuum.core.domain import Clique
from residuum.core.workload import Workload
from residuum.privacy import exact
from residuum.privacy.exact import Uniform

_ALL = np.empty(0, dtype=np.int64)
_TOTAL = np.zeros(1, dtype=np.int64)
"""The total, which is no candidate: where nothing changed this stands for it, as no change at all reads as all."""


class Selection:
    """Weights of all candidates (the closure without ∅), of which a round renews only those that changed.

    `scales` are the units of each norm that make one person, powers of 2; `moved` is by how many people one row can
    change a marginal.
    """

    def __init__(self, workload: Workload, scales: NDArray[np.float64], moved: int = 1) -> None:
        self.candidates: tuple[Clique, ...] = workload.closure[1:]
        weight = np.array([workload.weight(gamma) for gamma in self.candidates])
        self._cells = np.array([float(workload.domain.size(gamma)) for gamma in self.candidates])
        self.sensitivity = float(weight.max()) * moved
        # Not above 1 / (moved · scale): rounding a quotient of at most 1 does not lift it above 1, nor do powers of 2.
        self._share = weight / weight.max() / moved
        self._scales = scales[1:]
        self._rates, self._offsets, self._exponents, self._weights = np.empty((4, len(self.candidates)))
        self._blocks = np.empty(-(-len(self.candidates) // kernels.BLOCK))
        self._state = np.zeros(2)
        self._parameters = (0.0, 0.0)

    def choose(
        self,
        norms: NDArray[np.int64],
        touched: list[NDArray[np.int64]],
        epsilon_select: float,
        sigma2: float,
        uniform: Uniform,
    ) -> int:
        """The place of a candidate, drawn with probability ∝ exp(ε · score / (2 Δ)).

        `norms` are the L1 distances at all positions of the closure, in their units, `touched` lists the positions
        where they are not what they were at the last call; `uniform` is the random number that decides.
        """
        changed = np.concatenate(touched) if touched else _TOTAL
        if self._parameters != (epsilon_select, sigma2):
            self._parameters = epsilon_select, sigma2
            changed = _ALL
            rates = epsilon_select / 2 * self._share
            self._rates[:] = rates / self._scales
            self._offsets[:] = rates * (sqrt(2 / pi * sigma2) * self._cells)
        kernels.weigh(
            norms, self._rates, self._offsets, self._exponents, self._weights, self._blocks, changed, self._state
        )
        index = kernels.choose(self._weights, self._blocks, (uniform.number >> 11) * 2.0**-53, self._state[1])
        return index if index >= 0 else self._decide(norms, uniform)

    def _decide(self, norms: NDArray[np.int64], uniform: Uniform) -> int:
        """The choice in exact arithmetic."""
        known = zip(self._rates.tolist(), norms[1:].tolist(), self._offsets.tolist(), strict=True)
        return exact.choose(uniform, [Fraction(rate) * norm - Fraction(offset) for rate, norm, offset in known])
