"""GReM-MLE: the most likely marginals under noisy measurements of residuals and marginals, updated lazily.

Paper: section 4.1 (Alg. 3, Theorem 4.1) and 4.2 (Prop. 4.2).
"""

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from math import inf, prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from residuum import kernels
from residuum.core.checks import Array, ascending, finite, positive, real
from residuum.core.domain import Clique
from residuum.core.marginals import Marginals
from residuum.core.residuals import decompose_all, reconstruct_all
from residuum.core.workload import Workload, subsets
from residuum.errors import DomainError, ResiduumError


@dataclass(frozen=True, slots=True, init=False, eq=False)
class NoisyResidual:
    """A residual over `tau` measured with noise N(0, σ² V_τ). `values` has shape (n_i - 1 for i in τ).

    >>> NoisyResidual(tau=(0,), values=[5.2, 8.9, 30.4], sigma2=0.5).sigma2
    0.5
    """

    tau: Clique
    values: Array
    sigma2: float

    def __init__(self, tau: Clique, values: ArrayLike, sigma2: float) -> None:
        object.__setattr__(self, "tau", ascending(tau, "tau"))
        object.__setattr__(self, "values", _values(values, self.tau))
        object.__setattr__(self, "sigma2", positive(sigma2, "sigma2"))

    def residuals(self) -> Iterator["NoisyResidual"]:
        """The measurement as residuals: itself alone."""
        yield self


@dataclass(frozen=True, slots=True, init=False, eq=False)
class NoisyMarginal:
    """A marginal over `gamma` measured with independent noise N(0, σ²) in each cell. Shape (n_i for i in γ).

    >>> noisy = NoisyMarginal(gamma=(0, 1), values=[[7, 5], [3, 5], [10, 2]], sigma2=1.0)
    >>> [(residual.tau, residual.sigma2) for residual in noisy.residuals()]
    [((), 6.0), ((0,), 2.0), ((1,), 3.0), ((0, 1), 1.0)]
    """

    gamma: Clique
    values: Array
    sigma2: float

    def __init__(self, gamma: Clique, values: ArrayLike, sigma2: float) -> None:
        object.__setattr__(self, "gamma", ascending(gamma, "gamma"))
        object.__setattr__(self, "values", _values(values, self.gamma))
        object.__setattr__(self, "sigma2", positive(sigma2, "sigma2"))

    def residuals(self) -> Iterator[NoisyResidual]:
        """The same measurement as independent residuals: summing over an attribute adds up the noise of its values."""
        sizes = dict(zip(self.gamma, self.values.shape, strict=True))
        for tau, z in decompose_all(self.values, self.gamma).items():
            yield NoisyResidual(tau, z, self.sigma2 * prod(n for i, n in sizes.items() if i not in tau))


Measurement = NoisyResidual | NoisyMarginal
_Kept = TypeVar("_Kept")


