"""Every true marginal of a workload's closure, counted in one sweep over the table."""

import os
from collections.abc import Sequence
from itertools import groupby
from math import prod

import numpy as np
from numpy.typing import NDArray

from residuum import kernels
from residuum.core.domain import Clique, Domain
from residuum.core.workload import Workload, subsets
from residuum.data.table import Table
from residuum.errors import WorkloadError
from residuum.kernels import threads

_BY_MAPS = 512
"""Cliques with at most this many cells beyond the first values are cheaper to count by bit maps than by a histogram."""


class Layout:
    """Where the marginals of a workload's closure lie in one flat array.

    >>> layout = Layout(Workload.all_kway(Domain({"age": 4, "sex": 2}), 2))
    >>> layout.cells, layout.place((0, 1))
    (15, slice(7, 15, None))
    """

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.index = {gamma: k for k, gamma in enumerate(workload.closure)}
        self.sizes = np.array([workload.domain.size(gamma) for gamma in workload.closure], dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        self.cells = int(self.starts[-1])
        self._above: dict[Clique, NDArray[np.int64]] = {}

    def place(self, gamma: Clique) -> slice:
        """The part of the flat array that holds a marginal."""
        k = self.index[gamma]
        return slice(int(self.starts[k]), int(self.starts[k + 1]))

    def above(self, tau: Clique) -> NDArray[np.int64]:
        """The positions of the marginals that a residual is part of, ascending."""
        if tau not in self._above:
            self._above[tau] = np.array([self.index[gamma] for gamma in self.workload.supersets(tau)], dtype=np.int64)
        return self._above[tau]

    def start(self, gamma: Clique) -> int:
        """Where a marginal begins."""
        return int(self.starts[self.index[gamma]])


class Counts:
    """The true marginals of a table, private: what the curator guards.

    `cells` holds them all in one array, laid out by `layout`.
    """

    def __init__(self, table: Table, workload: Workload) -> None:
        if table.domain != workload.domain:
            raise WorkloadError("The table and the workload have different domains. Build both from one Domain.")
        self.table = table
        self.workload = workload
        check_memory(sum(table.domain.size(gamma) for gamma in workload.closure), 4)
        self.layout = Layout(workload)
        self.cells: NDArray[np.int32] = np.zeros(self.layout.cells, dtype=np.int32)
        self._handed_over = False
        maximal = _maximal(workload)
        small = [gamma for gamma in maximal if len(gamma) == 3 and _by_maps(table.domain, gamma)]
        large = [gamma for gamma in maximal if not (len(gamma) == 3 and _by_maps(table.domain, gamma))]
        below = {tau for gamma in small for tau in subsets(gamma) if 0 < len(tau) < 3}
        large += [tau for tau in below if len(tau) == 1 or not _by_maps(table.domain, tau)]
        self._histograms(sorted(set(large)))
        self._populations(sorted(tau for tau in below if len(tau) == 2 and tau not in large), sorted(small))
        self._sum_up({*large, *below, *small})

    def marginal(self, gamma: Clique) -> NDArray[np.int32]:
        """The true marginal over a clique of the closure, as an array with an axis per attribute."""
        if self._handed_over:
            return self.recount(gamma)
        return self.cells[self.layout.place(gamma)].reshape(self.table.domain.shape(gamma))

    def hand_over(self) -> NDArray[np.int32]:
        """The memory of the cells, for another use; from now on marginals are counted anew when asked for."""
        self._handed_over = True
        return self.cells

    def recount(self, gamma: Clique) -> NDArray[np.int32]:
        """A marginal counted anew from the table."""
        out = np.zeros(self.table.domain.size(gamma), dtype=np.int32)
        self._tally([gamma], {gamma: out})
        return out.reshape(self.table.domain.shape(gamma))

    def _histograms(self, cliques: list[Clique]) -> None:
        pieces = [cliques[a:b] for a, b in threads.split(0, len(cliques), 8 * threads.count())] if cliques else []
        targets = {gamma: self.cells[self.layout.place(gamma)] for gamma in cliques}
        threads.run(lambda piece: self._tally(piece, targets), pieces)

    def _tally(self, cliques: Sequence[Clique], targets: dict[Clique, NDArray[np.int32]]) -> None:
        """Histograms of cliques in lexical order, so that neighbours share the codes of what they have in common."""
        columns, sizes = self.table.columns, self.table.domain.sizes
        prefixes = [np.zeros(columns.shape[1], dtype=np.uint64)]
        current: Clique = ()
        for gamma in cliques:
            if not gamma:
                targets[gamma][:] = columns.shape[1]
                continue
            shared = 0
            while shared < min(len(current), len(gamma) - 1) and current[shared] == gamma[shared]:
                shared += 1
            del prefixes[shared + 1 :]
            for i in gamma[shared:-1]:
                prefixes.append(np.empty_like(prefixes[0]))
                kernels.extend(prefixes[-2], columns[i], sizes[i], prefixes[-1])
            current = gamma[:-1]
            kernels.tally(prefixes[-1], columns[gamma[-1]], sizes[gamma[-1]], targets[gamma])

    def _populations(self, pairs: list[Clique], triples: list[Clique]) -> None:
        if not pairs and not triples:
            return
        columns, sizes = self.table.columns, np.array(self.table.domain.sizes, dtype=np.int64)
        used = sorted({i for gamma in (*pairs, *triples) for i in gamma})
        first = np.zeros(len(sizes), dtype=np.int64)
        words, rows = -(-columns.shape[1] // 64), 0
        for i in used:
            first[i] = rows
            rows += int(sizes[i]) - 1
        maps = np.empty((rows, words), dtype=np.uint64)
        threads.run(lambda i: kernels.bitmaps(columns[i], sizes[i], maps[first[i] : first[i] + sizes[i] - 1]), used)
        start = self.layout.start
        for i, j in pairs:
            kernels.population_pair(maps, first, sizes, i, j, self.cells, start((i,)), start((j,)), start((i, j)))

        def count(run: tuple[Clique, list[int]]) -> None:
            (i, j), others = run
            at = np.array([[start((i, k)), start((j, k)), start((i, j, k))] for k in others], dtype=np.int64)
            ks = np.array(others, dtype=np.int64)
            kernels.population_triples(maps, first, sizes, i, j, ks, self.cells, start((i, j)), at)

        runs = [(pair, [gamma[2] for gamma in group]) for pair, group in groupby(triples, key=lambda gamma: gamma[:2])]
        threads.run(count, runs)

    def _sum_up(self, known: set[Clique]) -> None:
        """Fill in the marginals below, each by summing the smallest one that has one attribute more."""
        domain = self.table.domain
        best: dict[Clique, tuple[int, Clique]] = {}
        for gamma in reversed(self.layout.workload.closure):
            if gamma not in known:
                _, above = best[gamma]
                axis = next(k for k, i in enumerate(above) if i not in gamma)
                self.cells[self.layout.place(gamma)] = self.marginal(above).sum(axis=axis, dtype=np.int32).reshape(-1)
            size = domain.size(gamma)
            for position in range(len(gamma)):
                tau = gamma[:position] + gamma[position + 1 :]
                if tau not in best or size < best[tau][0]:
                    best[tau] = size, gamma


def _maximal(workload: Workload) -> list[Clique]:
    """The targets that no other target contains."""
    return [gamma for gamma in workload.targets if len(workload.supersets(gamma)) == 1]


def _by_maps(domain: Domain, gamma: Clique) -> bool:
    return prod(n - 1 for n in domain.shape(gamma)) <= _BY_MAPS


def check_memory(cells: int, bytes_per_cell: int) -> None:
    """Refuse marginals that would not fit in memory, before anything is allocated."""
    needed = cells * bytes_per_cell
    available = _available_memory()
    if needed > available:
        raise WorkloadError(
            f"The marginals of this workload have {cells:,} cells and need {needed / 2**30:,.2f} GiB of memory "
            f"({needed:,} bytes), but only {available / 2**30:,.2f} GiB are free. Ask for marginals over fewer "
            "attributes, name the cliques that matter, or give large attributes coarser bins."
        )


def _available_memory() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
