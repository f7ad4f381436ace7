"""What was measured of single attributes and of pairs, laid out as one vector and one matrix."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from residuum import kernels
from residuum.core.checks import Array
from residuum.core.grem import Estimates
from residuum.estimate.mixture import Floats, starts
from residuum.estimate.nonnegative import to_simplex
from residuum.estimate.reference import total_of

_MOST_WEIGHT = 2.0**56
"""Fitting squares sums of weighted differences, and single precision ends at 2^127. Nor are shares in it more exact."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The noisy residuals over one and two attributes, centred, as shares of the total; a zero weight is no evidence.

    The values of all attributes stand in one row, Σ n_i of them. The squared distance of a residual from another, in
    the norm that its noise suggests, is that of the centred arrays: so the likelihood is a weighted sum of squares.
    """

    sizes: tuple[int, ...]
    total: float
    singles: Floats
    """Of shape (Σ n_i,)."""
    singles_weight: Floats
    """The precision of each, in shares: of shape (Σ n_i,), the same for all values of an attribute."""
    pairs: Floats
    """Of shape (Σ n_i, Σ n_i), symmetric; zero between values of one attribute."""
    pairs_weight: Floats
    """Of shape (Σ n_i, Σ n_i), symmetric, the same for all values of a pair."""

    @classmethod
    def of(cls, estimates: Estimates) -> "Evidence":
        """What the estimates hold.

        >>> from residuum import Domain, NoisyMarginal, Workload
        >>> workload = Workload.all_kway(Domain({"age": 3, "sex": 2}), 2)
        >>> evidence = Evidence.of(Estimates(workload, [NoisyMarginal((0,), [20, 30, 50], sigma2=1.0)]))
        >>> evidence.total, evidence.singles.astype(float).round(3).tolist()
        (100.0, [-0.133, -0.033, 0.167, 0.0, 0.0])
        """
        domain = estimates.workload.domain
        total = total_of(estimates)
        begin, values = starts(domain.sizes), sum(domain.sizes)
        singles, singles_weight = np.zeros((2, values), dtype=np.float32)
        pairs, pairs_weight = np.zeros((2, values, values), dtype=np.float32)
        for tau in estimates.workload.closure:
            precision = estimates.precision(tau)
            if len(tau) not in (1, 2) or precision == 0:
                continue
            centred = kernels.center_all(estimates.residual(tau)) / total
            weight = min(precision * total**2, _MOST_WEIGHT)
            places = [slice(begin[i], begin[i] + domain.sizes[i]) for i in tau]
            if len(tau) == 1:
                singles[places[0]], singles_weight[places[0]] = centred, weight
            else:
                first, second = places
                pairs[first, second], pairs[second, first] = centred, centred.T
                pairs_weight[first, second] = pairs_weight[second, first] = weight
        return cls(domain.sizes, total, singles, singles_weight, pairs, pairs_weight)

    @cached_property
    def numbers(self) -> int:
        """How many independent numbers were measured."""
        begin = starts(self.sizes)
        free = np.array(self.sizes) - 1
        known = self.pairs_weight[np.ix_(begin, begin)] > 0
        return int(free[self.singles_weight[begin] > 0].sum()) + int((np.outer(free, free) * known).sum()) // 2

    @cached_property
    def shares(self) -> Array:
        """What the single attributes alone say, non-negative: of shape (Σ n_i,)."""
        parts = np.split(self.singles.astype(np.float64), starts(self.sizes)[1:])
        return np.concatenate([to_simplex(part + 1 / len(part), 1.0) for part in parts])

    def noise(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Noise like that in the measurements, drawn anew: for the singles and, symmetric, for the pairs."""
        values = len(self.singles)
        upper = np.triu(rng.standard_normal((values, values), dtype=np.float32), 1)
        single = self.centre(rng.standard_normal(values, dtype=np.float32))
        pair = self.centre(self.centre(upper + upper.T).T)
        return single * _deviation(self.singles_weight), pair * _deviation(self.pairs_weight)

    def shifted(self, noise: tuple[Floats, Floats], by: float) -> "Evidence":
        """The same with noise added, so many times."""
        return replace(self, singles=self.singles + by * noise[0], pairs=self.pairs + by * noise[1])

    def centre(self, rows: Floats) -> Floats:
        """The rows with the mean over each attribute taken away. Of any shape (..., Σ n_i)."""
        begin, sizes = starts(self.sizes), np.array(self.sizes)
        means = np.add.reduceat(rows, begin, axis=-1) / sizes.astype(np.float32)
        return np.asarray(rows - np.repeat(means, sizes, axis=-1), dtype=np.float32)


def _deviation(weight: NDArray[np.float32]) -> Floats:
    """The standard deviation that belongs to a precision; 0 where there is none."""
    return np.divide(1, np.sqrt(weight), out=np.zeros_like(weight), where=weight > 0)
