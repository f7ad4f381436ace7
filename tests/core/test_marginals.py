import numpy as np
import pytest

from residuum import Domain, Estimates, NoisyMarginal, Workload, WorkloadError
from residuum.core.marginals import Marginals

WORKLOAD = Workload.all_kway(Domain({"a": 3, "b": 2, "c": 4}), 2)


def test_a_mapping_of_views():
    marginals = Marginals(WORKLOAD, [(0, 1), (2,), (0, 1)])
    assert list(marginals) == [(0, 1), (2,)]
    assert len(marginals) == 2
    assert (0, 1) in marginals
    assert (1,) not in marginals
    assert marginals.below == {(), (0,), (1,), (2,), (0, 1)}
    with pytest.raises(KeyError):
        marginals[(0, 2)]
    marginals[(2,)][:] = 5
    assert marginals[(2,)].tolist() == [5, 5, 5, 5]
    assert not marginals[(0, 1)].any()
    marginals.clear()
    assert not marginals[(2,)].any()


def test_only_what_the_workload_asks_for():
    with pytest.raises(WorkloadError, match="not in the workload's closure"):
        Marginals(WORKLOAD, [(0, 1, 2)])
    assert not Marginals(WORKLOAD, [])


def test_what_is_put_together_does_not_fetch_other_residuals():
    estimates = Estimates(WORKLOAD, [NoisyMarginal(gamma, np.ones(WORKLOAD.domain.shape(gamma)), 1.0)
                                     for gamma in WORKLOAD.targets])  # fmt: skip
    fetched = []

    class Watched(dict):
        def __getitem__(self, tau):
            fetched.append(tau)
            return super().__getitem__(tau)

    measured = {tau: estimates.residual(tau) for tau in WORKLOAD.closure}
    kept = Estimates.kept(WORKLOAD, Watched(measured), {tau: estimates.precision(tau) for tau in measured})
    some = Marginals(WORKLOAD, [(0, 1), (2,)])
    kept.rebuild_into(some)
    assert sorted(fetched) == [(), (0,), (0, 1), (1,), (2,)]
    for gamma in some:
        np.testing.assert_allclose(some[gamma], estimates.rebuild(gamma), rtol=1e-12)
