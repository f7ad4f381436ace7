import numpy as np
import pytest

from residuum import Domain, Estimates, NoisyMarginal, NoisyResidual, Workload
from residuum.estimate import latent
from residuum.estimate.evidence import Evidence
from residuum.estimate.latent import MOST_VALUES, Fit, Learner, fit, fits
from residuum.estimate.reference import independent
from tests.estimate.mixtures import enumerated, made, measured, summed

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})
WORKLOAD = Workload.all_kway(DOMAIN, 2)
DIAGONAL = np.full((4, 4), 20.0) + 180 * np.eye(4)


TABLE = enumerated(made(DOMAIN.sizes, classes=3, total=5000.0, seed=3, evenness=0.4))[0]
"""Three classes of people: every pair of attributes depends on one another."""
APART = enumerated(made(DOMAIN.sizes, classes=1, total=1000.0))[0]
"""No attribute depends on another."""


@pytest.fixture
def estimates():
    return measured(TABLE, WORKLOAD, sigma2=25.0)


def off(model, table, gamma):
    """How far a marginal is from the truth: the share of rows in the wrong cell."""
    return np.abs(model.marginal(gamma) - summed(table, gamma)).sum() / (2 * table.sum())


class TestSlopes:
    @pytest.mark.parametrize("cliques", [WORKLOAD.targets, [(0, 2), (1, 2)], [(0,), (3,)], []])
    def test_they_are_those_of_the_loss(self, cliques):
        """Central differences, in twice the usual precision."""
        rng = np.random.default_rng(0)
        noisy = [NoisyMarginal(g, rng.normal(50, 20, DOMAIN.shape(g)), 2.0 + len(g)) for g in cliques]
        evidence = Evidence.of(Estimates(WORKLOAD, [NoisyResidual((), 400.0, 1.0), *noisy]))
        anchor = rng.normal(size=(3, 11))
        fitted = Fit(evidence, anchor, [anchor + rng.normal(size=(3, 11)), rng.normal(size=3)])
        slopes = fitted._slopes()
        assert [slope.shape for slope in slopes] == [(3, 11), (3,)]
        for part, slope in zip(fitted.logits, slopes, strict=True):
            expected = [difference(fitted, part, place) for place in np.ndindex(part.shape)]
            np.testing.assert_allclose(slope.reshape(-1), expected, rtol=1e-4, atol=1e-5 * fitted.loss)

    def test_none_at_the_start_where_nothing_was_measured(self):
        fitted = Fit.start(Evidence.of(Estimates(WORKLOAD)), 5, np.random.default_rng(0))
        assert not any(slope.any() for slope in fitted._slopes())
        assert fitted.loss == 0


def difference(fitted, part, place, step=1e-5):
    """How fast the loss rises with one logit."""
    losses = []
    for sign in (1, -2, 1):
        part[place] += sign * step
        fitted._slopes()
        losses.append(fitted.loss)
    return (losses[0] - losses[1]) / (2 * step)


class TestStart:
    def test_classes_are_around_the_product_of_the_attributes(self, estimates):
        weights, shares = Fit.start(Evidence.of(estimates), 4000, np.random.default_rng(0)).model()
        assert shares.shape == (4000, 11)
        np.testing.assert_allclose(weights, 1 / 4000, rtol=1e-4)
        logs = np.log(shares.astype(float))
        expected = np.log(np.maximum(Evidence.of(estimates).shares, 0.5 / 5000))
        for place in (slice(0, 3), slice(3, 5), slice(5, 9), slice(9, 11)):
            centre = logs[:, place].mean(axis=0) - expected[place]
            assert np.ptp(centre) < 0.1
            assert (logs[:, place] - logs[:, place].mean(axis=1, keepdims=True)).std(axis=0).min() > 0.3
            np.testing.assert_allclose(shares[:, place].sum(axis=1), 1, rtol=1e-5)

    def test_a_value_that_nobody_has_can_still_be_found(self):
        evidence = Evidence.of(Estimates(WORKLOAD, [NoisyMarginal((0,), [100.0, 50.0, -50.0], 1.0)]))
        assert np.isfinite(Fit.start(evidence, 3, np.random.default_rng(0)).anchor).all()


class TestStep:
    def test_classes_are_drawn_back_to_where_they_started(self):
        rng = np.random.default_rng(0)
        fitted = Fit.start(Evidence.of(Estimates(WORKLOAD)), 5, rng)
        fitted.logits[0] += rng.normal(size=(5, 11)).astype(np.float32)
        fitted.step(500)
        np.testing.assert_allclose(fitted.logits[0], fitted.anchor, atol=0.1)
        assert fitted.steps == 500


