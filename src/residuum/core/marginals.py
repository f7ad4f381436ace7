"""Many marginals in one array, so that a residual reaches all those above it in one call."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from residuum import kernels
from residuum.core.checks import Array
from residuum.core.domain import Clique
from residuum.core.layout import Layout
from residuum.core.workload import Workload, subsets


class Marginals(Mapping[Clique, Array]):
    """Marginals over some cliques of a workload's closure, zero at first; each is a view, of shape (n_i for i in γ).

    >>> from residuum import Domain
    >>> marginals = Marginals(Workload.all_kway(Domain({"age": 4, "sex": 2}), 2), [(0, 1), (1,)])
    >>> marginals.add((1,), np.array([8.0, -8.0]))
    >>> marginals[(1,)], marginals[(0, 1)][3]
    (array([ 8., -8.]), array([ 2., -2.]))
    """

    def __init__(self, workload: Workload, cliques: Iterable[Clique]) -> None:
        self._layout = Layout(workload, cliques)
        self._cells = np.zeros(self._layout.cells)
        self._sizes = np.array(workload.domain.sizes, dtype=np.int64)
        self.below = frozenset(tau for gamma in self._layout.cliques for tau in subsets(gamma))
        """The residuals that any of the marginals is made of."""

    def __getitem__(self, gamma: Clique) -> Array:
        return self._cells[self._layout.place(gamma)].reshape(self._layout.workload.domain.shape(gamma))

    def __iter__(self) -> Iterator[Clique]:
        return iter(self._layout.cliques)

    def __len__(self) -> int:
        return len(self._layout.cliques)

    def __contains__(self, gamma: object) -> bool:
        return gamma in self._layout.index

    def clear(self) -> None:
        """Make all of them zero again."""
        self._cells.fill(0.0)

    def add(self, tau: Clique, component: Array) -> None:
        """Add a component, of shape (n_i for i in τ), to every marginal that it is part of.

        Paper: Prop. 4.2.
        """
        layout = self._layout
        kernels.add_above(
            self._cells,
            component.reshape(-1),
            np.array(tau, dtype=np.int64),
            layout.above(tau),
            layout.starts,
            layout.attributes,
            self._sizes,
        )
