"""Tables without negative counts, from noisy ones: post-processing, which needs no protection.

Which to use when:

- `to_simplex` takes one marginal to the nearest table that is non-negative and has the total asked for. That takes
  milliseconds and no other marginal, but two marginals treated so disagree slightly about what they share. It is the
  default of a release.
- `to_integers` is the same in whole numbers.
- `consistent` makes all marginals non-negative together, and they still agree. That takes seconds. It is also closer to
  the truth where marginals overlap, because a cell that cannot be negative tells something about all the others.
"""

from collections.abc import Iterable, Mapping
from math import exp, fsum, isfinite, log
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residuum import kernels
from residuum.core.checks import Array, finite, real, whole
from residuum.core.domain import Clique
from residuum.core.grem import Estimates
from residuum.core.workload import Workload, subsets
from residuum.errors import DomainError, ResiduumError

_MOST = 2**53
"""Whole numbers up to here are floats too."""
_ROUNDING = 1e-9
"""Negative cells that come to less than this share of the total are zeros, rounded."""
_FAINT = 1e-2
"""A residual that nobody measured has this share of the smallest precision, so that there is one best solution."""
_STIFF = 3.0
"""The penalty to begin with, in units of the precision of a typical residual."""
_STIFFER = 100.0
"""By how much more the last rounds insist on non-negative cells."""
_BEYOND = 1.6
"""A round goes farther than where it aims by this factor, as is usual for ADMM."""
_EVERY = 10
_BALANCING = 100
"""The penalty is adapted up to this round; changes later on would keep the rounds from settling."""


def to_simplex(values: ArrayLike, total: float) -> Array:
    """The table nearest to `values` in L2 that is non-negative and adds up to `total`; zeros if that is not above 0.

    Held, Wolfe and Crowder, "Validation of subgradient optimization": each cell loses the same, and none goes below 0.
    `values` has any shape, and the result the same.

    >>> to_simplex([[6.0, -1.0], [3.0, 1.0]], total=8)
    array([[5.33333333, 0.        ],
           [2.33333333, 0.33333333]])
    """
    values, total = _table(values), _number(total)
    if total <= 0:
        return np.zeros(values.shape)
    with np.errstate(over="ignore"):
        below = np.maximum(values - values.max(), -2 * total)  # cells so far below the largest come to 0 anyway
    ordered = -np.sort(-below, axis=None)
    excess = np.cumsum(ordered) - total
    kept = np.flatnonzero(ordered * np.arange(1, ordered.size + 1) > excess)[-1] + 1
    return np.asarray(np.maximum(below - (ordered[:kept].sum() - total) / kept, 0.0))


def to_integers(values: ArrayLike, total: float | None = None) -> NDArray[np.int64]:
    """The whole numbers nearest to `values` that are non-negative and add up to `total`, rounded.

    `to_simplex`, then Hamilton's largest remainders, of equal ones the first. Without a `total` the sum of the values
    counts, or 0 where that is negative. `values` has any shape, and the result the same.

    >>> to_integers([[6.2, -1.0], [3.4, 1.1]], total=8)
    array([[5, 0],
           [3, 0]])
    """
    values = _table(values)
    count = max(0, round(_number(float(values.sum()) if total is None else total)))
    if count > _MOST:
        raise ResiduumError(f"Expected a total of at most 2^53, got {count}. Use a coarser unit.")
    cells = to_simplex(values, count).reshape(-1)
    lower = np.floor(cells)
    numbers = lower.astype(np.int64)
    order = np.argsort((lower - cells).round(9), kind="stable")  # remainders that only rounding tells apart are equal
    # One step up is enough, unless cells are so large that rounding has made their sum another one.
    while (missing := count - int(numbers.sum())) > 0:
        numbers[order[:missing]] += 1
    while (missing := count - int(numbers.sum())) < 0:
        numbers[order[numbers[order] > 0][missing:]] -= 1
    return numbers.reshape(values.shape)


