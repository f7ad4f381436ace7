import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from residuum import Domain, Estimates, NoisyMarginal, NoisyResidual, Workload, kernels
from residuum.core.residuals import decompose_all
from residuum.estimate.shrink import kept_share, shrunk
from tests.estimate.mixtures import made

DOMAIN = Domain({"a": 3, "b": 2, "c": 4})
WORKLOAD = Workload.all_kway(DOMAIN, 2)
TARGET = (0, 2)
RESIDUALS = arrays(np.float64, array_shapes(max_dims=3, max_side=4), elements=st.floats(-1e6, 1e6))
PRECISIONS = st.floats(1e-9, 1e9)


class TestKeptShare:
    @given(RESIDUALS, PRECISIONS)
    def test_a_share(self, difference, precision):
        assert 0 <= kept_share(difference, precision) <= 1

    @given(RESIDUALS.filter(lambda difference: difference.size <= 2), PRECISIONS)
    def test_one_or_two_numbers_are_kept(self, difference, precision):
        assert kept_share(difference, precision) == 1

    @given(RESIDUALS, PRECISIONS, st.floats(1, 1e3))
    def test_more_is_kept_of_what_is_known_better(self, difference, precision, factor):
        assert kept_share(difference, precision * factor) >= kept_share(difference, precision)

    def test_no_difference(self):
        assert kept_share(np.zeros((3, 4)), 1.0) == 0

    def test_a_difference_as_large_as_its_noise_is_not_kept(self):
        """A distance of m - 2, which is less than the noise alone comes to."""
        difference = np.ones((2, 3))
        distance = np.square(kernels.center_all(difference)).sum()
        assert kept_share(difference, 4 / distance) == pytest.approx(0, abs=1e-12)
        assert kept_share(difference, 8 / distance) == pytest.approx(0.5)

    @pytest.mark.parametrize("size", [0.0, 2.0, 20.0])
    @pytest.mark.parametrize("shape", [(4,), (2, 3)])
    def test_the_risk_is_below_that_of_the_measurement(self, shape, size):
        """James and Stein: in the norm of the noise's own covariance, wherever the truth is."""
        rng, sigma2, rounds = np.random.default_rng(0), 5.0, 3000
        truth = rng.normal(size=shape)
        truth *= size / np.sqrt(loss(truth, sigma2))
        noise = rng.normal(scale=np.sqrt(sigma2), size=(rounds, *(n + 1 for n in shape)))
        risk = measured = 0.0
        for table in noise:
            difference = truth + kernels.sub_all(table)[0]
            risk += loss(kept_share(difference, 1 / sigma2) * difference - truth, sigma2) / rounds
            measured += loss(difference - truth, sigma2) / rounds
        m = int(np.prod(shape))
        assert measured == pytest.approx(m, rel=0.08)
        assert risk < measured
        if size == 0:
            assert risk < 2.2  # by theory below 2, whatever m is


def loss(difference, sigma2):
    return np.square(kernels.center_all(difference)).sum() / sigma2


def noisy(sigma2, *cliques, seed=0):
    rng = np.random.default_rng(seed)
    return Estimates(WORKLOAD, [NoisyMarginal(g, rng.normal(20, 8, DOMAIN.shape(g)), sigma2) for g in cliques])


class TestShrunk:
    MODEL = made(DOMAIN.sizes, members=2, classes=3, total=240.0)

    @given(st.integers(0, 2**32), st.floats(1e-3, 1e5), st.sets(st.sampled_from(WORKLOAD.closure), min_size=1))
    def test_the_total_is_the_measured_one(self, seed, sigma2, cliques):
        estimates = noisy(sigma2, *sorted(cliques), seed=seed)
        for gamma in WORKLOAD.closure:
            marginal = shrunk(estimates, self.MODEL, gamma)
            assert marginal.shape == DOMAIN.shape(gamma)
            assert marginal.sum() == pytest.approx(float(estimates.residual(())), rel=1e-6)

    def test_what_was_measured_precisely_stays(self):
        estimates = noisy(1e-9, *WORKLOAD.targets)
        for gamma in WORKLOAD.closure:
            np.testing.assert_allclose(shrunk(estimates, self.MODEL, gamma), estimates.marginal(gamma), atol=1e-6)

    def test_what_was_measured_badly_is_the_reference(self):
        measurements = [NoisyResidual((), 240.0, 1.0), NoisyResidual(TARGET, np.full((2, 3), 5.0), 1e9)]
        estimates = Estimates(WORKLOAD, measurements)
        np.testing.assert_allclose(shrunk(estimates, self.MODEL, TARGET), self.MODEL.marginal(TARGET), atol=1e-3)

    def test_what_nobody_measured_is_the_reference(self):
        for gamma in WORKLOAD.closure:
            np.testing.assert_allclose(shrunk(Estimates(WORKLOAD), self.MODEL, gamma), self.MODEL.marginal(gamma))

    def test_components_are_drawn_one_by_one(self):
        estimates = noisy(2.0, (0,), (2,))
        found = decompose_all(shrunk(estimates, self.MODEL, TARGET), TARGET)
        assumed = decompose_all(self.MODEL.marginal(TARGET), TARGET)
        np.testing.assert_allclose(found[(0,)], estimates.residual((0,)), atol=1e-9)
        share = kept_share(estimates.residual((2,)) - assumed[(2,)], estimates.precision((2,)))
        assert 0 < share < 1
        expected = assumed[(2,)] + share * (estimates.residual((2,)) - assumed[(2,)])
        np.testing.assert_allclose(found[(2,)], expected, atol=1e-9)
        np.testing.assert_allclose(found[TARGET], assumed[TARGET], atol=1e-9)

    def test_a_good_reference_brings_it_nearer_to_the_truth(self):
        truth, rng = self.MODEL.marginal(TARGET), np.random.default_rng(0)
        nearer, measured = 0.0, 0.0
        for _ in range(50):
            values = truth + rng.normal(scale=10.0, size=truth.shape)
            estimates = Estimates(WORKLOAD, [NoisyMarginal(TARGET, values, 100.0)])
            nearer += np.square(shrunk(estimates, self.MODEL, TARGET) - truth).sum()
            measured += np.square(values - truth).sum()
        assert nearer < 0.7 * measured