class Estimates:
    """The state of knowledge about a workload: an estimate and a precision for every residual of its closure.

    Residuals that nobody measured are zero. Marginals named in `held` stay in memory and each measurement updates those
    it touches; any other marginal of the closure is put together from its residuals when asked for.

    >>> from residuum import Domain, Workload
    >>> workload = Workload.all_kway(Domain({"age": 4, "sex": 2}), 2)
    >>> estimates = Estimates(workload, [NoisyMarginal((0,), [14, 19, 23, 44], sigma2=1.0)])
    >>> estimates.marginal((0,))
    array([14., 19., 23., 44.])
    >>> estimates.marginal((1,))
    array([50., 50.])
    """

    def __init__(
        self, workload: Workload, measurements: Iterable[Measurement] = (), *, held: Iterable[Clique] = ()
    ) -> None:
        self.workload = workload
        self._z: MutableMapping[Clique, Array] = {}
        self._precision: MutableMapping[Clique, float] = {}
        self._held = Marginals(workload, held)
        for measurement in measurements:
            self.absorb(measurement)

    @classmethod
    def kept(
        cls, workload: Workload, residuals: Mapping[Clique, Array], precisions: Mapping[Clique, float]
    ) -> "Estimates":
        """The estimates that were kept elsewhere: every residual is fetched from its mapping only when it is needed.

        The mappings are never written to, and must not change: what is absorbed later stays here. Each residual that
        has a precision is an array of its own, writable, of shape (n_i - 1 for i in τ).

        >>> from residuum import Domain, Workload
        >>> workload = Workload.all_kway(Domain({"age": 4, "sex": 2}), 1)
        >>> Estimates.kept(workload, {(): np.array(90.0)}, {(): 0.5}).marginal((1,))
        array([45., 45.])
        """
        if residuals.keys() != precisions.keys():
            raise ResiduumError("Expected a precision for each residual, and a residual for each precision.")
        for tau, precision in precisions.items():
            if not 0 < precision < inf:
                raise ResiduumError(f"Expected a precision above 0 for the residual {tau}, got {precision!r}.")
            workload.require(tau)
        estimates = cls(workload)
        estimates._z, estimates._precision = _over(residuals), _over(precisions)
        return estimates

    def absorb(self, measurement: Measurement) -> dict[Clique, Array]:
        """Take in one measurement: average it in by inverse variance and update the marginals held above it.

        Paper: Alg. 3, line 1, and Prop. 4.2. The part of a marginal that lies outside the closure is left out, because
        it tells nothing about the targets. Returns the steps: how far the estimate of each residual moved.

        >>> from residuum import Domain, Workload
        >>> estimates = Estimates(Workload.all_kway(Domain({"age": 4, "educ": 3}), 2))
        >>> estimates.absorb(NoisyResidual((), 90.0, sigma2=1.0))
        {(): array(90.)}
        >>> estimates.absorb(NoisyResidual((), 100.0, sigma2=0.25))
        {(): array(8.)}
        >>> float(estimates.residual(())), estimates.precision(())
        (98.0, 5.0)
        """
        steps = {}
        for residual in self._fitting(measurement):
            tau, precision = residual.tau, 1 / residual.sigma2
            before = self._z.get(tau, 0.0)
            combined = self._precision.get(tau, 0.0) + precision
            steps[tau] = step = np.asarray((residual.values - before) * (precision / combined))
            self._z[tau], self._precision[tau] = np.asarray(before + step), combined
            if tau in self._held.below:
                self._held.add(tau, kernels.center_all(step))
        return steps

    def residual(self, tau: Clique) -> Array:
        """The estimate of a residual, zero where nobody measured it.

        >>> from residuum import Domain, Workload
        >>> Estimates(Workload.all_kway(Domain({"age": 4, "educ": 3}), 2)).residual((1,))
        array([0., 0.])
        """
        z = self._z.get(self.workload.require(tau))
        return np.zeros(self._residual_shape(tau)) if z is None else z.copy()

    def precision(self, tau: Clique) -> float:
        """The inverse variance λ_τ of a residual's estimate, 0 where nobody measured it.

        >>> from residuum import Domain, Workload
        >>> Estimates(Workload.all_kway(Domain({"age": 4, "educ": 3}), 2)).precision((1,))
        0.0
        """
        return self._precision.get(self.workload.require(tau), 0.0)

    def marginal(self, gamma: Clique) -> Array:
        """The estimate of a marginal of the closure, of shape (n_i for i in γ).

        >>> from residuum import Domain, Workload
        >>> Estimates(Workload.all_kway(Domain({"age": 4, "educ": 3}), 2)).marginal((1,))
        array([0., 0., 0.])
        """
        held = self.workload.require(gamma) in self._held
        return self._held[gamma].copy() if held else self.rebuild(gamma)

    def rebuild(self, gamma: Clique) -> Array:
        """The same as `marginal`, always put together from all its residuals: what the lazy update saves.

        Paper: Alg. 3, line 2.

        >>> from residuum import Domain, Workload
        >>> Estimates(Workload.all_kway(Domain({"age": 4, "educ": 3}), 2)).rebuild((1,))
        array([0., 0., 0.])
        """
        measured = {tau: self._z[tau] for tau in subsets(self.workload.require(gamma)) if tau in self._z}
        return reconstruct_all(measured, gamma, self.workload.domain.shape(gamma))

    def rebuild_into(self, marginals: Marginals) -> None:
        """Overwrite marginals of the closure, put together from all their residuals: each is centred once for all.

        Paper: Alg. 3, line 2.

        >>> from residuum import Domain, Workload
        >>> workload = Workload.all_kway(Domain({"age": 4, "educ": 3}), 2)
        >>> marginals = Marginals(workload, [(1,)])
        >>> Estimates(workload, [NoisyResidual((), 90.0, sigma2=1.0)]).rebuild_into(marginals)
        >>> marginals[(1,)]
        array([30., 30., 30.])
        """
        marginals.clear()
        for tau in self._z:
            if tau in marginals.below:
                marginals.add(tau, kernels.center_all(self._z[tau]))

    def _fitting(self, measurement: Measurement) -> list[NoisyResidual]:
        """The measurement's residuals inside the closure, once it is clear that it fits the domain."""
        domain = self.workload.domain
        if isinstance(measurement, NoisyMarginal):
            expected = domain.shape(domain.clique(measurement.gamma))
        elif isinstance(measurement, NoisyResidual):
            expected = self._residual_shape(self.workload.require(measurement.tau))
        else:
            raise ResiduumError(f"Expected a NoisyResidual or a NoisyMarginal, got {type(measurement).__name__}.")
        if measurement.values.shape != expected:
            raise DomainError(f"Expected a measurement of shape {expected}, got {measurement.values.shape}.")
        return [residual for residual in measurement.residuals() if residual.tau in self.workload]

    def _residual_shape(self, tau: Clique) -> tuple[int, ...]:
        return tuple(n - 1 for n in self.workload.domain.shape(tau))


def movement(steps: Mapping[Clique, Array], gamma: Clique, sizes: tuple[int, ...]) -> float:
    """How far a marginal moves, in L1, when its residuals move by these steps.

    Paper: Prop. 4.2.

    >>> movement({(): np.array(4.0)}, gamma=(0, 1), sizes=(4, 2))
    4.0
    """
    change, distance = np.zeros(sizes), 0.0
    for tau, step in steps.items():
        distance = _add(change, gamma, kernels.center_all(step), tau)
    return distance


def _add(marginal: Array, gamma: Clique, component: Array, tau: Clique) -> float:
    return kernels.add_component(marginal, component, tuple(gamma.index(i) for i in tau))


def _over(kept: Mapping[Clique, _Kept]) -> MutableMapping[Clique, _Kept]:
    """A mapping that starts out as the one given, and keeps what is written to it for itself."""
    below: Any = kept
    return ChainMap({}, below)


def _values(values: ArrayLike, clique: Clique) -> Array:
    """The values as an array of their own, which nobody else can change."""
    array = real(values, "values").copy()
    finite(array, "values")
    if array.ndim != len(clique):
        raise DomainError(f"Expected an axis for each attribute of {clique}, got shape {array.shape}.")
    return array