class TestConverge:
    def test_it_stops_where_another_stride_is_not_worth_while(self):
        estimates = measured(TABLE, WORKLOAD, sigma2=10_000.0)
        fitted = Fit.start(Evidence.of(estimates), 16, np.random.default_rng(0))
        begin = fitted.step(1).loss
        loss, steps = fitted.converge().loss, fitted.steps
        assert steps < 0.8 * latent._MOST_STEPS
        assert loss < 0.5 * begin
        assert fitted.step(latent._STRIDE).loss > loss - latent._WORTHWHILE * fitted.evidence.numbers

    def test_it_stops_in_any_case(self, estimates, monkeypatch):
        monkeypatch.setattr(latent, "_WORTHWHILE", -np.inf)
        fitted = Fit.start(Evidence.of(estimates), 4, np.random.default_rng(0)).converge(120)
        assert 120 <= fitted.steps < 120 + latent._STRIDE

    def test_it_stops_at_once_where_nothing_was_measured(self):
        fitted = Fit.start(Evidence.of(Estimates(WORKLOAD)), 4, np.random.default_rng(0)).converge()
        assert fitted.steps <= 2 * latent._STRIDE
        np.testing.assert_array_equal(fitted.logits[0], fitted.anchor)


class TestFit:
    def test_a_strong_pair_is_found(self):
        workload = Workload.all_kway(Domain({"a": 4, "b": 4}), 2)
        values = DIAGONAL + np.random.default_rng(0).normal(scale=5.0, size=(4, 4))
        model = fit(Estimates(workload, [NoisyMarginal((0, 1), values, 25.0)]), classes=16, members=6)
        np.testing.assert_allclose(model.marginal((0, 1)), DIAGONAL, atol=20)

    def test_what_was_measured_is_nearly_kept(self, estimates):
        model = fit(estimates, classes=16, members=6)
        for gamma in WORKLOAD.targets:
            assert off(model, TABLE, gamma) < 0.01 < 0.1 < off(independent(estimates), TABLE, gamma)

    def test_triples_that_nobody_measured_are_inferred(self, estimates):
        """Where there are few classes, pairs tell of triples."""
        model = fit(estimates, classes=16, members=6)
        for gamma in Workload.all_kway(DOMAIN, 3).targets:
            assert off(model, TABLE, gamma) < 0.2 * off(independent(estimates), TABLE, gamma)

    def test_attributes_that_nobody_measured_together_stay_apart(self):
        workload = Workload.all_kway(Domain({"a": 4, "b": 4, "c": 4}), 2)
        singles = [100.0, 200.0, 300.0, 200.0]
        noisy = [NoisyMarginal((0, 1), DIAGONAL, 1.0), NoisyMarginal((2,), singles, 1.0)]
        model = fit(Estimates(workload, noisy), classes=32)
        for gamma in ((0, 2), (1, 2)):
            expected = np.outer(np.full(4, 0.25), singles)
            assert np.abs(model.marginal(gamma) - expected).sum() < 0.05 * 800 * 2
        assert np.abs(model.marginal((0, 1)) - 50).sum() > 0.5 * 800

    def test_noise_alone_is_not_taken_for_dependence(self):
        """Pairs of independent attributes, under much noise: nearer to the truth than what was measured."""
        estimates = measured(APART, WORKLOAD, sigma2=400.0)
        model = fit(estimates, classes=16, members=8)
        ours = sum(np.square(model.marginal(g) - summed(APART, g)).sum() for g in WORKLOAD.targets)
        theirs = sum(np.square(estimates.marginal(g) - summed(APART, g)).sum() for g in WORKLOAD.targets)
        assert ours < 0.7 * theirs

    def test_single_attributes_are_enough(self):
        noisy = [NoisyMarginal((0,), [20.0, 30.0, 50.0], 0.1), NoisyMarginal((1,), [90.0, 10.0], 0.1)]
        model = fit(Estimates(WORKLOAD, noisy), classes=16, members=4)
        np.testing.assert_allclose(model.marginal((0, 1)), np.outer([20, 30, 50], [0.9, 0.1]), atol=3)

    def test_the_total_and_the_form(self, estimates):
        model = fit(estimates, classes=5, members=3)
        assert model.sizes == DOMAIN.sizes
        assert model.total == float(estimates.residual(()))
        assert model.weights.shape == (3, 5)
        assert model.shares.shape == (3, 5, 11)
        assert np.isfinite(model.shares).all()

    def test_members_differ_by_as_much_as_the_noise(self):
        """Not only by where they started."""
        workload = Workload.all_kway(Domain({"a": 4, "b": 4}), 2)
        model = fit(Estimates(workload, [NoisyMarginal((0, 1), DIAGONAL, 400.0)]), classes=16, members=12)
        assert 0.4 * 20 < np.sqrt(model.variance((0, 1)).mean()) < 1.2 * 20

    def test_the_same_seed_the_same_model_on_any_number_of_threads(self, estimates, monkeypatch):
        models = []
        for threads, seed in (("1", 3), ("2", 3), ("2", 4)):
            monkeypatch.setenv("RESIDUUM_THREADS", threads)
            models.append(fit(estimates, classes=5, members=3, seed=seed))
        one, two, other = models
        np.testing.assert_array_equal(one.shares, two.shares)
        np.testing.assert_array_equal(one.weights, two.weights)
        assert (one.shares != other.shares).any()

    def test_progress_is_told(self, estimates):
        told = []
        fit(estimates, classes=4, members=5, watch=told.append)
        assert sorted(told) == [0.2, 0.4, 0.6, 0.8, 1.0]

    def test_without_a_total(self):
        model = fit(Estimates(WORKLOAD, [NoisyMarginal((0, 1), np.full((3, 2), -5.0), 1.0)]), classes=4, members=2)
        assert model.total == 1
        assert np.isfinite(model.marginal((0, 1))).all()

    def test_too_many_values_are_taken_for_independent(self):
        def estimates(values):
            workload = Workload.all_kway(Domain({"a": values - 2, "b": 2}), 1)
            return Estimates(workload, [NoisyMarginal((1,), [30.0, 10.0], 1.0)])

        assert fits(estimates(MOST_VALUES))
        assert not fits(estimates(MOST_VALUES + 1))
        model = fit(estimates(MOST_VALUES + 1))
        assert model.weights.shape == (1, 1)
        np.testing.assert_allclose(model.marginal((1,)), [30, 10], rtol=1e-5)


