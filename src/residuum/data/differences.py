"""How far every estimated marginal is from the true one, in fixed point."""

from collections.abc import Iterable
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

from residuum import kernels
from residuum.core.domain import Clique
from residuum.core.workload import Workload
from residuum.data.counts import Counts, check_memory
from residuum.data.table import Table
from residuum.errors import ResiduumError

_WIDE_CELLS = 1 << 28
"""Up to this many cells the differences are kept in 64 bits beside the counts, above it in 32 bits in their place."""

_SIGMAS = 64
"""How many standard deviations of noise the fixed-point numbers have room for."""


class Differences:
    """The difference 2^bits · μ - μ̂ of every marginal of the closure, and its L1 norm, private.

    μ̂ is what `follow` was told of, rounded to whole units of 2^-bits. It does not depend on the data, so one person
    more changes one cell of a marginal by exactly 2^bits. `sigma` is the largest standard deviation of the noise.
    """

    def __init__(self, table: Table, workload: Workload, sigma: float) -> None:
        domain = workload.domain
        self.workload = workload
        cells = sum(domain.size(gamma) for gamma in workload.closure)
        self._wide = cells <= _WIDE_CELLS
        self._bits = _fraction_bits(self._wide, sigma, max(domain.size(gamma) for gamma in workload.targets))
        check_memory(cells, 12 if self._wide else 4)
        self._counts = Counts(table, workload)
        self._layout = self._counts.layout
        self._cells = self._fixed_point(self._counts.cells)
        self._norms = np.full(len(workload.closure), table.columns.shape[1] << self._bits, dtype=np.int64)
        self._sizes = np.array(domain.sizes, dtype=np.int64)
        orders = max(len(gamma) for gamma in workload.targets)
        self._attributes = np.full((len(workload.closure), orders), -1, dtype=np.int64)
        for k, gamma in enumerate(workload.closure):
            self._attributes[k, : len(gamma)] = gamma

    def marginal(self, gamma: Clique) -> NDArray[np.int32]:
        """The true marginal over a clique."""
        return self._counts.marginal(gamma) if self._wide else self._counts.recount(gamma)

    def distances(self, positions: NDArray[np.int64] | slice) -> NDArray[np.float64]:
        """The L1 distances of the marginals at these positions of the closure."""
        return np.ldexp(self._norms[positions].astype(np.float64), -self._bits)

    def follow(self, steps: Iterable[tuple[Clique, NDArray[np.float64]]]) -> list[NDArray[np.int64]]:
        """Take note that the estimates of residuals moved by these steps; return the positions that this touches.

        Paper: Prop. 4.2.
        """
        touched = []
        for tau, step in steps:
            above = self._layout.above(tau)
            kernels.subtract_component(
                self._cells,
                self._norms,
                kernels.center_all(step).reshape(-1),
                np.array(tau, dtype=np.int64),
                above,
                self._layout.starts,
                self._attributes,
                self._sizes,
                2.0**self._bits,
            )
            touched.append(above)
        return touched

    def _fixed_point(self, cells: NDArray[np.int32]) -> NDArray[np.int32] | NDArray[np.int64]:
        if self._wide:
            return cells.astype(np.int64) << self._bits
        # A count that would leave 32 bits is capped: one person still changes it by at most one.
        np.minimum(cells, (1 << (30 - self._bits)) - 1, out=cells)
        np.left_shift(cells, self._bits, out=cells)
        return cells


def _fraction_bits(wide: bool, sigma: float, largest: int) -> int:
    """How many bits behind the point leave room for the noise, from public quantities alone."""
    noise = ceil(log2(max(1.0, _SIGMAS * sigma)))
    bits = min(20, 61 - noise - ceil(log2(largest))) if wide else min(10, 29 - noise)
    if bits < 0:
        raise ResiduumError(
            f"The budget asks for noise of about {sigma:.1e} people, more than can be computed with. "
            "Give a larger budget or a smaller workload."
        )
    return bits
