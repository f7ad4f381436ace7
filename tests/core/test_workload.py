import pickle
from itertools import combinations

import numpy as np
import pytest

from residuum import Domain, DomainError, Workload, WorkloadError
from residuum.core.workload import subsets


@pytest.fixture
def domain():
    return Domain({"a": 4, "b": 3, "c": 2, "d": 5})


def test_all_kway(domain):
    workload = Workload.all_kway(domain, 3)
    assert workload.targets == ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))
    assert set(workload.weights.values()) == {1.0}
    assert workload.closure == tuple(c for order in range(4) for c in combinations(range(4), order))
    assert workload.cells == 24 + 60 + 40 + 30


def test_cliques_of_different_orders(domain):
    workload = Workload(domain, [("d", "a"), ("b",), ("a", "b", "c")])
    assert workload.targets == ((1,), (0, 3), (0, 1, 2))
    assert workload.closure == ((), (0,), (1,), (2,), (3,), (0, 1), (0, 2), (0, 3), (1, 2), (0, 1, 2))
    assert (0, 3) in workload
    assert (1, 3) not in workload


def test_a_clique_given_twice_counts_twice(domain):
    assert dict(Workload(domain, [("a", "b"), ("b", "a")]).weights) == {(0, 1): 2.0}


def test_numpy_numbers_and_copies(domain):
    workload = Workload(domain, {("a", "b"): np.int64(2), ("c",): np.float32(1)})
    assert workload.weights == {(2,): 1.0, (0, 1): 2.0}
    assert len(Workload.all_kway(domain, np.int64(2)).targets) == 6
    assert pickle.loads(pickle.dumps(workload)).weights == workload.weights


def test_supersets_are_those_of_the_closure(domain):
    workload = Workload(domain, [("a", "b", "c"), ("d",)])
    for tau in workload.closure:
        assert workload.supersets(tau) == tuple(g for g in workload.closure if set(tau) <= set(g))


def test_weights_multiply_their_part(domain):
    weights = {(0, 1): 2.0, (1, 2, 3): 0.5, (3,): 1}
    workload = Workload(domain, weights)
    for gamma in workload.closure:
        expected = sum(c * len(set(gamma) & set(pi)) for pi, c in weights.items())
        assert workload.weight(gamma) == pytest.approx(expected)
    assert workload.weight(()) == 0


def test_cells_are_counted_exactly_before_anything_is_allocated():
    huge = Domain({f"x{i}": 10**6 for i in range(6)})
    assert Workload.all_kway(huge, 6).cells == 10**36
    assert "1 targets" in repr(Workload.all_kway(huge, 6))


def test_subsets_come_smallest_first():
    assert list(subsets((1, 4, 6))) == [(), (1,), (4,), (6,), (1, 4), (1, 6), (4, 6), (1, 4, 6)]


@pytest.mark.parametrize("k", [0, 5, -1, 1.5, True, "2", None])
def test_bad_k(domain, k):
    with pytest.raises(WorkloadError, match="Expected k between 1 and the 4 attributes"):
        Workload.all_kway(domain, k)


def test_too_many_cliques_are_refused_before_they_are_listed():
    wide = Domain({f"x{i}": 2 for i in range(200)})
    with pytest.raises(WorkloadError, match="cliques with those below them"):
        Workload.all_kway(wide, 6)
    with pytest.raises(WorkloadError, match="200 attributes has too many subsets"):
        Workload(wide, [range(200)])


@pytest.mark.parametrize(
    ("cliques", "error", "message"),
    [
        ([], WorkloadError, "at least one clique"),
        ([()], WorkloadError, "at least one clique with an attribute"),
        ([("a", "height")], DomainError, "Unknown attribute 'height'"),
        ([("a", "a")], DomainError, "named twice"),
        ([None], DomainError, "got None"),
        ({("a",): 10**400}, WorkloadError, "Expected a positive weight"),
        ({("a",): 0.0}, WorkloadError, "Expected a positive weight for the clique \\('a',\\), got 0.0"),
        ({("a",): -1}, WorkloadError, "got -1"),
        ({("a",): float("nan")}, WorkloadError, "got nan"),
        ({("a",): float("inf")}, WorkloadError, "got inf"),
        ({("a",): "much"}, WorkloadError, "got 'much'"),
        (3, WorkloadError, "Expected a list of cliques"),
        ("ab", WorkloadError, "Expected a list of cliques"),
    ],
)
def test_bad_cliques(domain, cliques, error, message):
    with pytest.raises(error, match=message):
        Workload(domain, cliques)


@pytest.mark.parametrize("gamma", [(1, 0), (0, 1, 2), "ab", [0], None, ([0],)])
def test_outside_the_closure(domain, gamma):
    workload = Workload.all_kway(domain, 2)
    with pytest.raises(WorkloadError, match="not in the workload's closure"):
        workload.supersets(gamma)
