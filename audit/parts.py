"""The two verbs of the curator by themselves: measuring, whose exact ε is known, and selecting, whose chances are."""

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chisquare, poisson

from audit.finding import Finding
from audit.likelihood import Floats, Likelihood
from audit.statistics import discrete_epsilon, lower_bound
from audit.tables import Pair
from residuum.core import zcdp
from residuum.data.counts import Counts
from residuum.data.differences import Differences
from residuum.mechanism.curator import AdaptiveCurator, Curator
from residuum.privacy.ledger import Ledger
from residuum.privacy.noise import Noise, SystemNoise

MU = 1.0
"""By how many standard deviations of the noise one person moves what is measured. It makes ρ = μ² / 2."""

_SUSPICIOUS = 1e-5
"""The chance of a deviation of frequencies from their probabilities below which it is taken for a fault."""

_UNFIT = "other frequencies than claimed"

_PLENTY = 2.0**20
"""A budget for all the runs of one audit: each is an audit of one answer."""


def measuring(pair: Pair, runs: int, delta: float, noise: Callable[[], Noise] = SystemNoise) -> Finding:
    """Measure the residual over all attributes; the person moves it by as much as one can."""
    tau = pair.workload.closure[-1]
    numerator, denominator = pair.neighbours.sensitivity2(pair.sizes)
    sigma2 = numerator / denominator / MU**2
    likelihood = Likelihood(pair)

    def statistic(counts: Counts) -> Floats:
        curator = Curator(counts, Ledger(_PLENTY), noise(), pair.neighbours)
        return np.array(
            [
                likelihood.of_measurement(tau, curator.measure({tau: sigma2})[0].values.reshape(-1), sigma2)
                for _ in range(runs)
            ]
        )

    exact = discrete_epsilon(likelihood.move(tau), sigma2 * prod(pair.sizes) ** 2, delta)
    return _of_gaussian(f"residual {_shape(pair)}", pair, statistic, exact, runs, delta)


def measuring_marginal(pair: Pair, runs: int, delta: float) -> Finding:
    """Measure the marginal over all attributes with independent noise."""
    gamma = pair.workload.closure[-1]
    sigma2 = pair.neighbours.moved / MU**2
    first, second = (counts.marginal(gamma).astype(np.float64) for counts in pair.counts)

    def statistic(counts: Counts) -> Floats:
        curator = Curator(counts, Ledger(_PLENTY), SystemNoise(), pair.neighbours)
        noisy = np.array([curator.measure_marginal(gamma, sigma2).values for _ in range(runs)])
        return ((noisy - (first + second) / 2) * (first - second)).reshape(runs, -1).sum(axis=1) / sigma2

    exact = discrete_epsilon(np.rint(first - second).astype(np.int64), sigma2, delta)
    return _of_gaussian(f"marginal {_shape(pair)}", pair, statistic, exact, runs, delta)


def _of_gaussian(
    what: str, pair: Pair, statistic: Callable[[Counts], Floats], exact: float, runs: int, delta: float
) -> Finding:
    first, second = map(statistic, pair.counts)
    claimed = zcdp.epsilon_of(MU**2 / 2, delta)
    return Finding(f"{what}, {pair.relation}", runs, delta, claimed, lower_bound(first, second, delta), exact)


def selecting(
    pair: Pair,
    runs: int,
    epsilon: float,
    noise: Callable[[], Noise] = SystemNoise,
    *,
    told: bool = False,
    planted: str = "",
) -> Finding:
    """Select when the total and the single attributes are known as they are in the second table.

    The curator follows how the estimates came about, or is told what they are. The exponential mechanism is private at
    δ = 0 as well, with the ε it was asked for.
    """
    likelihood = Likelihood(pair)
    sigma2 = 1.0
    known = {tau: likelihood.residual(tau) for tau in pair.workload.closure if len(tau) < 2}
    estimate = likelihood.estimate(known)
    logs = likelihood.log_probabilities(estimate, epsilon, sigma2)
    places = {gamma: k for k, gamma in enumerate(pair.workload.closure[1:])}

    def choices(counts: Counts) -> NDArray[np.int64]:
        differences = Differences(counts, pair.workload, sigma=1.0)
        curator = AdaptiveCurator(differences, Ledger(_PLENTY), noise(), pair.neighbours)
        if told:
            curator.compare(likelihood.marginals(estimate).items())
        else:
            curator.follow((tau, z.reshape([pair.sizes[i] - 1 for i in tau])) for tau, z in known.items())
        return np.array([places[curator.select(epsilon, sigma2)] for _ in range(runs)])

    chosen = [choices(counts) for counts in pair.counts]
    ratio = logs[0] - logs[1]
    right = [fits(np.bincount(choice, minlength=ratio.size), p) for choice, p in zip(chosen, np.exp(logs), strict=True)]
    bound = lower_bound(ratio[chosen[0]], ratio[chosen[1]], delta=0.0)
    exact = float(np.abs(ratio).max())
    what = f"{'planted: ' + planted if planted else 'selection, told' if told else 'selection'}, {pair.relation}"
    return Finding(what, runs, 0.0, epsilon, bound, exact, bool(planted), fault="" if all(right) else _UNFIT)


def fits(counts: NDArray[np.int64], probabilities: Floats) -> bool:
    """Whether frequencies agree with probabilities: by chi-square over what is expected at least five times.

    What is rarer is counted together, and must not come up more often than a Poisson variable may.
    """
    expected = probabilities * counts.sum()
    often = expected >= 5
    rare = poisson.sf(counts[~often].sum() - 1, expected[~often].sum())
    due = expected[often] / expected[often].sum() * counts[often].sum()
    return bool(min(rare, chisquare(counts[often], due).pvalue) > _SUSPICIOUS)


def _shape(pair: Pair) -> str:
    return " × ".join(map(str, pair.sizes))
