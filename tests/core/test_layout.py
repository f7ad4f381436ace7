import numpy as np
import pytest

from residuum import Domain, Workload, WorkloadError
from residuum.core.layout import Layout


def test_layout():
    domain = Domain({"a": 4, "b": 3, "c": 2, "d": 2})
    workload = Workload(domain, [(0, 1, 2), (1, 3)])
    layout = Layout(workload)
    covered = np.zeros(layout.cells, dtype=int)
    for k, gamma in enumerate(workload.closure):
        place = layout.place(gamma)
        assert (place.start, place.stop) == (layout.starts[k], layout.starts[k + 1])
        assert place.stop - place.start == domain.size(gamma)
        covered[place] += 1
        assert tuple(workload.closure[j] for j in layout.above(gamma)) == workload.supersets(gamma)
    assert (covered == 1).all()
    assert layout.maximal == [(1, 3), (0, 1, 2)]


def test_only_those_named():
    domain = Domain({"a": 4, "b": 3, "c": 2})
    workload = Workload.all_kway(domain, 3)
    layout = Layout(workload, [(2,), (0, 2), (1, 2)])
    assert layout.cells == 2 + 8 + 6
    assert layout.place((1, 2)) == slice(10, 16)
    assert layout.above((2,)).tolist() == [0, 1, 2]
    assert layout.above((0, 1)).tolist() == []
    assert layout.attributes.tolist() == [[2, -1], [0, 2], [1, 2]]
    assert layout.maximal == [(0, 2), (1, 2)]
    with pytest.raises(WorkloadError, match="not in the workload's closure"):
        Layout(workload, [(3,)])


def test_summing():
    domain = Domain({"a": 4, "b": 3, "c": 2})
    layout = Layout(Workload.all_kway(domain, 3))
    mu = np.random.default_rng(0).integers(0, 9, size=domain.sizes)
    cells = np.zeros(layout.cells, dtype=np.int32)
    cells[layout.place((0, 1, 2))] = mu.reshape(-1)
    layout.sum_up(cells, {(0, 1, 2)})
    for gamma in layout.cliques:
        others = tuple(i for i in range(3) if i not in gamma)
        np.testing.assert_array_equal(cells[layout.place(gamma)], mu.sum(axis=others).reshape(-1))
