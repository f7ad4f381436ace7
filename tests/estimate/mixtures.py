"""Mixtures, tables drawn from them and measurements of those, for the tests of this room."""

from functools import reduce
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from residuum import Estimates, NoisyMarginal
from residuum.estimate.mixture import Mixture


def made(sizes, members=1, classes=2, total=100.0, seed=0, evenness=0.7):
    """A mixture with random weights and shares."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(classes), members)
    parts = [rng.dirichlet(np.full(n, evenness), (members, classes)) for n in sizes]
    shares = np.concatenate(parts, axis=2)
    return Mixture(tuple(sizes), total, weights.astype(np.float32), shares.astype(np.float32))


def mixtures():
    """Small mixtures of every form."""
    return st.builds(
        made,
        st.lists(st.integers(2, 4), min_size=1, max_size=4),
        members=st.integers(1, 3),
        classes=st.integers(1, 4),
        total=st.floats(1.0, 1e6),
        seed=st.integers(0, 2**32),
    )


def cliques(mixture):
    """All cliques of a mixture's attributes."""
    attributes = range(len(mixture.sizes))
    return [gamma for order in range(len(attributes) + 1) for gamma in combinations(attributes, order)]


def enumerated(mixture):
    """The counts over all attributes of each member, written out: of shape (members, n_i for all i)."""
    ends = np.cumsum(mixture.sizes)[:-1]
    tables = []
    for weights, shares in zip(mixture.weights.astype(float), mixture.shares.astype(float), strict=True):
        products = (reduce(np.multiply.outer, np.split(row, ends)) for row in shares)
        tables.append(mixture.total * sum(w * product for w, product in zip(weights, products, strict=True)))
    return np.array(tables)


def summed(table, gamma):
    """The marginal of a table over all attributes."""
    return table.sum(axis=tuple(i for i in range(table.ndim) if i not in gamma))


def measured(table, workload, sigma2, seed=0):
    """Estimates from all targets of a workload, measured with noise."""
    rng = np.random.default_rng(seed)
    noise = {g: rng.normal(scale=np.sqrt(sigma2), size=workload.domain.shape(g)) for g in workload.targets}
    return Estimates(workload, [NoisyMarginal(g, summed(table, g) + noise[g], sigma2) for g in workload.targets])
