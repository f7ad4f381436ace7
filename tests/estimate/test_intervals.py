from statistics import NormalDist

import numpy as np
import pytest

from residuum import Domain, Estimates, NoisyMarginal, NoisyResidual, Workload, kernels
from residuum.core import planner
from residuum.core.residuals import decompose_all
from residuum.estimate import latent
from residuum.estimate.intervals import REACH, best_stderr, model_stderr, noise_stderr
from residuum.estimate.mixture import Mixture
from tests.estimate.mixtures import enumerated, made, measured, summed

DOMAIN = Domain({"a": 3, "b": 2, "c": 4})
WORKLOAD = Workload.all_kway(DOMAIN, 2)


def test_the_reach_is_that_of_95_percent():
    assert pytest.approx(NormalDist().inv_cdf(0.975), rel=1e-12) == REACH


class TestNoise:
    def test_it_holds_for_a_plan_of_residual_planner(self):
        """Errors over many runs have the standard errors claimed, and 95% of the intervals hold the truth."""
        rng, truth = np.random.default_rng(0), np.random.default_rng(1).integers(0, 30, DOMAIN.sizes).astype(float)
        sigma2 = planner.plan(WORKLOAD, rho=0.05).sigma2
        residuals = decompose_all(truth, (0, 1, 2))
        errors = {gamma: [] for gamma in WORKLOAD.closure}
        for _ in range(800):
            estimates = Estimates(
                WORKLOAD, [NoisyResidual(tau, residuals[tau] + noise(rng, tau, s), s) for tau, s in sigma2.items()]
            )
            for gamma, found in errors.items():
                found.append(estimates.marginal(gamma) - summed(truth, gamma))
        for gamma, found in errors.items():
            stderr, unmeasured = noise_stderr(estimates, gamma)
            assert unmeasured == ()
            assert np.sqrt(np.square(found).mean(axis=0)) == pytest.approx(stderr, rel=0.1)
            assert (np.abs(found) <= REACH * stderr).mean() == pytest.approx(0.95, abs=0.02)

    def test_marginals_measured_directly(self):
        noisy = [NoisyMarginal((0, 1), np.ones((3, 2)), 9.0)]
        assert noise_stderr(Estimates(WORKLOAD, noisy), (0, 1)) == (pytest.approx(3.0), ())
        assert noise_stderr(Estimates(WORKLOAD, noisy), (0,)) == (pytest.approx(np.sqrt(18)), ())
        assert noise_stderr(Estimates(WORKLOAD, noisy * 4), (0, 1)) == (pytest.approx(1.5), ())

    def test_what_nobody_measured_is_named(self):
        estimates = Estimates(WORKLOAD, [NoisyMarginal((0,), np.ones(3), 9.0)])
        assert noise_stderr(estimates, (0, 2)) == (pytest.approx(3 / 4), ((2,), (0, 2)))
        assert noise_stderr(Estimates(WORKLOAD), (1,)) == (0.0, ((), (1,)))


def noise(rng, tau, sigma2):
    table = rng.normal(scale=np.sqrt(sigma2), size=DOMAIN.shape(tau))
    return kernels.sub_all(table)[0] if tau else table


class TestModel:
    def test_none_for_a_single_member(self):
        assert model_stderr(made(DOMAIN.sizes, members=1), (0, 1)) is None

    def test_no_less_than_the_members_and_a_finite_table_make_for(self):
        model = made(DOMAIN.sizes, members=5, total=500.0)
        for gamma in WORKLOAD.closure:
            stderr = model_stderr(model, gamma)
            assert stderr.shape == DOMAIN.shape(gamma)
            assert (np.square(stderr) >= model.variance(gamma) + model.marginal(gamma)).all()
            assert (stderr <= 2 * np.sqrt(model.variance(gamma)) + np.sqrt(model.marginal(gamma)) + 1).all()

    def test_members_that_agree_leave_what_a_finite_table_makes_for(self):
        one = made(DOMAIN.sizes, total=500.0)
        model = Mixture(one.sizes, one.total, np.repeat(one.weights, 4, axis=0), np.repeat(one.shares, 4, axis=0))
        stderr = model_stderr(model, (0, 1))
        assert (stderr >= np.sqrt(model.marginal((0, 1)))).all()
        assert (stderr <= np.sqrt(model.marginal((0, 1))) + 1).all()

    def test_it_holds_on_a_table_whose_truth_is_known(self):
        """Triples that nobody measured, of tables drawn from latent classes."""
        domain = Domain({"a": 3, "b": 2, "c": 4, "d": 3})
        workload = Workload.all_kway(domain, 2)
        held, widths = [], []
        for seed in range(3):
            shares = enumerated(made(domain.sizes, classes=4, total=1.0, seed=seed))[0]
            rng = np.random.default_rng(seed)
            truth = rng.multinomial(3000, shares.reshape(-1) / shares.sum()).reshape(shares.shape)
            model = latent.fit(measured(truth, workload, sigma2=100.0, seed=seed), classes=16, members=6)
            for gamma in Workload.all_kway(domain, 3).targets:
                off = np.abs(model.marginal(gamma) - summed(truth, gamma))
                stderr = model_stderr(model, gamma)
                held.append((off <= REACH * stderr).mean())
                widths.append(stderr.mean())
        assert np.mean(held) > 0.9
        assert np.mean(widths) < 20  # people, where a cell has more than 80 on average


class TestBest:
    MODEL = made(DOMAIN.sizes, members=5, total=500.0)

    def test_the_noise_where_there_is_one_member(self):
        one, estimates = (
            made(DOMAIN.sizes, members=1),
            Estimates(WORKLOAD, [NoisyMarginal((0, 1), np.ones((3, 2)), 9.0)]),
        )
        np.testing.assert_allclose(best_stderr(estimates, one, (0, 1), np.ones((3, 2))), np.full((3, 2), 3.0))
        assert best_stderr(estimates, one, (0, 2), np.ones((3, 4))) is None

    def test_the_model_where_something_was_not_measured(self):
        estimates = Estimates(WORKLOAD, [NoisyMarginal((0,), np.ones(3), 1e-6)])
        found = best_stderr(estimates, self.MODEL, (0, 1), self.MODEL.marginal((0, 1)))
        np.testing.assert_allclose(found, model_stderr(self.MODEL, (0, 1)))

    def test_never_above_either_where_both_say_the_same(self):
        modelled = model_stderr(self.MODEL, (0, 1))
        noise = np.median(modelled)
        estimates = Estimates(WORKLOAD, [NoisyMarginal((0, 1), np.ones((3, 2)), noise**2)])
        found = best_stderr(estimates, self.MODEL, (0, 1), self.MODEL.marginal((0, 1)))
        np.testing.assert_allclose(found, np.minimum(modelled, noise))

    def test_what_is_far_from_the_model_is_not_sure_because_of_it(self):
        values = self.MODEL.marginal((0, 1)) + 100.0
        known = Estimates(WORKLOAD, [NoisyMarginal((0, 1), np.ones((3, 2)), 9.0)])
        np.testing.assert_allclose(best_stderr(known, self.MODEL, (0, 1), values), np.full((3, 2), 3.0))
        assert best_stderr(Estimates(WORKLOAD), self.MODEL, (0, 1), values).min() > 100
