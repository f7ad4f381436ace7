"""The true marginals of a workload's closure."""

import numpy as np
from numpy.typing import NDArray

from residuum.core.domain import Clique
from residuum.core.workload import Workload
from residuum.data.layout import Layout
from residuum.data.memory import check_memory
from residuum.data.sweep import Watch, scratch, sweep, tally
from residuum.data.table import Table
from residuum.errors import WorkloadError

_DENSE = 1 << 16
"""Marginals with more cells than this are not kept when each is asked for once."""

_AHEAD = 1 << 25
"""How many cells of such marginals are counted together."""


class Counts:
    """The true marginals of a table, private: what the curator guards.

    `cells` holds them in one array, laid out by `layout`. With `in_turn`, for one who asks for each marginal once and
    in the order of the closure, large ones are not kept: the table is their sparse form, and a few of them are counted
    together when the first is asked for. `watch` is told the share of the counting that is done.

    >>> from residuum import Domain
    >>> domain = Domain({"age": 4, "sex": 2})
    >>> workload = Workload.all_kway(domain, 2)
    >>> Counts(Table.from_codes([[3, 1], [0, 1]], domain), workload).marginal((0,))
    array([1, 0, 0, 1], dtype=int32)
    """

    def __init__(self, table: Table, workload: Workload, *, in_turn: bool = False, watch: Watch | None = None) -> None:
        _same_domain(table, workload)
        check_memory(workload, counting(workload, in_turn=in_turn))
        self.workload = workload
        self.layout = Layout(workload, _DENSE if in_turn else None)
        self.cells: NDArray[np.int32] = sweep(table, self.layout, watch or (lambda _: None))
        self._table = table
        self._large = [gamma for gamma in workload.closure if gamma not in self.layout.index]
        self._ahead: dict[Clique, NDArray[np.int32]] = {}

    def marginal(self, gamma: Clique) -> NDArray[np.int32]:
        """The true marginal over a clique of the closure, as an array with an axis per attribute."""
        kept = self.workload.require(gamma) in self.layout.index
        cells = self.cells[self.layout.place(gamma)] if kept else self._in_turn(gamma)
        return cells.reshape(self.workload.domain.shape(gamma))

    def _in_turn(self, gamma: Clique) -> NDArray[np.int32]:
        """A marginal that is not kept, counted with those that come next, unless it came with one before."""
        if gamma not in self._ahead:
            self._ahead = {}  # its memory is for those that come now
            portion, room = [gamma], _AHEAD - self.workload.domain.size(gamma)
            for following in self._large[self._large.index(gamma) + 1 :]:
                room -= self.workload.domain.size(following)
                if room < 0:
                    break
                portion.append(following)
            self._ahead = tally(self._table, portion)
        return self._ahead[gamma]


def counting(workload: Workload, *, in_turn: bool = False) -> int:
    """How many bytes it takes to count the marginals of a workload, and to keep those that are kept.

    >>> from residuum import Domain
    >>> workload = Workload.all_kway(Domain({"a": 300, "b": 300, "c": 300, "d": 300}), 3)
    >>> counting(workload, in_turn=True) < counting(workload) / 2
    True
    """
    sizes = [workload.domain.size(gamma) for gamma in workload.closure]
    large = [size for size in sizes if in_turn and size > _DENSE]
    ahead = max([min(sum(large), _AHEAD), *large])
    return 4 * (sum(sizes) - sum(large) + ahead) + scratch(workload)


def _same_domain(one: Table, workload: Workload) -> None:
    if one.domain != workload.domain:
        raise WorkloadError("The table and the workload have different domains. Build both from one Domain.")