def consistent(estimates: Estimates, *, tolerance: float = 1e-3, most_rounds: int = 500) -> Estimates:
    """The most likely estimates by which no target has a negative cell: all marginals agree, and none has one.

    Mullins et al., "Efficient and Private Marginal Reconstruction with Local Non-Negativity" (GReM-LNN). The residuals
    z' minimise Σ_τ λ_τ ‖z'_τ - z_τ‖² in the norm of V_τ⁻¹, where every target has μ'_γ >= 0 and the total is kept. One
    that nobody measured counts with a hundredth of the smallest precision, and is given that in the result: what is
    unmeasured, the estimates that came in know.

    The rounds have settled when what they still change is on average `tolerance` in L1, a share of the total, for each
    target. Cells left negative, then or after `most_rounds`, are filled up by rows that are spread evenly over all
    other attributes, and everything is scaled to the old total. Once settled, that moves `tolerance` at most. So cells
    are non-negative and marginals agree up to rounding, by 1e-9 of the total at most: clip what is read. Estimates
    without a negative cell stay as they are; a total that is not above 0 makes everything 0.

    On one core a round takes about 20 ns for each cell of the targets; four numbers are kept for each.

    >>> from residuum import Domain, NoisyMarginal, Workload
    >>> workload = Workload.all_kway(Domain({"age": 2, "sex": 2, "job": 2}), 2)
    >>> noisy = [NoisyMarginal((0, 1), [[50, -6], [30, 26]], 1.0), NoisyMarginal((1, 2), [[70, 10], [2, 18]], 1.0)]
    >>> better = consistent(Estimates(workload, noisy), tolerance=1e-6)
    >>> (better.marginal((0, 1)) + 0.0).round(1)
    array([[48.8,  0. ],
           [28.8, 22.4]])
    >>> bool(abs(better.marginal((0, 1)).sum(axis=0) - better.marginal((1, 2)).sum(axis=1)).max() < 1e-9)
    True
    """
    _check(estimates, tolerance, most_rounds)
    workload = estimates.workload
    residuals = {tau: estimates.residual(tau) for tau in workload.closure}
    for tau, z in residuals.items():
        finite(z, f"residual {tau}")
    precisions = {tau: estimates.precision(tau) for tau in workload.closure}
    faint = _FAINT * min((precision for precision in precisions.values() if precision > 0), default=1.0)
    precisions = {tau: precision or faint for tau, precision in precisions.items()}
    if residuals[()] <= 0:
        return Estimates.kept(workload, {tau: np.zeros(z.shape) for tau, z in residuals.items()}, precisions)
    search = _Search(workload, residuals, precisions)
    if search.negative() > _ROUNDING:
        done = search.settle(tolerance, most_rounds - most_rounds // 3)
        search.fill(tolerance, most_rounds - done)
        residuals = search.residuals()
    return Estimates.kept(workload, residuals, precisions)


class _Search:
    """ADMM: marginals `mu` that agree and are likely, tables x = max(v, margin) that are positive, until they meet.

    Boyd et al., "Distributed Optimization and Statistical Learning via the Alternating Direction Method of
    Multipliers". v is x plus the scaled dual, which is at most 0. The components of a marginal are orthogonal, and c_τ
    has the squared norm n_τ / n_γ ‖c_τ‖² in it, so with one penalty ρ the likely marginals nearest to tables y are
    found for each residual on its own: c_τ = (λ_τ c⁰_τ + ρ n_τ S_τ) / (λ_τ + ρ Σ_γ n_τ / n_γ), where S_τ is
    Σ_γ y_γ / n_γ, summed over what τ does not have, and centred. The component of the total stays.
    """

    def __init__(
        self, workload: Workload, residuals: Mapping[Clique, Array], precisions: Mapping[Clique, float]
    ) -> None:
        domain = workload.domain
        self.targets = [gamma for gamma in workload.targets if len(workload.supersets(gamma)) == 1]  # others follow
        self.paths = _Paths(self.targets)
        self.total = float(residuals[()])
        self.precisions = precisions
        self.penalty = _STIFF * _typical(precisions[tau] for tau, z in residuals.items() if tau and z.any())
        self.margin = 0.0
        self.cells = {tau: domain.size(tau) for tau in workload.closure}
        self.shares = dict.fromkeys(workload.closure, 0.0)
        for gamma in self.targets:
            for tau in subsets(gamma):
                self.shares[tau] += self.cells[tau] / self.cells[gamma]
        self.likely = {tau: kernels.center_all(z) for tau, z in residuals.items()}
        self.components = {tau: c for tau, c in self.likely.items() if tau not in self.targets}
        shapes = {gamma: domain.shape(gamma) for gamma in self.targets}
        self.all_mu, self.mu = _tables(shapes)
        self.all_v, self.v = _tables(shapes)
        self.all_steps, self.steps = _tables(shapes)
        for gamma in self.targets:
            self.mu[gamma][...] = self.likely[gamma]
        self.paths.spread(self.components, self.mu)
        self.all_v[...] = self.all_mu

    def settle(self, tolerance: float, most: int) -> int:
        """Go on until the marginals and the tables hardly differ, or for `most` rounds; returns how many it took."""
        for done in range(1, most + 1):
            self._round()
            if done % _EVERY == 0:
                if float(np.abs(self.all_steps).sum()) <= tolerance * self.total * len(self.targets):
                    return done
                if done <= _BALANCING:
                    self._balance()
        return most

    def fill(self, tolerance: float, most: int) -> None:
        """Go on until hardly a cell of the marginals is negative, from where they are the likely ones.

        A high penalty and a margin, which costs as much as `tolerance` allows, make the last cells come up soon.
        """
        self.margin = tolerance
        self._stiffen(_STIFFER)
        for done in range(1, most + 1):
            self._round()
            if done % _EVERY == 0 and self.negative() <= tolerance:
                return

    def negative(self) -> float:
        """What all negative cells of all targets come to, as a share of the total."""
        return -float(np.minimum(self.all_mu, 0.0).sum()) / self.total

    def residuals(self) -> dict[Clique, Array]:
        """The residuals of the marginals, once their negative cells are filled up with rows spread evenly elsewhere.

        Such rows over γ, as a table over all attributes, are non-negative, and their residual over τ is the sum over
        γ \\ τ, differenced, where τ is part of γ, and 0 elsewhere.
        """
        lacking = {gamma: np.maximum(-mu, 0.0) for gamma, mu in self.mu.items()}
        sums = self.paths.collect(lacking, dict.fromkeys(self.targets, 1.0))
        filled = {tau: c + sums[tau] for tau, c in self.components.items()}
        filled |= {gamma: mu + lacking[gamma] for gamma, mu in self.mu.items()}
        scale = self.total / float(filled[()])
        return {tau: kernels.sub_all(np.asarray(filled[tau] * scale))[0] for tau in self.likely}

    def _round(self) -> None:
        for gamma in self.targets:
            x, y = self.steps[gamma], self.mu[gamma]
            np.maximum(self.v[gamma], self._low(gamma), out=x)
            np.add(x, x, out=y)
            y -= self.v[gamma]
        sums = self.paths.collect(self.mu, {gamma: 1 / self.cells[gamma] for gamma in self.targets})
        for tau in self.components:
            if tau:
                self.components[tau] = self._pulled(tau, self.cells[tau] * sums[tau])
        for gamma in self.targets:
            self.mu[gamma][...] = self._pulled(gamma, self.mu[gamma])
        self.paths.spread(self.components, self.mu)
        np.subtract(self.all_mu, self.all_steps, out=self.all_steps)
        self.all_v += _BEYOND * self.all_steps

    def _pulled(self, tau: Clique, table: Array) -> Array:
        """The likely component over τ, pulled towards that of a table over the same attributes."""
        share, likely = self.shares[tau], self.likely[tau]
        component = kernels.center_all(kernels.sub_all(table)[0])
        component -= share * likely
        component *= self.penalty / (self.precisions[tau] + self.penalty * share)
        component += likely
        return component

    def _balance(self) -> None:
        """Set the penalty so that marginals and tables come together about as fast as the tables come to rest."""
        apart = moving = 0.0
        for gamma, mu in self.mu.items():
            distance = mu - np.maximum(self.v[gamma], self._low(gamma))
            apart += float(np.vdot(distance, distance))
            distance -= self.steps[gamma]
            moving += float(np.vdot(distance, distance))
        factor = min(max((apart / moving) ** 0.25, 0.2), 5.0) if moving > 0 else 1.0
        if not 1 / 1.5 < factor < 1.5:
            self._stiffen(factor)

    def _stiffen(self, factor: float) -> None:
        """Multiply the penalty, in whose units the dual is."""
        self.penalty *= factor
        for gamma, v in self.v.items():
            x = np.maximum(v, self._low(gamma))
            v -= x
            v /= factor
            v += x

    def _low(self, gamma: Clique) -> float:
        return self.margin * self.total / self.cells[gamma]


class _Paths:
    """One way from each target to each of its subsets, with parts common to many: the last attribute goes first.

    A node is a clique and how many of its last attributes stay from there on. Sums flow down, components up; what
    several targets share is added up once for all of them.
    """

    def __init__(self, targets: Iterable[Clique]) -> None:
        ways: dict[tuple[Clique, int], list[tuple[int, tuple[int, ...], tuple[Clique, int]]]] = {}
        found = [(gamma, 0) for gamma in targets]
        while found:
            node = clique, staying = found.pop()
            if node in ways:
                continue
            ways[node] = []
            for axis in range(len(clique) - staying):
                others = tuple(k for k in range(len(clique)) if k != axis)
                below = clique[:axis] + clique[axis + 1 :], len(clique) - 1 - axis
                ways[node].append((axis, others, below))
                found.append(below)
        self.downward = sorted(ways.items(), key=lambda item: -len(item[0][0]))
        self.upward = self.downward[::-1]

    def collect(self, tables: Mapping[Clique, Array], scales: Mapping[Clique, float]) -> dict[Clique, Array]:
        """For every τ below the targets the sum of all their tables, scaled, over what τ does not have."""
        arrived: dict[tuple[Clique, int], Array] = {}
        sums: dict[Clique, Array] = {}
        for node, ways in self.downward:
            clique = node[0]
            table, scale = (tables[clique], scales[clique]) if clique in tables else (arrived.pop(node), 1.0)
            for axis, _, below in ways:
                part = np.asarray(np.add.reduce(table, axis=axis))
                part *= scale
                arrived[below] = arrived[below] + part if below in arrived else part
            if clique not in tables:
                sums[clique] = sums[clique] + table if clique in sums else table
        return {tau: np.asarray(table) for tau, table in sums.items()}

    def spread(self, components: Mapping[Clique, Array], tables: Mapping[Clique, Array]) -> None:
        """Add to the target's tables, in place, the part that all components below have in them."""
        parts: dict[tuple[Clique, int], Array] = {}
        for node, ways in self.upward:
            clique = node[0]
            parts[node] = table = tables[clique] if clique in tables else components[clique].copy()
            for _, others, below in ways:
                kernels.add_component(table, parts[below], others)


def _tables(shapes: Mapping[Clique, tuple[int, ...]]) -> tuple[Array, dict[Clique, Array]]:
    """A table for each target, and all of them in one row."""
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes.values())])
    row = np.empty(ends[-1])
    starts = zip(shapes.items(), ends, ends[1:], strict=False)
    return row, {gamma: row[start:end].reshape(shape) for (gamma, shape), start, end in starts}


