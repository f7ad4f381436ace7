"""The wall: the curator holds the true counts, and every number that leaves it is noised and was charged first."""

from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residuum import kernels
from residuum.core.domain import Clique
from residuum.core.grem import NoisyMarginal, NoisyResidual
from residuum.core.neighbours import ADD_REMOVE, Neighbours
from residuum.data.counts import Counts
from residuum.data.differences import Differences
from residuum.errors import WorkloadError
from residuum.mechanism.journal import Arrays, Journal
from residuum.privacy.ledger import Ledger
from residuum.privacy.noise import Noise
from residuum.privacy.selection import Selection

PUBLIC = 2.0**-100
"""The variance to give a number that is public: so small that no measurement outweighs it."""

_MOST_CELLS = 2**31
"""Of a residual: a count below 2³¹ times this has a place among 64-bit integers."""


class Curator:
    """Measures residuals and marginals of a table, for a price that is charged first.

    With a journal, what was answered before is not drawn again.
    """

    def __init__(
        self,
        truth: Counts | Differences,
        ledger: Ledger,
        noise: Noise,
        neighbours: Neighbours = ADD_REMOVE,
        journal: Journal | None = None,
    ) -> None:
        self.ledger = ledger
        self.neighbours = neighbours
        self._truth = truth
        self._domain = truth.workload.domain
        self._noise = noise
        self._journal = journal

    def measure(self, sigma2: Mapping[Clique, float]) -> list[NoisyResidual]:
        """Residuals with noise N(0, σ² V_τ), for the price of Σ p_τ / (2 σ²_τ), charged before the first is drawn.

        Paper: Alg. 5 (MeasureResidual), Prop. 4.3. The total is told as it is where neighbours have the same number of
        rows. The noise is discrete: docs/privacy.md says how, and what that costs.
        """
        sensitivities = {tau: self.neighbours.sensitivity2(self._domain.shape(tau)) for tau in sigma2}
        sigma2 = {tau: variance if sensitivities[tau][0] else PUBLIC for tau, variance in sigma2.items()}
        noisy = [tau for tau in sigma2 if sensitivities[tau][0]]
        for tau in noisy:
            if self._domain.size(tau) > _MOST_CELLS:
                raise WorkloadError(f"The marginal over {self._domain.name(tau)} has too many cells to be measured.")
        self.ledger.charge_gaussians([(tau, sensitivities[tau], sigma2[tau]) for tau in noisy])
        question = {"measure": [[list(tau), variance] for tau, variance in sigma2.items()]}
        values = self._once(
            question,
            len(noisy),
            lambda: [self._residual(tau, variance if tau in noisy else None) for tau, variance in sigma2.items()],
        )
        return [NoisyResidual(tau, z, sigma2[tau]) for tau, z in zip(sigma2, values, strict=True)]

    def measure_marginal(self, gamma: Clique, sigma2: float) -> NoisyMarginal:
        """A marginal with independent noise of variance σ² in each cell, for the price of 1 / (2 σ²).

        Where a row is replaced two cells change, and the price is twice that.
        """
        self.ledger.charge_gaussians([(gamma, (self.neighbours.moved, 1), sigma2)])
        question = {"measure marginal": [list(gamma), sigma2]}
        (values,) = self._once(question, 1, lambda: [self._noisy(gamma, sigma2).astype(np.float64)])
        return NoisyMarginal(gamma, values, sigma2)

    def _residual(self, tau: Clique, sigma2: float | None) -> NDArray[np.float64]:
        """A residual with noise, or as it is.

        What is measured is the centred marginal, times the number of its cells, which makes it whole; `difference`
        gives the same of it as of the marginal itself, so centring can be left out.
        """
        if sigma2 is None:
            return kernels.difference(self._truth.marginal(tau).astype(np.int64), 1)
        scale = prod(self._domain.shape(tau))
        return kernels.difference(self._noisy(tau, sigma2, scale), scale)

    def _noisy(self, gamma: Clique, sigma2: float, scale: int = 1) -> NDArray[np.int64]:
        noise = self._noise.gaussian(self._domain.shape(gamma), sigma2, scale)
        noise += (
            self._truth.marginal(gamma).astype(np.int64) * scale
        )  # 32 bits would wrap around before the noise is in
        return noise

    def _once(self, question: dict[str, Any], draws: int, draw: Callable[[], Arrays]) -> Arrays:
        if self._journal is None:
            return draw()
        if self._journal.recalling:
            self._noise.skip(draws)
        return self._journal.once(question, draw)


class AdaptiveCurator(Curator):
    """A curator that can also tell which marginal is worst known.

    For that it must `follow` how the estimates move, or `compare` with what they are. What it concludes stays inside,
    but for what `select` draws.
    """

    def __init__(
        self,
        differences: Differences,
        ledger: Ledger,
        noise: Noise,
        neighbours: Neighbours = ADD_REMOVE,
        journal: Journal | None = None,
    ) -> None:
        super().__init__(differences, ledger, noise, neighbours, journal)
        self._differences = differences
        self._selection = Selection(differences.workload, differences.scales, neighbours.moved)
        self._touched: list[NDArray[np.int64]] = []

    def select(self, epsilon_select: float, sigma2: float) -> Clique:
        """A clique whose marginal is badly known, drawn with the exponential mechanism.

        Paper: Alg. 4, line 8. `sigma2` is the noise that a measurement would have. Charges ε²/8.
        """
        self.ledger.charge_exponential(epsilon_select)
        (chosen,) = self._once(
            {"select": [epsilon_select, sigma2]}, 1, lambda: [np.array(self._choose(epsilon_select, sigma2))]
        )
        return self._selection.candidates[int(chosen)]

    def _choose(self, epsilon_select: float, sigma2: float) -> int:
        touched, self._touched = self._touched, []
        return self._selection.choose(self._differences.norms, touched, epsilon_select, sigma2, self._noise.uniform())

    def follow(self, steps: Iterable[tuple[Clique, NDArray[np.float64]]]) -> None:
        """Take note that the estimates of residuals moved by these steps. Paper: Alg. 4, line 13."""
        self._touched += self._differences.follow(steps)

    def compare(self, estimates: Iterable[tuple[Clique, NDArray[np.float64]]]) -> None:
        """Take note that these are now the estimates of marginals, wherever they come from."""
        positions = [self._differences.compare(gamma, mu_hat) for gamma, mu_hat in estimates]
        self._touched.append(np.array(sorted(positions), dtype=np.int64))
