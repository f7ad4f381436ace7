"""Count the rows of a table, a block of them at a time, on all cores.

What this takes beside the counts has a bound that does not depend on the table, and no step of it takes long: so the
memory can be told beforehand, progress shown, and Ctrl-C obeyed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from math import prod
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from residuum import kernels
from residuum.core.domain import Clique, Domain
from residuum.core.layout import Layout
from residuum.core.workload import Workload
from residuum.data.table import Table
from residuum.kernels import threads

Cells = NDArray[np.int32]
Watch = Callable[[float], None]
"""Is told the share of the work that is done, by whichever thread did it."""

BLOCK = 1 << 19
"""How many rows are counted at a time."""

_TOGETHER = 64
"""How many marginals are counted in one go, so that they can share what they have in common."""

_BY_MAPS = 512
"""Cliques with at most this many cells beyond the first values are cheaper to count by bit maps than by a histogram."""


def scratch(workload: Workload) -> int:
    """How many bytes counting takes at most beside the counts: codes of a block of rows, and its bit maps.

    >>> scratch(Workload.all_kway(Domain({"age": 4, "sex": 2}), 2)) > 0
    True
    """
    orders = max(len(gamma) for gamma in workload.targets)
    free = sorted(n - 1 for n in workload.domain.sizes)
    maps = sum(n for n in free if n * prod(free[:2]) <= _BY_MAPS) if orders > 2 else 0
    return threads.count() * orders * BLOCK * 8 + (maps + threads.count()) * BLOCK // 8


def sweep(table: Table, layout: Layout, watch: Watch) -> Cells:
    """All marginals of a layout, in its order.

    >>> domain = Domain({"age": 4, "sex": 2})
    >>> layout = Layout(Workload.all_kway(domain, 2))
    >>> sweep(Table.from_codes([[3, 1], [0, 1]], domain), layout, print).tolist()
    1.0
    [2, 1, 0, 0, 1, 0, 2, 0, 1, 0, 0, 0, 0, 0, 1]
    """
    counting = Sweep(layout)
    meter = _Meter(table, counting.work, watch)
    for block in blocks(table):
        counting.add(block, meter.add)
    return counting.finish()


class Sweep:
    """All marginals of a layout, of rows that come a block at a time.

    Triples with few cells are counted by bit maps and so are the pairs below them; other maximal cliques by histograms;
    the rest follows by summing. Which is which depends on sizes alone. `work` is what a block takes, in steps.

    >>> domain = Domain({"age": 4, "sex": 2})
    >>> sweep = Sweep(Layout(Workload.all_kway(domain, 1)))
    >>> for block in ([[3], [1]], [[0], [1]]):
    ...     sweep.add(np.array(block, dtype=np.uint8))
    >>> sweep.finish().tolist()
    [2, 1, 0, 0, 1, 0, 2]
    """

    def __init__(self, layout: Layout) -> None:
        domain = layout.workload.domain
        triples = [gamma for gamma in layout.maximal if len(gamma) == 3 and _free(domain, gamma) <= _BY_MAPS]
        below = {tau for i, j, k in triples for tau in ((i, j), (i, k), (j, k))}
        pairs = sorted(tau for tau in below if _free(domain, tau) <= _BY_MAPS)
        self._known = below.union(layout.maximal, ((i,) for tau in below for i in tau))
        histograms = sorted(self._known.difference(triples, pairs))
        self._layout, self._domain = layout, domain
        self._cells = np.zeros(layout.cells, dtype=np.int32)
        self._maps = _Populations(domain, layout, self._cells, pairs, triples)
        self._targets = {gamma: self._cells[layout.place(gamma)] for gamma in histograms}
        self.work = len(histograms) * _BY_MAPS + self._maps.work

    def add(self, block: NDArray[np.unsignedinteger], done: Callable[[int], None] | None = None) -> None:
        """Count rows, of shape (attributes, rows); `done` is told of each piece of the work."""
        _histograms(block, self._domain, self._targets, done)
        self._maps.add(block, done or (lambda _: None))

    def finish(self) -> Cells:
        """The counts of all rows, in the layout's order; no more can be added."""
        self._maps.complete()
        self._layout.sum_up(self._cells, self._known)
        return self._cells


def tally(table: Table, cliques: Sequence[Clique]) -> dict[Clique, Cells]:
    """The marginals over a few cliques, as flat arrays, by histograms.

    >>> table = Table.from_codes([[3, 1], [0, 1]], Domain({"age": 4, "sex": 2}))
    >>> tally(table, [(0,), (0, 1)])[(0,)]
    array([1, 0, 0, 1], dtype=int32)
    """
    targets = {gamma: np.zeros(table.domain.size(gamma), dtype=np.int32) for gamma in sorted(cliques)}
    for block in blocks(table):
        _histograms(block, table.domain, targets)
    return targets


