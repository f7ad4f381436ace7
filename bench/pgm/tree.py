"""Any marginal of a graphical model, by messages over its junction tree, in plain NumPy.

mbi compiles a program for every shape that it is asked for, which takes minutes for all candidates of a round. Here a
message carries P(attributes behind an edge | attributes shared across it). All marginals of a model share messages.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from residuum.core.domain import Clique

Array = NDArray[np.float64]
Named = tuple[Clique, Array]
"""An array and the attributes its axes stand for."""


class JunctionTree:
    """The distribution ∝ exp(Σ potentials), scaled to a total; attributes are numbered, cliques and axes ascend.

    `graph` has the maximal cliques as its nodes; every potential fits into one of them.

    >>> graph = nx.Graph()
    >>> graph.add_nodes_from([(0, 1), (2,)])
    >>> tree = JunctionTree(graph, (2, 2, 2), {(0, 1): np.log([[4.0, 1], [2, 1]]), (2,): np.log([1.0, 3])}, total=8.0)
    >>> tree.marginal((0, 2)).round(9)
    array([[1.25, 3.75],
           [0.75, 2.25]])
    """

    def __init__(
        self, graph: "nx.Graph[Any]", sizes: tuple[int, ...], potentials: Mapping[Clique, Array], total: float
    ) -> None:
        self.sizes, self.total = sizes, total
        self._tree = _connected(graph)
        self._beliefs = self._calibrated(potentials)
        self._behind = {edge: behind for a, b in self._tree.edges for edge, behind in self._sides(a, b)}
        self._projections: dict[tuple[Clique, Clique], Array] = {}
        self._messages: dict[tuple[Clique, Clique, Clique], Named] = {}

    def marginal(self, gamma: Clique) -> Array:
        """The marginal over any attributes, of shape (n_i for i in γ)."""
        root = max(self._tree, key=lambda node: (len({*gamma} & {*node}), -self._beliefs[node].size))
        return self._sum_up(root, None, gamma, gamma)

    def _sum_up(self, node: Clique, before: Clique | None, wanted: Clique, axes: Clique) -> Array:
        """The sum over all but `axes` of a clique's belief times what its neighbours say of the attributes wanted.

        The neighbour `before` is who asks.
        """
        messages = [
            self._message(neighbour, node, tuple(i for i in wanted if i in behind))
            for neighbour in self._tree[node]
            if neighbour != before and not (behind := self._behind[neighbour, node]).isdisjoint(wanted)
        ]
        needed = set(axes).union(*(attributes for attributes, _ in messages))
        factors = [self._project(node, needed), *messages]
        letter = {i: place for place, i in enumerate(sorted({i for attributes, _ in factors for i in attributes}))}
        operands: Any = [part for attributes, array in factors for part in (array, [letter[i] for i in attributes])]
        return np.einsum(*operands, [letter[i] for i in axes], optimize=len(messages) > 0)

    def _message(self, source: Clique, target: Clique, wanted: Clique) -> Named:
        """P(wanted | shared), where the wanted attributes lie behind the edge and the shared ones on both its ends."""
        key = source, target, wanted
        if key not in self._messages:
            shared = _shared(source, target)
            joint = self._sum_up(source, target, wanted, shared + wanted)
            given = self._project(source, shared)[1].reshape(joint.shape[: len(shared)] + (1,) * len(wanted))
            self._messages[key] = shared + wanted, np.divide(joint, given, out=np.zeros_like(joint), where=given > 0)
        return self._messages[key]

    def _project(self, node: Clique, attributes: Iterable[int]) -> Named:
        kept = _shared(node, attributes)
        if (node, kept) not in self._projections:
            summed = tuple(axis for axis, i in enumerate(node) if i not in kept)
            self._projections[node, kept] = self._beliefs[node].sum(axis=summed)
        return kept, self._projections[node, kept]

    def _calibrated(self, potentials: Mapping[Clique, Array]) -> dict[Clique, Array]:
        """The marginals of the maximal cliques: logarithms are collected at a root, and handed back out."""
        logs = {node: np.zeros([self.sizes[i] for i in node]) for node in self._tree}
        for clique, potential in potentials.items():
            home = min((node for node in self._tree if {*clique} <= {*node}), key=lambda node: logs[node].size)
            logs[home] += self._spread(potential, clique, home)
        outward = list(nx.dfs_edges(self._tree, next(iter(self._tree))))
        collected = {}
        for parent, child in reversed(outward):
            shared = _shared(parent, child)
            collected[child] = _log_sums(logs[child], child, shared)
            logs[parent] += self._spread(collected[child], shared, parent)
        for parent, child in outward:
            shared = _shared(parent, child)
            logs[child] += self._spread(_log_sums(logs[parent], parent, shared) - collected[child], shared, child)
        beliefs = {node: np.exp(values - values.max()) for node, values in logs.items()}
        return {node: belief * (self.total / belief.sum()) for node, belief in beliefs.items()}

    def _spread(self, array: Array, attributes: Clique, node: Clique) -> Array:
        """The array with an axis for each attribute of a clique, of length 1 where it has none."""
        return array.reshape([self.sizes[i] if i in attributes else 1 for i in node])

    def _sides(self, a: Clique, b: Clique) -> list[tuple[tuple[Clique, Clique], set[int]]]:
        """For both directions of an edge, which attributes lie behind it."""
        cut = nx.Graph(self._tree)
        cut.remove_edge(a, b)
        return [
            ((source, target), set[int]().union(*nx.node_connected_component(cut, source)) - {*target})
            for source, target in ((a, b), (b, a))
        ]


def _connected(graph: "nx.Graph[Any]") -> "nx.Graph[Any]":
    """One tree: parts that share nothing are joined by edges that carry nothing but the total."""
    tree = nx.Graph(graph)
    parts = [next(iter(part)) for part in nx.connected_components(tree)]
    tree.add_edges_from(pairwise(parts))
    return tree


def _shared(node: Clique, attributes: Iterable[int]) -> Clique:
    return tuple(i for i in node if i in {*attributes})


def _log_sums(logs: Array, node: Clique, kept: Clique) -> Array:
    """log Σ exp over the attributes that are not kept."""
    axes = tuple(axis for axis, i in enumerate(node) if i not in kept)
    return reduce(lambda values, axis: np.logaddexp.reduce(values, axis=axis), reversed(axes), logs)
