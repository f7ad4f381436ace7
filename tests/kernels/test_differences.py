"""The kernel that keeps the differences against its NumPy twin."""

import numpy as np
import pytest

from residuum import Domain, Workload, kernels
from residuum.kernels import threads, twins

WORKLOADS = [
    Workload.all_kway(Domain({"a": 4}), 1),
    Workload.all_kway(Domain({"a": 4, "b": 3, "c": 2, "d": 5}), 3),
    Workload(Domain({"a": 2, "b": 3, "c": 2, "d": 4, "e": 3}), [(0, 1, 2, 3, 4), (2, 4)]),
    Workload(Domain({"a": 70, "b": 60, "c": 2}), [(0, 1), (1, 2), (2,)]),
]


@pytest.mark.parametrize("number_of_threads", ["1", "3"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
def test_subtract_component(workload, dtype, number_of_threads, monkeypatch):
    monkeypatch.setenv("RESIDUUM_THREADS", number_of_threads)
    monkeypatch.setattr(threads, "WORTHWHILE", 1)
    rng = np.random.default_rng(5)
    domain, closure = workload.domain, workload.closure
    sizes = np.array(domain.sizes)
    starts = np.cumsum([0, *(domain.size(gamma) for gamma in closure)])
    attributes = np.full((len(closure), max(map(len, closure))), -1)
    for k, gamma in enumerate(closure):
        attributes[k, : len(gamma)] = gamma
    cells = rng.integers(-1000, 1000, starts[-1]).astype(dtype)
    norms = np.full(len(closure), -1)
    expected, expected_norms = cells.copy(), norms.copy()
    for tau in closure:
        component = rng.normal(scale=300, size=domain.size(tau))
        above = np.array([k for k, gamma in enumerate(closure) if set(tau) <= set(gamma)])
        layout = (
            np.array(tau, dtype=np.int64),
            above,
            starts,
            attributes,
            sizes,
            np.ldexp(1.0, np.arange(len(closure)) % 5),
        )
        kernels.subtract_component(cells, norms, component, *layout)
        twins.subtract_component(expected, expected_norms, component, *layout)
        np.testing.assert_array_equal(cells, expected)
        np.testing.assert_array_equal(norms, expected_norms)
    assert (norms >= 0).all()
    assert np.abs(cells).max() > 100
