import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residuum import (
    Domain,
    DomainError,
    Estimates,
    NoisyMarginal,
    NoisyResidual,
    ResiduumError,
    Workload,
    WorkloadError,
)
from residuum.core.marginals import Marginals
from residuum.core.workload import subsets
from tests.core import dense

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})


@st.composite
def measurements(draw, most=8):
    """Noisy residuals and noisy marginals over cliques of up to three attributes, some of them several times."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    drawn = []
    for _ in range(draw(st.integers(0, most))):
        clique = tuple(sorted(draw(st.sets(st.integers(0, 3), max_size=3))))
        shape = DOMAIN.shape(clique)
        sigma2 = draw(st.floats(0.01, 100))
        if draw(st.booleans()):
            drawn.append(NoisyMarginal(clique, rng.normal(scale=10, size=shape), sigma2))
        else:
            drawn.append(NoisyResidual(clique, rng.normal(scale=10, size=[n - 1 for n in shape]), sigma2))
    return drawn


def weighted_least_squares(measurements):
    """The shortest data vector among the most likely ones, with every matrix written out. Paper: Theorem 4.1."""
    rows, answers = [np.zeros((0, DOMAIN.size((0, 1, 2, 3))))], [np.zeros(0)]
    for m in measurements:
        if isinstance(m, NoisyMarginal):
            query, covariance = dense.marginalization(m.gamma, DOMAIN.sizes), np.eye(m.values.size)
        else:
            query = dense.residual_query(m.tau, DOMAIN.sizes)
            covariance = dense.covariance(DOMAIN.shape(m.tau))
        whiten = np.linalg.inv(np.linalg.cholesky(covariance)) / np.sqrt(m.sigma2)
        rows.append(whiten @ query)
        answers.append(whiten @ m.values.ravel())
    return np.linalg.lstsq(np.vstack(rows), np.concatenate(answers), rcond=1e-10)[0]


@settings(deadline=None)
@given(measurements())
def test_equals_dense_weighted_least_squares(drawn):
    data = weighted_least_squares(drawn)
    workload = Workload.all_kway(DOMAIN, 3)
    estimates = Estimates(workload, drawn)
    for gamma in workload.closure:
        expected = (dense.marginalization(gamma, DOMAIN.sizes) @ data).reshape(DOMAIN.shape(gamma))
        np.testing.assert_allclose(estimates.marginal(gamma), expected, rtol=1e-6, atol=1e-6)


@given(measurements(most=12))
def test_lazy_equals_full(drawn):
    workload = Workload.all_kway(DOMAIN, 3)
    held = [gamma for gamma in workload.closure if len(gamma) != 1]
    estimates = Estimates(workload, held=held)
    for measurement in drawn:
        estimates.absorb(measurement)
        for gamma in held:
            np.testing.assert_allclose(estimates.marginal(gamma), estimates.rebuild(gamma), rtol=1e-8, atol=1e-8)


@given(measurements())
def test_overlapping_marginals_agree(drawn):
    estimates = Estimates(Workload.all_kway(DOMAIN, 3), drawn)
    for gamma in estimates.workload.targets:
        mu = estimates.marginal(gamma)
        for tau in subsets(gamma):
            summed = mu.sum(axis=tuple(k for k, i in enumerate(gamma) if i not in tau))
            np.testing.assert_allclose(summed, estimates.marginal(tau), rtol=1e-8, atol=1e-8)


@given(measurements(), st.randoms())
def test_order_does_not_matter(drawn, random):
    workload = Workload.all_kway(DOMAIN, 3)
    shuffled = list(drawn)
    random.shuffle(shuffled)
    one, two = Estimates(workload, drawn), Estimates(workload, shuffled)
    for gamma in workload.targets:
        np.testing.assert_allclose(one.marginal(gamma), two.marginal(gamma), rtol=1e-8, atol=1e-8)
    for tau in workload.closure:
        assert one.precision(tau) == pytest.approx(two.precision(tau))


def test_the_implied_variance_is_the_covariance_of_decomp():
    gamma, sigma2 = (0, 1, 2), 0.7
    sizes = DOMAIN.shape(gamma)
    for residual in NoisyMarginal(gamma, np.zeros(sizes), sigma2).residuals():
        t = dense.decomposition(gamma, residual.tau, sizes)
        covariance = dense.covariance(DOMAIN.shape(residual.tau))
        np.testing.assert_allclose(sigma2 * t @ t.T, residual.sigma2 * covariance, rtol=1e-12)


def test_averaging_by_inverse_variance():
    estimates = Estimates(
        Workload.all_kway(DOMAIN, 1), [NoisyResidual((1,), [10.0], 1.0), NoisyResidual((1,), [20.0], 4.0)]
    )
    assert estimates.residual((1,)) == pytest.approx([12.0])
    assert estimates.precision((1,)) == 1.25
    assert estimates.precision((0,)) == 0.0


def test_a_marginal_outside_the_closure_tells_what_it_can():
    workload = Workload(DOMAIN, [("a", "b"), ("c",)])
    counts = np.random.default_rng(0).integers(0, 50, DOMAIN.shape((0, 1, 2))).astype(float)
    estimates = Estimates(workload, [NoisyMarginal((0, 1, 2), counts, 1.0)])
    np.testing.assert_allclose(estimates.marginal((0, 1)), counts.sum(axis=2))
    np.testing.assert_allclose(estimates.marginal((2,)), counts.sum(axis=(0, 1)))


def test_what_went_in_can_be_changed_without_harm():
    values = np.array([1.0, 2.0])
    measurement = NoisyResidual((0,), values, 1.0)
    values[:] = np.nan
    assert Estimates(Workload.all_kway(DOMAIN, 1), [measurement]).residual((0,)).tolist() == [1.0, 2.0]


def test_what_comes_out_can_be_changed_without_harm():
    estimates = Estimates(Workload.all_kway(DOMAIN, 2), [NoisyMarginal((0, 1), np.ones((3, 2)), 1.0)], held=[(0, 1)])
    estimates.marginal((0, 1))[:] = 7
    estimates.residual((0,))[:] = 7
    np.testing.assert_allclose(estimates.marginal((0, 1)), np.ones((3, 2)))
    np.testing.assert_allclose(estimates.rebuild((0, 1)), np.ones((3, 2)))


class TestBadInput:
    @pytest.mark.parametrize("kind", [NoisyResidual, NoisyMarginal])
    @pytest.mark.parametrize(
        "sigma2", [0, -1.0, 1e-309, 10**400, float("nan"), float("inf"), "1", None, True, 1j, np.complex64(1)]
    )
    def test_variance(self, kind, sigma2):
        with pytest.raises(ResiduumError, match="Expected `sigma2`"):
            kind((0,), [1.0, 2.0], sigma2)

    @pytest.mark.parametrize("kind", [NoisyResidual, NoisyMarginal])
    def test_values(self, kind):
        with pytest.raises(ResiduumError, match=r"got nan at index \(1,\)"):
            kind((0,), [1.0, float("nan")], 1.0)
        with pytest.raises(DomainError, match="ascending"):
            kind((1, 0), [[1.0]], 1.0)

    @pytest.mark.parametrize("kind", [NoisyResidual, NoisyMarginal])
    def test_axes(self, kind):
        with pytest.raises(DomainError, match=r"an axis for each attribute of \(0, 1\), got shape \(2,\)"):
            kind((0, 1), [1.0, 2.0], 1.0)

    @pytest.mark.parametrize(
        ("measurement", "error", "message"),
        [
            (NoisyMarginal((0,), [1.0, 2.0], 1.0), DomainError, r"Expected a measurement of shape \(3,\), got \(2,\)"),
            (NoisyResidual((0,), [1.0], 1.0), DomainError, r"Expected a measurement of shape \(2,\), got \(1,\)"),
            (NoisyResidual((0, 1), [[1.0], [2.0]], 1.0), WorkloadError, r"Clique \(0, 1\) is not in the workload"),
            (NoisyMarginal((9,), [1.0, 2.0], 1.0), DomainError, "Unknown attribute 9"),
        ],
    )
    def test_a_measurement_that_does_not_fit_changes_nothing(self, measurement, error, message):
        estimates = Estimates(Workload.all_kway(DOMAIN, 1))
        with pytest.raises(error, match=message):
            estimates.absorb(measurement)
        assert all(estimates.precision(tau) == 0 for tau in estimates.workload.closure)

    def test_not_a_measurement(self):
        with pytest.raises(ResiduumError, match="Expected a NoisyResidual or a NoisyMarginal, got NoneType"):
            Estimates(Workload.all_kway(DOMAIN, 1)).absorb(None)

    def test_outside_the_closure(self):
        estimates = Estimates(Workload.all_kway(DOMAIN, 1))
        for ask in (estimates.marginal, estimates.rebuild, estimates.residual, estimates.precision):
            for clique in ((0, 1), [0], None, (0.5,), ([0],)):
                with pytest.raises(WorkloadError, match="is not in the workload's closure"):
                    ask(clique)
        with pytest.raises(WorkloadError):
            Estimates(estimates.workload, held=[(0, 1)])


class TestKept:
    """Estimates that are kept elsewhere: as good as absorbed ones, and fetched when needed."""

    @pytest.fixture
    def kept(self):
        domain = Domain({"a": 3, "b": 2, "c": 4})
        workload = Workload.all_kway(domain, 2)
        estimates = Estimates(workload, [NoisyMarginal((0, 1), np.arange(6.0).reshape(3, 2), 2.0)])
        measured = [tau for tau in workload.closure if estimates.precision(tau) > 0]
        residuals = {tau: estimates.residual(tau) for tau in measured}
        return estimates, residuals, {tau: estimates.precision(tau) for tau in measured}

    def test_the_same_marginals_before_and_after_more_measurements(self, kept):
        estimates, residuals, precisions = kept
        again = Estimates.kept(estimates.workload, residuals, precisions)
        before = {tau: z.copy() for tau, z in residuals.items()}
        for measurement in (None, NoisyMarginal((0, 2), np.ones((3, 4)), 1.0), NoisyResidual((0, 1), [[1], [2]], 3.0)):
            if measurement is not None:
                estimates.absorb(measurement)
                again.absorb(measurement)
            rebuilt = Marginals(estimates.workload, estimates.workload.closure)
            rebuilt.add((), np.ones(()))  # something that must be gone afterwards
            again.rebuild_into(rebuilt)
            for gamma in estimates.workload.closure:
                np.testing.assert_array_equal(again.marginal(gamma), estimates.marginal(gamma))
                np.testing.assert_allclose(rebuilt[gamma], estimates.marginal(gamma), atol=1e-12)
                assert again.precision(gamma) == estimates.precision(gamma)
        assert residuals.keys() == before.keys() == precisions.keys()
        assert all((residuals[tau] == before[tau]).all() for tau in before)

    def test_fetched_only_when_needed(self, kept):
        estimates, residuals, precisions = kept
        fetched = []

        class Watched(dict):
            def __getitem__(self, tau):
                fetched.append(tau)
                return super().__getitem__(tau)

        again = Estimates.kept(estimates.workload, Watched(residuals), precisions)
        assert fetched == []
        again.marginal((0,))
        assert set(fetched) == {(), (0,)}

    def test_odd_input(self, kept):
        workload, residuals, precisions = kept[0].workload, kept[1], kept[2]
        with pytest.raises(ResiduumError, match="a precision for each residual"):
            Estimates.kept(workload, residuals, {})
        for precision in (0.0, -1.0, np.nan, np.inf):
            with pytest.raises(ResiduumError, match="precision above 0 for the residual"):
                Estimates.kept(workload, residuals, dict.fromkeys(precisions, precision))
        with pytest.raises(WorkloadError, match="not in the workload's closure"):
            Estimates.kept(workload, {(0, 1, 2): np.zeros((2, 1, 3))}, {(0, 1, 2): 1.0})
