"""Where marginals lie in one flat array, and how those of lower order follow from the others."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from residuum.core.domain import Clique
from residuum.core.workload import Workload


class Layout:
    """Where the marginals of a workload's closure lie in one flat array: all of them, or those named.

    >>> from residuum import Domain
    >>> workload = Workload.all_kway(Domain({"age": 4, "sex": 2}), 2)
    >>> layout = Layout(workload)
    >>> layout.cells, layout.place((0, 1)), layout.maximal
    (15, slice(7, 15, None), [(0, 1)])
    >>> Layout(workload, [(0,), (1,)]).maximal
    [(0,), (1,)]
    """

    def __init__(self, workload: Workload, cliques: Iterable[Clique] | None = None) -> None:
        self.workload = workload
        named = workload.closure if cliques is None else dict.fromkeys(cliques)
        self.cliques: tuple[Clique, ...] = tuple(map(workload.require, named))
        self.index = {gamma: k for k, gamma in enumerate(self.cliques)}
        self.sizes = np.array([workload.domain.size(gamma) for gamma in self.cliques], dtype=np.int64)
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
            found = (self.index.get(gamma) for gamma in self.workload.supersets(tau))
            self._above[tau] = np.array([k for k in found if k is not None], dtype=np.int64)
        return self._above[tau]

    @cached_property
    def attributes(self) -> NDArray[np.int64]:
        """What each marginal is over, a row each, filled up with -1."""
        rows = np.full((len(self.cliques), max(map(len, self.cliques), default=0)), -1, dtype=np.int64)
        for k, gamma in enumerate(self.cliques):
            rows[k, : len(gamma)] = gamma
        return rows

    @cached_property
    def maximal(self) -> list[Clique]:
        """The cliques that no other contains: all others follow from their marginals."""
        return [gamma for gamma in self.cliques if gamma not in self._smallest_above]

    def sum_up(self, cells: NDArray[np.int32], known: set[Clique]) -> None:
        """Fill in the marginals that are not known, each by summing the smallest one that has one attribute more."""
        shape = self.workload.domain.shape
        for gamma in reversed(self.cliques):
            if gamma not in known:
                above = self._smallest_above[gamma]
                axis = next(k for k, i in enumerate(above) if i not in gamma)
                whole = cells[self.place(above)].reshape(shape(above))
                cells[self.place(gamma)] = whole.sum(axis=axis, dtype=np.int32).reshape(-1)

    @cached_property
    def _smallest_above(self) -> dict[Clique, Clique]:
        """Of the cliques with one attribute more than each, the one with the fewest cells."""
        best: dict[Clique, tuple[int, Clique]] = {}
        for gamma, size in zip(self.cliques, self.sizes.tolist(), strict=True):
            for position in range(len(gamma)):
                tau = gamma[:position] + gamma[position + 1 :]
                if tau not in best or size < best[tau][0]:
                    best[tau] = size, gamma
        return {tau: gamma for tau, (_, gamma) in best.items()}
