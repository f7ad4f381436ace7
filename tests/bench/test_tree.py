"""Marginals from a junction tree against the whole joint distribution."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from bench.pgm.tree import JunctionTree


def junction_tree(attributes, cliques):
    graph = nx.Graph()
    graph.add_nodes_from(attributes)
    graph.add_edges_from(pair for clique in cliques for pair in combinations(clique, 2))
    chordal, _ = nx.complete_to_chordal_graph(graph)
    nodes = [tuple(sorted(clique)) for clique in nx.chordal_graph_cliques(chordal)]
    overlaps = nx.Graph()
    overlaps.add_nodes_from(nodes)
    for one, other in combinations(nodes, 2):
        if shared := len({*one} & {*other}):
            overlaps.add_edge(one, other, weight=shared)
    return nx.maximum_spanning_tree(overlaps)


def joint(sizes, potentials, total):
    logs = sum(p.reshape([n if i in c else 1 for i, n in enumerate(sizes)]) for c, p in potentials.items())
    weights = np.exp(np.broadcast_to(logs, sizes))
    return weights * (total / weights.sum())


@pytest.mark.parametrize("seed", range(40))
def test_every_marginal_is_that_of_the_joint(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 7))
    sizes = tuple(rng.integers(2, 4, d).tolist())
    cliques = {(i,) for i in range(d)}
    for _ in range(rng.integers(0, 5)):
        cliques.add(tuple(sorted(rng.choice(d, size=min(d, int(rng.integers(2, 4))), replace=False).tolist())))
    potentials = {clique: 2 * rng.normal(size=[sizes[i] for i in clique]) for clique in cliques}
    tree = JunctionTree(junction_tree(range(d), cliques), sizes, potentials, total=7.0)
    whole = joint(sizes, potentials, 7.0)
    for k in range(min(d, 4) + 1):
        for gamma in combinations(range(d), k):
            expected = whole.sum(axis=tuple(i for i in range(d) if i not in gamma))
            np.testing.assert_allclose(tree.marginal(gamma), expected, rtol=1e-9)


def test_more_attributes_than_letters():
    d = 70
    potentials = {(i, i + 1): np.log([[3.0, 1], [1, 3]]) for i in range(d - 1)}
    tree = JunctionTree(junction_tree(range(d), potentials), (2,) * d, potentials, total=1.0)
    np.testing.assert_allclose(tree.marginal((0, 69)).sum(axis=0), [0.5, 0.5])
    same = (1 + 0.5**69) / 2  # a chain whose every link keeps a value with probability 3/4
    np.testing.assert_allclose(np.trace(tree.marginal((0, 69))), same)


def test_impossible_values_stay_impossible():
    potentials = {(0, 1): np.array([[0.0, -800.0], [-800.0, 0.0]]), (1, 2): np.zeros((2, 2))}
    tree = JunctionTree(junction_tree(range(3), potentials), (2, 2, 2), potentials, total=4.0)
    np.testing.assert_allclose(tree.marginal((0, 1, 2)), [[[1, 1], [0, 0]], [[0, 0], [1, 1]]])
