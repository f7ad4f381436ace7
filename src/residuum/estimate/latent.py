"""Latent classes: mixtures of products that are most likely to have given the noisy residuals, several of them.

The model of all pairs is one matrix product, so a step of the fit costs two, whatever was measured: residuals over one
and two attributes make up the likelihood, each weighted by its precision. Three things keep it from seeing what
is not there, and none of them looks at the truth:

- every class starts near the product of the single attributes, and is drawn back there (`_PULL`), so that
  dependence which nobody measured does not appear;
- members start from different places and are fitted to the measurements with their noise added once more, so what
  only the noise says differs between them and averages out; what remains apart is a measure of ignorance;
- the number of classes is the one that best predicts measurements it was not fitted to: Gaussian noise can be taken
  apart into two independent measurements, one to fit and one to judge by.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from residuum.core.grem import Estimates
from residuum.estimate.evidence import Evidence
from residuum.estimate.mixture import Floats, Mixture, starts
from residuum.estimate.reference import independent
from residuum.kernels import threads

Watch = Callable[[float], None]

MEMBERS, _FEWEST = 16, 4
_MOST_WORK = 1.6e13
"""About how many operations a fit may take: some five minutes on two cores. Wide tables have less of everything."""
_CLASSES = (32, 64, 128)
"""The numbers of classes that are tried, until one is no better than the one before."""
_SPREAD = 0.7
"""How far apart classes start: the standard deviation of their logits."""
_PULL = 0.3
"""How strongly a class is drawn back to where it started: the precision of a normal prior for its logits."""
_RATE, _FADING, _FADING2 = 0.05, 0.9, 0.999
"""Adam's step size and the memory of its two averages."""
_STRIDE = 50
_MOST_STEPS = 1000
_WORTHWHILE = 0.005
"""The fit ends when a stride lowers the loss by no more than this for each number measured."""
_APART = 0.5
"""How the noise is shared when measurements are taken apart: the variance for fitting is larger by this factor."""
MOST_VALUES = 1 << 13
"""Beyond this many values of all attributes together, the matrix of all pairs is too large."""
_MOST_LEARNING = 2e12
"""About how many operations go into learning while measurements come in."""
_LEARNERS, _LEARNT_CLASSES, _FIRST_STEPS, _STEPS = 2, 48, 60, 20
"""A model that is only to tell what is worst known does with few members, classes and steps."""


