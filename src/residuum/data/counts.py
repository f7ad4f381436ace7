"""The true marginals of a workload's closure, from a table or counted elsewhere."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from residuum.core.domain import Clique
from residuum.core.layout import Layout
from residuum.core.workload import Workload
from residuum.data.memory import cells_of, check_memory
from residuum.data.sweep import Watch, scratch, sweep, tally
from residuum.data.table import MOST_ROWS, Table, too_many_rows
from residuum.errors import DomainError, WorkloadError

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
        self.workload, self.origin = workload, table.origin
        size = workload.domain.size
        kept = [gamma for gamma in workload.closure if not in_turn or size(gamma) <= _DENSE]
        self.layout = Layout(workload, kept)
        self.cells: NDArray[np.int32] = sweep(table, self.layout, watch or (lambda _: None))
        self._table: Table | None = table
        self._large = [gamma for gamma in workload.closure if gamma not in self.layout.index]
        self._ahead: dict[Clique, NDArray[np.int32]] = {}

    @classmethod
    def of(
        cls, source: "Table | Counts", workload: Workload, *, in_turn: bool = False, watch: Watch | None = None
    ) -> "Counts":
        """The counts of a table; or counts as they are, once it is clear that they have all that the workload asks for.

        >>> from residuum import Domain
        >>> domain = Domain({"age": 4, "sex": 2})
        >>> counts = Counts.of(Table.from_codes([[3, 1], [0, 1]], domain), Workload.all_kway(domain, 2))
        >>> Counts.of(counts, Workload.all_kway(domain, 1)) is counts
        True
        """
        if isinstance(source, Table):
            return cls(source, workload, in_turn=in_turn, watch=watch)
        if not isinstance(source, Counts):
            raise WorkloadError(f"Expected a Table, or the Counts of one, got {type(source).__name__}.")
        _same_domain(source.workload, workload)
        for gamma in workload.targets:
            if gamma not in source.workload:
                raise WorkloadError(
                    f"The counts do not include the marginal over {workload.domain.name(gamma)}. "
                    "Count the marginals of a workload that covers this one."
                )
        return source

    @classmethod
    def from_marginals(cls, workload: Workload, marginals: Mapping[Clique, ArrayLike]) -> "Counts":
        """Counts made elsewhere, from the marginals over the maximal cliques; those of lower order follow by summing.

        A key is a clique as an ascending tuple of indices, one that no other clique of the workload contains
        (`Layout(workload).maximal` lists them); its array has an axis for each attribute, in that order.

        >>> from residuum import Domain
        >>> workload = Workload.all_kway(Domain({"age": 4, "sex": 2}), 2)
        >>> counts = Counts.from_marginals(workload, {(0, 1): [[0, 1], [0, 0], [0, 0], [0, 1]]})
        >>> counts.marginal((0,)).tolist(), counts.marginal(()).item()
        ([1, 0, 0, 1], 2)
        """
        check_memory(workload, 4 * cells_of(workload))
        layout = Layout(workload)
        if set(marginals) != set(layout.maximal):
            odd = min(set(marginals) ^ set(layout.maximal), key=str)
            raise WorkloadError(
                "Expected the marginals over the maximal cliques of the workload, each once, and no others: "
                f"{odd!r} is {'not one of them' if odd in marginals else 'missing'}."
            )
        cells = np.zeros(layout.cells, dtype=np.int32)
        for gamma, values in marginals.items():
            cells[layout.place(gamma)] = _whole_numbers(values, workload, gamma)
        return cls.from_maximal(layout, cells)

    @classmethod
    def from_maximal(cls, layout: Layout, cells: NDArray[np.int32]) -> "Counts":
        """The same from one array that has them in their places; it is kept, and the others filled in.

        >>> from residuum import Domain
        >>> layout = Layout(Workload.all_kway(Domain({"age": 4, "sex": 2}), 1))
        >>> Counts.from_maximal(layout, np.array([0, 1, 0, 0, 1, 0, 2], dtype=np.int32)).marginal(()).item()
        2
        """
        rows = {int(cells[layout.place(gamma)].sum(dtype=np.int64)) for gamma in layout.maximal}
        if max(rows) > MOST_ROWS:
            raise too_many_rows()
        if len(rows) > 1:
            raise DomainError("The marginals do not count the same rows. Count all of them over one table.")
        layout.sum_up(cells, set(layout.maximal))
        return cls._ready(layout, cells)

    def __add__(self, other: "Counts") -> "Counts":
        """The counts of two tables as if they were one, of people who are in one of them only.

        >>> from residuum import Domain
        >>> domain = Domain({"age": 4, "sex": 2})
        >>> one, two = (Table.from_codes(codes, domain) for codes in ([[3, 1]], [[0, 1], [3, 0]]))
        >>> workload = Workload.all_kway(domain, 1)
        >>> (Counts(one, workload) + Counts(two, workload)).marginal((0,))
        array([1, 0, 0, 2], dtype=int32)
        """
        if not isinstance(other, Counts):
            return NotImplemented
        _same_domain(self.workload, other.workload)
        if not self.workload.closure == self.layout.cliques == other.layout.cliques:
            raise WorkloadError("Only counts of all marginals of the same workload can be added. Count both alike.")
        if int(self.marginal(())) + int(other.marginal(())) > MOST_ROWS:
            raise too_many_rows()
        return Counts._ready(self.layout, self.cells + other.cells)

    @classmethod
    def _ready(cls, layout: Layout, cells: NDArray[np.int32]) -> "Counts":
        counts = cls.__new__(cls)
        counts.workload, counts.layout, counts.cells = layout.workload, layout, cells
        counts._table, counts._large, counts._ahead, counts.origin = None, [], {}, None
        return counts

    def marginal(self, gamma: Clique) -> NDArray[np.int32]:
        """The true marginal over a clique of the closure, as an array with an axis per attribute."""
        kept = self.workload.require(gamma) in self.layout.index
        cells = self.cells[self.layout.place(gamma)] if kept else self._in_turn(gamma)
        return cells.reshape(self.workload.domain.shape(gamma))

    def copy_to(self, layout: Layout, dtype: DTypeLike) -> NDArray[Any]:
        """The marginals of a layout in an array of their own."""
        if layout.cliques == self.layout.cliques:
            return self.cells.astype(dtype)
        cells = np.empty(layout.cells, dtype=dtype)
        for gamma in layout.cliques:
            cells[layout.place(gamma)] = self.marginal(gamma).reshape(-1)
        return cells

    def _in_turn(self, gamma: Clique) -> NDArray[np.int32]:
        """A marginal that is not kept, counted with those that come next, unless it came with one before."""
        if gamma not in self._ahead and self._table is not None:
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


def _same_domain(one: Table | Workload, workload: Workload) -> None:
    if one.domain != workload.domain:
        raise WorkloadError("The table and the workload have different domains. Build both from one Domain.")


def _whole_numbers(values: ArrayLike, workload: Workload, gamma: Clique) -> NDArray[np.integer]:
    """The cells of a marginal that came from outside."""
    array, name, shape = np.asarray(values), workload.domain.name(gamma), workload.domain.shape(gamma)
    if array.shape != shape:
        raise DomainError(f"Expected a marginal of shape {shape} over {name}, got shape {array.shape}.")
    if array.dtype.kind not in "iu":
        raise DomainError(f"Expected whole numbers in the marginal over {name}, got {array.dtype.name} values.")
    if array.min() < 0:
        raise DomainError(f"Expected counts from 0 in the marginal over {name}, got one below.")
    if array.max() > MOST_ROWS:
        raise too_many_rows()
    return array.reshape(-1)
