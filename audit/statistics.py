"""Lower bounds on ε from counts, and the exact ε of a Gaussian measurement.

An (ε, δ)-private program gives every event a probability P on one table and Q on a neighbour with P <= e^ε Q + δ. So
ε >= log((P - δ) / Q), and confidence bounds of P and Q give one of ε. The event is that a statistic passes a threshold.
What the statistic assumes does not matter for the bound to hold, only for how close it comes: a program that does
something else can raise the bound and cannot hide behind the assumption.
"""

from dataclasses import dataclass
from math import exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import beta, norm

Floats = NDArray[np.float64]

CONFIDENCE = 0.95

_CHOOSING = 5
"""One in so many runs serves to choose the event; only the others are counted."""

_THRESHOLDS = 1000


@dataclass(frozen=True, slots=True)
class Event:
    """That a statistic is at least a threshold, which speaks for the first table; or below it, for the second."""

    threshold: float
    above: bool

    def bound(self, first: Floats, second: Floats, delta: float) -> float:
        """The lower bound on ε that counting this event in runs on both tables gives."""
        there, elsewhere = (first, second) if self.above else (second, first)
        happened = [int(np.count_nonzero((sample >= self.threshold) == self.above)) for sample in (there, elsewhere)]
        return float(epsilon_at_least(happened[0], len(there), happened[1], len(elsewhere), delta))


def lower_bound(first: Floats, second: Floats, delta: float) -> float:
    """A 95% lower bound on ε at δ, from a statistic of runs on one table and of runs on a neighbour.

    The statistic should be large where the first table is the likelier one. The event is chosen on a fifth of the runs
    and counted on the others, so that the choice does not flatter the bound.
    """
    cut = len(first) // _CHOOSING, len(second) // _CHOOSING
    event = best_event(first[: cut[0]], second[: cut[1]], delta)
    return max(0.0, event.bound(first[cut[0] :], second[cut[1] :], delta))


def best_event(first: Floats, second: Floats, delta: float) -> Event:
    """The event that gives the largest bound on these runs."""
    thresholds = np.unique(np.quantile(np.concatenate([first, second]), np.linspace(0, 1, _THRESHOLDS)))
    below_first, below_second = (np.searchsorted(np.sort(sample), thresholds) for sample in (first, second))
    n, m = len(first), len(second)
    above = epsilon_at_least(n - below_first, n, m - below_second, m, delta)
    below = epsilon_at_least(below_second, m, below_first, n, delta)
    if above.max() >= below.max():
        return Event(float(thresholds[above.argmax()]), above=True)
    return Event(float(thresholds[below.argmax()]), above=False)


def epsilon_at_least(happened: NDArray | int, runs: int, elsewhere: NDArray | int, others: int, delta: float) -> Floats:
    """The 95% lower bound on ε where an event happened so often in `runs`, and `elsewhere` in the `others`.

    Clopper and Pearson's bounds, each of the two with half of the 5%. Minus infinity where nothing follows.
    """
    least = at_least(happened, runs) - delta
    most = at_most(elsewhere, others)
    return np.log(least / most, out=np.full(np.shape(least), -np.inf), where=least > 0)


def at_least(happened: NDArray | int, runs: int) -> Floats:
    """The lower confidence bound of the probability of what happened so often."""
    count = np.asarray(happened, dtype=np.float64)
    low = beta.ppf((1 - CONFIDENCE) / 2, np.maximum(count, 1), runs - count + 1)
    return np.where(count > 0, low, 0.0)


def at_most(happened: NDArray | int, runs: int) -> Floats:
    """The upper confidence bound of the probability of what happened so often."""
    return 1 - at_least(runs - np.asarray(happened), runs)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The exact δ at ε of a Gaussian measurement whose mean one person moves by μ standard deviations.

    Balle and Wang 2018, theorem 5.
    """
    return float(norm.cdf(mu / 2 - epsilon / mu) - exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The exact ε at δ of such a measurement."""
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    root: Any = brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, mu * (mu + 40))
    return float(root)


def discrete_epsilon(move: NDArray[np.int64], sigma2: float, delta: float) -> float:
    """The exact ε at δ of whole numbers with discrete Gaussian noise of parameter σ², which one person moves by `move`.

    Canonne, Kamath and Steinke 2020, theorem 7, added up. Where σ is a few units it is not that of the continuous
    Gaussian. The loss at y is (<y, move> - ‖move‖² / 2) / σ², so only the chances of the product count.
    """
    reach = int(12 * sqrt(sigma2)) + 1
    x = np.arange(-reach, reach + 1)
    noise = np.exp(-(x**2) / (2 * sigma2))
    noise /= noise.sum()
    chances = np.ones(1)
    for step in np.abs(move[move != 0]).tolist():
        spread = np.zeros((x.size - 1) * step + 1)
        spread[::step] = noise
        chances = np.convolve(chances, spread)
    square = int((move**2).sum())
    product = np.arange(chances.size) - chances.size // 2
    loss = (product + square / 2) / sigma2  # where the person is: the product has moved by `square`

    def excess(epsilon: float) -> float:
        return float((chances * -np.expm1(np.minimum(epsilon - loss, 0.0))).sum()) - delta

    if excess(0.0) <= 0:
        return 0.0
    root: Any = brentq(excess, 0.0, float(loss.max()))
    return float(root)
