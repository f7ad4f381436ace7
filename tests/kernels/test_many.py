"""The kernels that reach many marginals at once against their NumPy twins."""

import numpy as np
import pytest

from residuum import Domain, Workload, kernels
from residuum.core.layout import Layout
from residuum.kernels import threads, twins

WORKLOADS = [
    Workload.all_kway(Domain({"a": 4}), 1),
    Workload.all_kway(Domain({"a": 4, "b": 3, "c": 2, "d": 5}), 3),
    Workload(Domain({"a": 2, "b": 3, "c": 2, "d": 4, "e": 3}), [(0, 1, 2, 3, 4), (2, 4)]),
    Workload(Domain({"a": 70, "b": 60, "c": 2}), [(0, 1), (1, 2), (2,)]),
]


@pytest.fixture(params=["1", "3"])
def number_of_threads(request, monkeypatch):
    monkeypatch.setenv("RESIDUUM_THREADS", request.param)
    monkeypatch.setattr(threads, "WORTHWHILE", 1)


def where(workload):
    """For every residual of a workload, what the kernels are told about the marginals above it."""
    closure, layout = workload.closure, Layout(workload)
    for tau in closure:
        above = np.array([k for k, gamma in enumerate(closure) if set(tau) <= set(gamma)])
        sizes = np.array(workload.domain.sizes)
        yield tau, (np.array(tau, dtype=np.int64), above, layout.starts, layout.attributes, sizes)


@pytest.mark.usefixtures("number_of_threads")
@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
def test_add_above(workload):
    rng = np.random.default_rng(6)
    cells = rng.normal(size=Layout(workload).cells)
    expected = cells.copy()
    for tau, arguments in where(workload):
        component = rng.normal(size=workload.domain.size(tau))
        kernels.add_above(cells, component, *arguments)
        twins.add_above(expected, component, *arguments)
        np.testing.assert_allclose(cells, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("number_of_threads")
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
def test_subtract_component(workload, dtype):
    rng = np.random.default_rng(5)
    closure = workload.closure
    cells = rng.integers(-1000, 1000, Layout(workload).cells).astype(dtype)
    norms = np.full(len(closure), -1)
    expected, expected_norms = cells.copy(), norms.copy()
    scales = np.ldexp(1.0, np.arange(len(closure)) % 5)
    for tau, arguments in where(workload):
        component = rng.normal(scale=300, size=workload.domain.size(tau))
        kernels.subtract_component(cells, norms, component, *arguments, scales)
        twins.subtract_component(expected, expected_norms, component, *arguments, scales)
        np.testing.assert_array_equal(cells, expected)
        np.testing.assert_array_equal(norms, expected_norms)
    assert (norms >= 0).all()
    assert np.abs(cells).max() > 100