class _Meter:
    """Adds up the work that threads have done, and tells which share of the whole it is."""

    def __init__(self, table: Table, work_per_block: int, watch: Watch) -> None:
        self._whole = work_per_block * -(-table.columns.shape[1] // BLOCK)
        self._watch = watch
        self._done = 0
        self._lock = Lock()

    def add(self, work: int) -> None:
        with self._lock:
            self._done += work
            self._watch(self._done / self._whole)


def blocks(table: Table) -> Iterator[NDArray[np.unsignedinteger]]:
    """The rows of a table, a block at a time, of shape (attributes, rows)."""
    for start in range(0, table.columns.shape[1], BLOCK):
        yield table.columns[:, start : start + BLOCK]


def _histograms(
    columns: NDArray[np.unsignedinteger],
    domain: Domain,
    targets: Mapping[Clique, Cells],
    done: Callable[[int], None] | None = None,
) -> None:
    """Add the histograms of a block to targets that come in lexical order."""
    cliques = list(targets)
    start = np.zeros(columns.shape[1], dtype=np.uint64)

    def count(piece: tuple[int, int]) -> None:
        _share_codes(columns, domain, cliques[slice(*piece)], targets, start)
        if done:
            done(_BY_MAPS * (piece[1] - piece[0]))

    parts = max(8 * threads.count(), -(-len(cliques) // _TOGETHER))
    threads.run(count, threads.split(0, len(cliques), parts) if cliques else [])


def _share_codes(
    columns: NDArray[np.unsignedinteger],
    domain: Domain,
    cliques: Sequence[Clique],
    targets: Mapping[Clique, Cells],
    start: NDArray[np.uint64],
) -> None:
    """Histograms of cliques in lexical order, so that neighbours share the codes of what they have in common."""
    codes = [start]
    current: Clique = ()
    for gamma in cliques:
        if not gamma:
            targets[gamma][0] += columns.shape[1]
            continue
        shared = 0
        while shared < min(len(current), len(gamma) - 1) and current[shared] == gamma[shared]:
            shared += 1
        current = gamma[:-1]
        for level in range(shared, len(current)):
            if len(codes) == level + 1:
                codes.append(np.empty_like(start))
            i = gamma[level]
            kernels.extend(codes[level], columns[i], domain.sizes[i], codes[level + 1])
        last = gamma[-1]
        kernels.tally(codes[len(current)], columns[last], domain.sizes[last], targets[gamma])


class _Populations:
    """Counts pairs and triples by bit maps: in each block the cells beyond the first values, at the end the others."""

    def __init__(
        self, domain: Domain, layout: Layout, cells: Cells, pairs: list[Clique], triples: list[Clique]
    ) -> None:
        self._sizes = np.array(domain.sizes, dtype=np.int64)
        self._used = sorted({i for gamma in triples for i in gamma})
        self._first = np.zeros(len(domain), dtype=np.int64)
        self._first[self._used] = np.cumsum([0, *(self._sizes[self._used] - 1)])[:-1]
        self._cells = cells
        self._start = dict(zip(layout.cliques, layout.starts.tolist(), strict=False))
        self._pairs, self._triples = pairs, triples
        self._runs = [
            run[a:b]
            for _, group in groupby(triples, key=lambda gamma: gamma[:2])
            for run in [list(group)]
            for a, b in threads.split(0, len(run), -(-len(run) // _TOGETHER))
        ]
        self.work = sum(_free(domain, gamma) for gamma in (*pairs, *triples))

    def add(self, columns: NDArray[np.unsignedinteger], done: Callable[[int], None]) -> None:
        """Count the rows of a block in all cells beyond the first values."""
        if not self._triples:
            return
        sizes, first, out, start = self._sizes, self._first, self._cells, self._start
        free = (sizes - 1).tolist()
        maps = np.empty((sum(free[i] for i in self._used), -(-columns.shape[1] // 64)), dtype=np.uint64)
        threads.run(
            lambda i: kernels.bitmaps(columns[i], sizes[i], maps[first[i] : first[i] + free[i]]),
            self._used,
        )

        def count(run: list[Clique]) -> None:
            i, j, _ = run[0]
            others = np.array([k for _, _, k in run], dtype=np.int64)
            at = np.array([start[gamma] for gamma in run], dtype=np.int64)
            kernels.population_triples(maps, first, sizes, i, j, others, out, at)
            done(free[i] * free[j] * sum(free[k] for _, _, k in run))

        for i, j in self._pairs:  # each is done too soon to be worth waking a thread for
            kernels.population_pair(maps, first, sizes, i, j, out, start[i, j])
            done(free[i] * free[j])
        threads.run(count, self._runs)

    def complete(self) -> None:
        """Fill in the cells with a first value: of pairs, and then of triples."""
        if not self._triples:
            return
        d, sizes = len(self._sizes), self._sizes
        one, two = np.zeros(d, dtype=np.int64), np.zeros((d, d), dtype=np.int64)
        for gamma, at in self._start.items():
            if len(gamma) == 1:
                one[gamma] = at
            elif len(gamma) == 2:
                two[gamma] = at
        i, j = np.array(self._pairs, dtype=np.int64).reshape(-1, 2).T
        self._complete([sizes[i], sizes[j], np.ones_like(i)], [two[i, j], two[i, j], one[i], one[j]])
        i, j, k = np.array(self._triples, dtype=np.int64).T
        three = np.array([self._start[gamma] for gamma in self._triples], dtype=np.int64)
        self._complete([sizes[i], sizes[j], sizes[k]], [three, two[i, j], two[i, k], two[j, k]])

    def _complete(self, shapes: list[NDArray[np.int64]], at: list[NDArray[np.int64]]) -> None:
        kernels.complete(self._cells, np.column_stack(shapes), np.column_stack(at))


def _free(domain: Domain, gamma: Clique) -> int:
    """How many cells a marginal has where no attribute has its first value."""
    return prod(n - 1 for n in domain.shape(gamma))