def fit(
    estimates: Estimates,
    *,
    classes: int | None = None,
    members: int | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> Mixture:
    """Mixtures of products fitted to noisy residuals by maximum likelihood; their average is the estimate.

    Where the attributes have more than 8,192 values together, it is the product of the single ones instead, because the
    matrix of all pairs would not fit. `classes` is the number of classes of each; by default it is chosen by what
    predicts best. There are 16 `members`, or fewer for wide tables. The outcome depends on the estimates and the seed
    alone. `watch` is told the share that is done.

    >>> from residuum import Domain, NoisyMarginal, Workload
    >>> workload = Workload.all_kway(Domain({"age": 3, "sex": 2}), 2)
    >>> noisy = NoisyMarginal((0, 1), [[100, 0], [0, 100], [50, 50]], sigma2=1.0)
    >>> fit(Estimates(workload, [noisy]), classes=8, members=4).marginal((0, 1)).round(-1) + 0.0
    array([[100.,   0.],
           [  0., 100.],
           [ 50.,  50.]])
    """
    if not fits(estimates):
        return independent(estimates)
    evidence, effort = Evidence.of(estimates), Effort.of(sum(estimates.workload.domain.sizes))
    members = members or effort.members
    seeds = np.random.SeedSequence(seed).spawn(members + 1)
    with threads.one_for_blas():
        chosen = classes or _number_of_classes(evidence, effort, seeds[-1], watch)
        done = iter(range(1, members + 1))

        def member(sequence: np.random.SeedSequence) -> Fit:
            rng = np.random.default_rng(sequence)
            fitted = Fit.start(evidence.shifted(evidence.noise(rng), 1.0), chosen, rng).converge(effort.steps)
            if watch:
                watch(next(done) / members)
            return fitted

        members_fitted = threads.run(member, seeds[:-1])
    return joined(members_fitted, evidence.total)


def fits(estimates: Estimates) -> bool:
    """Whether latent classes can be fitted: whether a matrix over all values of all attributes fits in memory.

    >>> from residuum import Domain, Workload
    >>> fits(Estimates(Workload.all_kway(Domain({"age": 3, "sex": 2}), 2)))
    True
    """
    return sum(estimates.workload.domain.sizes) <= MOST_VALUES


class Learner:
    """Latent classes that learn while measurements come in, from where they were before.

    >>> from residuum import Domain, NoisyMarginal, Workload
    >>> noisy = [NoisyMarginal((0,), [20, 30, 50], sigma2=1.0), NoisyMarginal((1,), [90, 10], sigma2=1.0)]
    >>> estimates = Estimates(Workload.all_kway(Domain({"age": 3, "sex": 2}), 2), noisy)
    >>> Learner().learn(estimates).marginal((1,)).round(-1)
    array([90., 10.])
    """

    def __init__(self) -> None:
        self._members: list[Fit] = []

    def learn(self, estimates: Estimates) -> Mixture:
        """The model for what is known now."""
        evidence, steps = Evidence.of(estimates), _STEPS
        if not self._members:
            steps = _FIRST_STEPS
            rngs = map(np.random.default_rng, range(_LEARNERS))
            self._members = [Fit.start(evidence, _LEARNT_CLASSES, rng) for rng in rngs]
        for member in self._members:
            member.evidence = evidence
        threads.run(lambda member: member.step(steps), self._members)
        return joined(self._members, evidence.total)


def affordable_refits(values: int) -> int:
    """How often a `Learner` may learn in a run, by how many values all attributes have together: for a minute, say.

    >>> affordable_refits(250) > 1000, affordable_refits(8000)
    (True, 8)
    """
    a_time = 4 * values**2 * _LEARNT_CLASSES * _STEPS * _LEARNERS
    return max(8, int(_MOST_LEARNING / a_time))


def joined(fits: "list[Fit]", total: float) -> Mixture:
    """The average of several fits."""
    weights, shares = zip(*(fitted.model() for fitted in fits), strict=True)
    return Mixture(fits[0].evidence.sizes, total, np.stack(weights), np.stack(shares))


@dataclass(slots=True)
class Fit:
    """One mixture on its way to the measurements: the logits of its classes, and Adam's two averages of gradients."""

    evidence: Evidence
    anchor: Floats
    """Where the logits started, of shape (classes, Σ n_i)."""
    logits: list[Floats]
    """Of the values in each class, of shape (classes, Σ n_i), and of the classes, of shape (classes,)."""
    steps: int = 0
    loss: float = np.inf
    """Minus the logarithm of likelihood and prior, before the last step."""
    _first: list[Floats] = field(init=False, repr=False)
    _second: list[Floats] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._first = [np.zeros_like(part) for part in self.logits]
        self._second = [np.zeros_like(part) for part in self.logits]

    @classmethod
    def start(cls, evidence: Evidence, classes: int, rng: np.random.Generator) -> "Fit":
        """Classes around the product of the single attributes."""
        least = 0.5 / evidence.total
        base = np.log(np.maximum(evidence.shares, least)).astype(np.float32)
        anchor: Floats = rng.standard_normal((classes, len(base)), dtype=np.float32)
        anchor *= _SPREAD
        anchor += base
        return cls(evidence, anchor, [anchor.copy(), np.zeros(classes, dtype=np.float32)])

    def model(self) -> tuple[Floats, Floats]:
        """The weights of the classes, and the shares of the values in each."""
        values, classes = self.logits
        begin, sizes = starts(self.evidence.sizes), self.evidence.sizes
        shares = np.exp(values - np.repeat(np.maximum.reduceat(values, begin, axis=1), sizes, axis=1))
        shares /= np.repeat(np.add.reduceat(shares, begin, axis=1), sizes, axis=1)
        weights = np.exp(classes - classes.max())
        return weights / weights.sum(), shares

    def converge(self, most: int = _MOST_STEPS) -> "Fit":
        """Step until it is not worth while any more, or for so many steps."""
        before = np.inf
        while self.steps < most and not before - self.loss <= _WORTHWHILE * self.evidence.numbers:
            before = self.loss
            self.step(_STRIDE)
        return self

    def step(self, steps: int) -> "Fit":
        """So many steps of Adam towards the measurements."""
        for _ in range(steps):
            self.steps += 1
            bias, bias2 = 1 - _FADING**self.steps, 1 - _FADING2**self.steps
            for part, slope, first, second in zip(self.logits, self._slopes(), self._first, self._second, strict=True):
                first += (1 - _FADING) * (slope - first)
                second += (1 - _FADING2) * (slope * slope - second)
                part -= _RATE / bias * first / (np.sqrt(second / bias2) + 1e-12)
        return self

    def _slopes(self) -> tuple[Floats, Floats]:
        """The gradient of the loss for the logits of values and of classes.

        With centred shares C and weights w, the centred pairs of the model are Cᵀ diag(w) C.
        """
        evidence = self.evidence
        begin, sizes = starts(evidence.sizes), evidence.sizes
        weights, shares = self.model()
        centred: Floats = shares - np.repeat(1 / np.array(sizes, dtype=np.float32), sizes).astype(np.float32)
        off = centred.T @ (weights[:, None] * centred)
        off -= evidence.pairs
        pull = off * evidence.pairs_weight
        off1 = weights @ centred - evidence.singles
        pull1 = off1 * evidence.singles_weight
        away = self.logits[0] - self.anchor
        self.loss = (
            0.25 * float(np.vdot(off, pull)) + 0.5 * float(off1 @ pull1) + 0.5 * _PULL * float(np.vdot(away, away))
        )
        slope: Floats = np.matmul(centred, pull)
        slope += pull1
        by_class = 0.5 * np.einsum("ks,ks->k", centred, slope + pull1)
        slope *= weights[:, None]
        slope -= np.repeat(np.add.reduceat(slope * shares, begin, axis=1), sizes, axis=1)
        slope *= shares
        slope += np.float32(_PULL) * away
        return slope, weights * (by_class - weights @ by_class)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much goes into a fit, by how many values all attributes have together.

    >>> Effort.of(250), Effort.of(8000)
    (Effort(members=16, classes=(32, 64, 128), steps=1000), Effort(members=4, classes=(32,), steps=488))
    """

    members: int
    classes: tuple[int, ...]
    """The numbers of classes that are tried."""
    steps: int

    @classmethod
    def of(cls, values: int) -> "Effort":
        """A step takes two products with a matrix of that width, for each class."""
        affordable = _MOST_WORK / (4 * values**2)
        classes = tuple(k for k in _CLASSES if k * _MOST_STEPS * _FEWEST <= affordable) or _CLASSES[:1]
        members = min(MEMBERS, max(_FEWEST, int(affordable / (classes[-1] * _MOST_STEPS))))
        return cls(members, classes, min(_MOST_STEPS, int(affordable / (classes[-1] * members))))


def _number_of_classes(
    evidence: Evidence, effort: Effort, sequence: np.random.SeedSequence, watch: Watch | None
) -> int:
    """The number of classes that predicts best what it was not fitted to.

    With noise e like that of a measurement z, z + √a e and z - e / √a are independent measurements of the same.
    """
    rng = np.random.default_rng(sequence)
    noise = evidence.noise(rng)
    seen, unseen = evidence.shifted(noise, sqrt(_APART)), evidence.shifted(noise, -1 / sqrt(_APART))
    best, chosen = np.inf, effort.classes[0]
    for classes in effort.classes:
        fitted = Fit.start(seen, classes, rng).converge(effort.steps)
        loss = _misfit(unseen, fitted)
        if loss >= best - _WORTHWHILE * evidence.numbers:
            break
        best, chosen = loss, classes
        if watch:
            watch(0.0)
    return chosen


def _misfit(evidence: Evidence, fitted: Fit) -> float:
    """Minus the logarithm of the likelihood of measurements."""
    weights, shares = fitted.model()
    centred = evidence.centre(shares)
    off = centred.T @ (weights[:, None] * centred) - evidence.pairs
    off1 = weights @ centred - evidence.singles
    return 0.25 * float(np.vdot(off, off * evidence.pairs_weight)) + 0.5 * float(
        off1 @ (off1 * evidence.singles_weight)
    )
