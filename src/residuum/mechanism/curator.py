"""The wall: the curator holds the true counts, and every number that leaves it is noised and was charged first."""

from collections.abc import Iterable, Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from residuum.core.domain import Clique
from residuum.core.grem import NoisyMarginal, NoisyResidual
from residuum.core.residuals import decompose
from residuum.data.counts import Counts
from residuum.data.differences import Differences
from residuum.privacy.ledger import Ledger
from residuum.privacy.selection import Selection
from residuum.privacy.simulator import Simulator


class Curator:
    """Measures residuals and marginals of a table, for a price that is charged first."""

    def __init__(self, truth: Counts | Differences, ledger: Ledger, noise: Simulator) -> None:
        self.ledger = ledger
        self._truth = truth
        self._domain = truth.workload.domain
        self._noise = noise

    def measure(self, sigma2: Mapping[Clique, float]) -> list[NoisyResidual]:
        """Residuals with noise N(0, σ² V_τ), for the price of Σ p_τ / (2 σ²_τ), charged before the first is drawn.

        Paper: Alg. 5 (MeasureResidual), Prop. 4.3.
        """
        self.ledger.charge_gaussians([(tau, self._p(tau), variance) for tau, variance in sigma2.items()])
        return [
            NoisyResidual(tau, decompose(self._noisy(tau, variance), tau, tau), variance)
            for tau, variance in sigma2.items()
        ]

    def measure_marginal(self, gamma: Clique, sigma2: float) -> NoisyMarginal:
        """A marginal with independent noise N(0, σ²) in each cell, for the price of 1 / (2 σ²)."""
        self.ledger.charge_gaussians([(gamma, (1, 1), sigma2)])
        return NoisyMarginal(gamma, self._noisy(gamma, sigma2), sigma2)

    def _noisy(self, gamma: Clique, sigma2: float) -> NDArray[np.float64]:
        return self._truth.marginal(gamma) + self._noise.gaussian(self._domain.shape(gamma), sigma2)

    def _p(self, tau: Clique) -> tuple[int, int]:
        """p_τ, the squared sensitivity of a residual, as an exact fraction."""
        sizes = self._domain.shape(tau)
        return prod(n - 1 for n in sizes), prod(sizes)


class AdaptiveCurator(Curator):
    """A curator that can also tell which marginal is worst known.

    For that it must `follow` how the estimates move. What it concludes stays inside, but for what `select` draws.
    """

    def __init__(self, differences: Differences, ledger: Ledger, noise: Simulator) -> None:
        super().__init__(differences, ledger, noise)
        self._differences = differences
        self._selection = Selection(differences.workload)
        self._touched: list[NDArray[np.int64]] = []

    def select(self, epsilon_select: float, sigma2: float) -> Clique:
        """A clique whose marginal is badly known, drawn with the exponential mechanism.

        Paper: Alg. 4, line 8. `sigma2` is the noise that a measurement would have. Charges ε²/8.
        """
        self.ledger.charge_exponential(epsilon_select)
        touched, self._touched = self._touched, []
        return self._selection.choose(
            self._differences.distances, touched, epsilon_select, sigma2, self._noise.uniform()
        )

    def follow(self, steps: Iterable[tuple[Clique, NDArray[np.float64]]]) -> None:
        """Take note that the estimates of residuals moved by these steps. Paper: Alg. 4, line 13."""
        self._touched += self._differences.follow(steps)