class TestNumberOfClasses:
    @pytest.fixture(autouse=True)
    def few(self, monkeypatch):
        monkeypatch.setattr(latent, "_CLASSES", (1, 8, 16))

    def test_one_where_attributes_do_not_depend_on_one_another(self):
        estimates = measured(APART, WORKLOAD, sigma2=100.0)
        assert fit(estimates, members=2).weights.shape == (2, 1)

    def test_more_where_they_do(self, estimates):
        told = []
        model = fit(estimates, members=2, watch=told.append)
        assert model.weights.shape[1] in (8, 16)
        assert set(told) == {0.0, 0.5, 1.0}

    def test_the_first_where_nothing_was_measured(self):
        assert fit(Estimates(WORKLOAD), members=2).weights.shape == (2, 1)

    def test_it_is_judged_by_an_independent_measurement(self, monkeypatch):
        """With 1 + a times the variance to fit to, 1 + 1/a times to judge by, and nothing in common."""
        pairs = []
        monkeypatch.setattr(Fit, "converge", lambda self, _: self)
        effort = latent.Effort(members=1, classes=(1,), steps=1)
        monkeypatch.setattr(
            latent, "_misfit", lambda unseen, fitted: pairs.append([fitted.evidence.singles[0], unseen.singles[0]]) or 0
        )
        workload, rng = Workload.all_kway(Domain({"a": 2}), 1), np.random.default_rng(0)
        for seed in range(3000):
            noisy = [NoisyResidual((), 100.0, 1.0), NoisyResidual((0,), 6 + rng.normal(scale=np.sqrt(2), size=1), 1.0)]
            evidence = Evidence.of(Estimates(workload, noisy))
            latent._number_of_classes(evidence, effort, np.random.SeedSequence(seed), None)
        seen, unseen = -2 * 100 * np.array(pairs, dtype=float).T
        assert seen.mean() == pytest.approx(6, abs=0.16)
        assert unseen.mean() == pytest.approx(6, abs=0.22)
        assert seen.var() == pytest.approx(2 * (1 + latent._APART), rel=0.12)
        assert unseen.var() == pytest.approx(2 * (1 + 1 / latent._APART), rel=0.12)
        assert abs(np.corrcoef(seen, unseen)[0, 1]) < 0.08


class TestEffort:
    @pytest.mark.parametrize("values", [10, 300, 1000, 2000, 4000, latent.MOST_VALUES])
    def test_wide_tables_have_less_of_everything_and_take_no_longer(self, values):
        effort, most = latent.Effort.of(values), latent.Effort.of(2)
        assert most == latent.Effort(latent.MEMBERS, latent._CLASSES, latent._MOST_STEPS)
        assert latent._FEWEST <= effort.members <= most.members
        assert set(effort.classes) <= set(most.classes)
        assert 400 <= effort.steps <= most.steps
        work = 4 * values**2 * effort.classes[-1] * effort.members * effort.steps
        assert work <= latent._MOST_WORK


class TestLearner:
    def test_it_learns_from_where_it_was(self, estimates):
        learner = Learner()
        distances = [
            sum(off(learner.learn(estimates), TABLE, gamma) for gamma in WORKLOAD.targets) / len(WORKLOAD.targets)
            for _ in range(10)
        ]
        assert distances[-1] < 0.02
        assert distances[-1] < 0.7 * distances[0]

    def test_it_takes_up_what_is_new(self):
        workload = Workload.all_kway(Domain({"a": 4, "b": 4}), 2)
        estimates, learner = Estimates(workload, [NoisyMarginal((0,), np.full(4, 260.0), 4.0)]), Learner()
        even = learner.learn(estimates).marginal((0, 1))
        assert np.abs(even - 65).max() < 40
        estimates.absorb(NoisyMarginal((0, 1), DIAGONAL, 4.0))
        for _ in range(10):
            model = learner.learn(estimates)
        np.testing.assert_allclose(model.marginal((0, 1)), DIAGONAL, atol=20)
        assert model.total == pytest.approx(float(estimates.residual(())))

    def test_the_same_every_time(self, estimates):
        one, two = Learner().learn(estimates), Learner().learn(estimates)
        np.testing.assert_array_equal(one.shares, two.shares)