def _typical(precisions: Iterable[float]) -> float:
    """The geometric mean, or 1 of none."""
    logs = [log(precision) for precision in precisions]
    return exp(fsum(logs) / max(1, len(logs)))


def _check(estimates: Estimates, tolerance: float, most_rounds: int) -> None:
    if not isinstance(estimates, Estimates):
        raise ResiduumError(f"Expected `estimates` to be Estimates, got {type(estimates).__name__}.")
    if not isinstance(tolerance, Real) or isinstance(tolerance, bool) or not 0 < tolerance < 1:
        raise ResiduumError(f"Expected `tolerance` to be a share of the total above 0 and below 1, got {tolerance!r}.")
    if not whole(most_rounds) or most_rounds < 1:
        raise ResiduumError(f"Expected `most_rounds` to be a whole number above 0, got {most_rounds!r}.")


def _table(values: ArrayLike) -> Array:
    array = real(values, "values")
    if array.size == 0:
        raise DomainError(f"Expected at least one cell in `values`, got an array of shape {array.shape}.")
    finite(array, "values")
    return array


def _number(total: float) -> float:
    if not isinstance(total, Real) or isinstance(total, bool) or not isfinite(total):
        raise ResiduumError(f"Expected `total` to be a finite number, got {total!r}.")
    return float(total)
