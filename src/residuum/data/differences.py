"""How far every estimated marginal is from the true one, in fixed point."""

from collections.abc import Iterable
from math import ceil, isfinite, log2

import numpy as np
from numpy.typing import NDArray

from residuum import kernels
from residuum.core.domain import Clique
from residuum.core.layout import Layout
from residuum.core.workload import Workload
from residuum.data.counts import Counts, counting
from residuum.data.memory import cells_of, check_memory, measuring
from residuum.data.sweep import Watch, tally
from residuum.data.table import Table
from residuum.errors import ResiduumError

_WIDE_CELLS = 1 << 28
"""Up to this many cells the differences are kept in 64 bits beside the counts, above it in 32 bits in their place."""

_SIGMAS = 64
"""How many standard deviations of noise the fixed-point numbers have room for."""


class Differences:
    """The difference between every true marginal of the closure and its estimate, and its L1 norm, private.

    A marginal's differences are whole numbers of 2^-bits people: 2^bits · μ - μ̂, where μ̂ is what `follow` was told,
    rounded. μ̂ does not depend on the data, so one person more changes one cell by exactly 2^bits. `sigma` is the
    largest standard deviation of the noise to come, and `watch` is told the share of the counting that is done. Counts
    that come without a table cannot be counted anew: they are left as they are, and the differences kept beside them.
    """

    def __init__(self, table: Table | Counts, workload: Workload, sigma: float, watch: Watch | None = None) -> None:
        domain = workload.domain
        sizes = [domain.size(gamma) for gamma in workload.closure]
        wide = sum(sizes) <= _WIDE_CELLS
        _check_memory(workload, wide, isinstance(table, Counts))
        self.workload = workload
        self._bits = _fraction_bits(wide, sigma, sizes)
        counts = Counts.of(table, workload, watch=watch)
        self._layout = counts.layout if counts.layout.cliques == workload.closure else Layout(workload)
        self._truth: Table | Counts = counts
        if wide or counts is table:
            self._cells = counts.copy_to(self._layout, np.int64 if wide else np.int32)
        else:
            self._cells, self._truth = counts.cells, table
        self._to_fixed_point()
        self.scales = np.ldexp(1.0, self._bits)
        """How many units make one person in each marginal: powers of 2."""
        self._sizes = np.array(domain.sizes, dtype=np.int64)

    def marginal(self, gamma: Clique) -> NDArray[np.int32]:
        """The true marginal over a clique."""
        if isinstance(self._truth, Counts):
            return self._truth.marginal(gamma)
        return tally(self._truth, [gamma])[gamma].reshape(self.workload.domain.shape(gamma))

    @property
    def norms(self) -> NDArray[np.int64]:
        """The L1 distance of each marginal of the closure, in whole numbers of its units."""
        return self._norms

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
                self._layout.attributes,
                self._sizes,
                self.scales,
            )
            touched.append(above)
        return touched

    def compare(self, gamma: Clique, mu_hat: NDArray[np.float64]) -> int:
        """Take note that this is now the estimate of a marginal, of shape (n_i for i in γ); return its position."""
        k = self._layout.index[gamma]
        limit = float(1 << (61 if self._cells.dtype == np.int64 else 30))
        estimate = np.clip(np.rint(mu_hat * self.scales[k]), -limit, limit).astype(np.int64)
        truth = self.marginal(gamma).astype(np.int64)
        if self._cells.dtype == np.int32:
            np.minimum(truth, (1 << (30 - int(self._bits[k]))) - 1, out=truth)
        difference = ((truth << int(self._bits[k])) - estimate).reshape(-1)
        self._cells[self._layout.place(gamma)] = difference
        most = (1 << 62) // difference.size
        self._norms[k] = np.abs(np.clip(difference, -most, most)).sum()
        return k

    def _to_fixed_point(self) -> None:
        """Turn counts into differences to nothing, in place, with their norms."""
        narrow = self._cells.dtype == np.int32
        self._norms = np.empty(len(self._bits), dtype=np.int64)
        for k, bits in enumerate(self._bits.tolist()):
            cells = self._cells[self._layout.starts[k] : self._layout.starts[k + 1]]
            if narrow:
                # A count that would leave 32 bits is capped: one person still changes it by at most one.
                np.minimum(cells, (1 << (30 - bits)) - 1, out=cells)
            np.left_shift(cells, bits, out=cells)
            self._norms[k] = cells.sum(dtype=np.int64)


def keeping(workload: Workload) -> int:
    """How many bytes it takes to count the marginals of a workload and to keep and measure their differences.

    >>> from residuum import Domain
    >>> keeping(Workload.all_kway(Domain({"a": 300, "b": 300, "c": 300}), 3)) // 2**20
    1548
    """
    cells = cells_of(workload)
    return max(counting(workload), (12 if cells <= _WIDE_CELLS else 4) * cells + measuring(workload))


def _check_memory(workload: Workload, wide: bool, counted: bool) -> None:
    """Refuse what would not fit: the differences, and the counts beside them where they stay and are not there yet."""
    if counted:
        needed = (8 if wide else 4) * cells_of(workload) + measuring(workload)
        check_memory(workload, needed, " beside the counts given")
    else:
        check_memory(workload, keeping(workload))


def _fraction_bits(wide: bool, sigma: float, sizes: list[int]) -> NDArray[np.int64]:
    """How many bits behind the point leave room for the noise in each marginal, from public quantities alone.

    In 32 bits a marginal with few cells gets fewer, from 6 to 10: rounding matters less where there is less to round,
    and the room is needed for counts that are large. Cells of more than 2^(30 - bits) people, 16 million in a small
    marginal and a million in a large one, are capped.
    """
    if not isfinite(sigma):
        raise ResiduumError("The budget is too small to compute with. Give a larger one.")
    noise = ceil(log2(max(1.0, _SIGMAS * sigma)))
    room = np.log2(np.array(sizes, dtype=np.float64))
    bits = np.minimum(20, 61 - noise - np.ceil(room)) if wide else np.minimum(np.clip(room // 2, 6, 10), 29 - noise)
    if bits.min() < 0:
        raise ResiduumError(
            f"The budget asks for noise of about {sigma:.1e} people, more than can be computed with. "
            "Give a larger budget or a smaller workload."
        )
    return bits.astype(np.int64)
