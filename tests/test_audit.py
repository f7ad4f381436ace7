"""The audit computes right bounds where they are known, and sees what it should. The audit itself is `make audit`."""

from itertools import count
from math import log
from unittest.mock import patch

import numpy as np
import pytest
from audit import bugs, parts, tables, whole
from audit.finding import Finding
from audit.likelihood import Likelihood
from audit.statistics import (
    Event,
    at_least,
    at_most,
    discrete_epsilon,
    epsilon_at_least,
    gaussian_delta,
    gaussian_epsilon,
    lower_bound,
)
from audit.transcript import Program, Terms, aim_grem, default, never_plenty, residual_planner
from dp_accounting.pld.privacy_loss_mechanism import DiscreteGaussianPrivacyLoss
from scipy.stats import binomtest, norm

from residuum.core import zcdp
from residuum.core.grem import Estimates, NoisyResidual
from residuum.mechanism.guided import Guided
from residuum.privacy.simulator import Simulator


def seeded(kind=Simulator):
    """A simulator with another seed at every call."""
    seeds = count()
    return lambda: kind(next(seeds))


def gaussians(runs, mu, rng):
    """The log-likelihood ratios of runs whose mean differs by μ standard deviations between two tables."""
    return rng.normal(mu**2 / 2, mu, runs), rng.normal(-(mu**2) / 2, mu, runs)


@pytest.mark.parametrize(("happened", "runs"), [(0, 10), (3, 10), (10, 10), (120, 4000)])
def test_clopper_pearson_agrees_with_scipy(happened, runs):
    interval = binomtest(happened, runs).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose([at_least(happened, runs), at_most(happened, runs)], interval, atol=1e-12)


def test_epsilon_from_counts():
    assert epsilon_at_least(90, 100, 10, 100, 0.0) == pytest.approx(log(at_least(90, 100) / at_most(10, 100)))
    assert epsilon_at_least(1, 100, 10, 100, 0.5) == -np.inf
    sample = np.array([0.0, 1.0, 2.0]), np.array([-2.0, -1.0, 0.0])
    assert Event(1.0, above=True).bound(*sample, 0.0) == epsilon_at_least(2, 3, 0, 3, 0.0)
    assert Event(0.0, above=False).bound(*sample, 0.0) == epsilon_at_least(2, 3, 0, 3, 0.0)


@pytest.mark.parametrize(("mu", "delta"), [(0.5, 0.01), (1.0, 1e-5), (3.0, 0.05)])
def test_exact_epsilon_of_a_gaussian(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    threshold = epsilon / mu + mu / 2  # where the likelihood ratio of N(μ, 1) and N(0, 1) is e^ε
    best = norm.sf(threshold - mu) - np.exp(epsilon) * norm.sf(threshold)
    assert best == pytest.approx(delta, rel=1e-6)
    assert epsilon < zcdp.epsilon_of(mu**2 / 2, delta)
    assert gaussian_delta(mu, epsilon) == pytest.approx(delta, rel=1e-6)


def test_exact_epsilon_of_whole_numbers():
    rival = DiscreteGaussianPrivacyLoss(sigma=1.5, sensitivity=1)
    assert rival.get_delta_for_epsilon(discrete_epsilon(np.array([1]), 2.25, 0.01)) == pytest.approx(0.01, rel=1e-6)
    fine = discrete_epsilon(np.array([12, -9]), 15.0**2, 0.01)
    assert fine == pytest.approx(gaussian_epsilon(1.0, 0.01), rel=1e-3)
    assert discrete_epsilon(np.array([1]), 1e4, 0.1) == 0.0


def test_bound_of_a_gaussian_is_close_and_seldom_too_high():
    rng = np.random.default_rng(0)
    exact = gaussian_epsilon(1.0, 0.05)
    bounds = np.array([lower_bound(*gaussians(6000, 1.0, rng), 0.05) for _ in range(200)])
    assert (bounds > exact).sum() <= 10
    assert np.median(bounds) > 0.75 * exact
    assert lower_bound(*gaussians(60_000, 1.0, rng), 0.05) > 0.85 * exact


def test_equal_tables_tell_nothing():
    same = np.random.default_rng(0).normal(size=(2, 6000))
    assert lower_bound(*same, 0.01) < 0.1


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_measurement_is_as_claimed_and_half_the_noise_is_caught(relation):
    pair = tables.residual((3, 2), relation)
    honest = parts.measuring(pair, runs=6000, delta=0.05, noise=seeded())
    assert 0.6 * honest.exact < honest.bound <= honest.claimed
    assert parts.measuring(pair, runs=1500, delta=0.05, noise=seeded(bugs.halved(Simulator))).bound > honest.claimed


def test_selection_is_as_claimed_and_another_epsilon_is_noticed():
    pair = tables.crossed()
    assert parts.selecting(pair, runs=6000, epsilon=2.0, noise=seeded()).right
    likelihood = Likelihood(pair)
    estimate = likelihood.estimate({(): likelihood.residual(())})
    claimed, other = (np.exp(likelihood.log_probabilities(estimate, epsilon, 1.0))[1] for epsilon in (2.0, 2.5))
    chosen = np.random.default_rng(0).multinomial(6000, other)
    assert parts.fits(chosen, other)
    assert not parts.fits(chosen, claimed)


def test_selection_among_told_estimates_is_as_claimed_and_the_wrong_sensitivity_is_caught():
    pair = tables.crossed()
    assert parts.selecting(pair, runs=6000, epsilon=2.0, noise=seeded(), told=True).right
    with bugs.doubled():
        wrong = parts.selecting(pair, runs=6000, epsilon=2.0, noise=seeded(), told=True, planted="doubled")
    assert wrong.verdict == "caught"


@pytest.mark.parametrize("pair", [tables.crossed(), tables.uncrossed(), tables.moved()], ids=["add", "replace", "move"])
@pytest.mark.parametrize(
    "mechanism",
    [aim_grem, default(rounds=2), default("independent", rounds=2), default(rounds=3), residual_planner],
    ids=["paper", "latent", "independent", "all pairs", "planner"],
)
def test_release_follows_from_the_transcript(pair, mechanism):
    """What the audit looks at is everything: the estimates are made of the answers and of nothing else."""
    terms = Terms.agree(rho=1.0, neighbours=pair.relation)
    release, steps = Program(mechanism, noise=seeded()).release(pair.counts[0], terms)
    again = Estimates(pair.workload)
    for question, answers in steps:
        for (tau, sigma2), z in zip(question.get("measure", ()), answers, strict=False):
            again.absorb(NoisyResidual(tuple(tau), z, sigma2))
    for gamma in pair.workload.closure:
        np.testing.assert_array_equal(release.estimates.marginal(gamma), again.marginal(gamma))


def test_questions_follow_from_answers_unless_annealing_looks():
    pair, terms = tables.flat(), Terms.agree(rho=0.5)
    for changes, most in (({}, 0), ({"changes": bugs.looking}, 60)):
        program = Program(aim_grem, noise=seeded(), **changes)
        steps = [program.transcript(pair.counts[0], terms) for _ in range(100)]
        assert all(program.possible(run, pair.counts[0], terms) for run in steps)
        elsewhere = sum(not program.possible(run, pair.counts[1], terms) for run in steps)
        assert bool(most) <= elsewhere <= most


@pytest.mark.parametrize("reference", ["latent", "independent"])
def test_questions_and_estimates_of_the_default_follow_from_answers(reference):
    terms = Terms.agree(rho=0.5)
    for pair in (tables.crossed(), tables.uncrossed()):
        program = Program(default(reference, rounds=2), noise=seeded())
        steps = [program.transcript(pair.counts[0], terms) for _ in range(10)]
        assert all("told" in dict.fromkeys(key for question, _ in run for key in question) for run in steps)
        assert all(program.possible(run, counts, terms) for run in steps for counts in pair.counts)


def test_rounds_by_the_true_total_are_noticed():
    pair, terms = tables.crossed(), Terms.agree(rho=1.8)
    for changes, impossible in ((never_plenty, False), (bugs.counted, True)):
        program = Program(default("independent"), noise=seeded(), changes=changes)
        for run in [program.transcript(pair.counts[0], terms) for _ in range(20)]:
            assert program.possible(run, pair.counts[0], terms)
            assert program.possible(run, pair.counts[1], terms) is not impossible


def test_estimates_that_look_at_the_truth_are_noticed():
    """What the curator is told has to follow from answers, though nobody else sees it."""

    def truth(guided, _, cliques):
        return ((gamma, guided._curator._differences.marginal(gamma).astype(float)) for gamma in cliques)

    pair, terms = tables.crossed(), Terms.agree(rho=0.5)
    program = Program(
        default("independent", rounds=2), noise=seeded(), changes=lambda: patch.object(Guided, "_view", truth)
    )
    steps = program.transcript(pair.counts[0], terms)
    assert program.possible(steps, pair.counts[0], terms)
    assert not program.possible(steps, pair.counts[1], terms)


def test_likelihood_of_the_default_takes_the_estimates_that_were_told():
    pair = tables.crossed()
    likelihood = Likelihood(pair)
    program = Program(default("independent", rounds=2, share_select=0.9), noise=seeded())
    steps = program.transcript(pair.counts[0], Terms.agree(rho=2.0))
    selected = measured = 0.0
    for question, answers in steps:
        if "told" in question:
            estimate = np.concatenate([mu_hat.reshape(-1) for mu_hat in answers])
        elif "select" in question:
            selected += likelihood.of_selection(estimate, int(answers[0]), *question["select"])
        else:
            for (tau, sigma2), z in zip(question["measure"], answers, strict=True):
                measured += likelihood.of_measurement(tuple(tau), z.reshape(-1), sigma2)
    assert selected != 0
    assert likelihood.ratio(steps) == pytest.approx(selected + measured)


def test_likelihood_ratio_has_the_moments_of_the_budget():
    """A tight run at ρ has ratios around ±ρ with variance 2ρ; e^-ratio has mean 1 under the table it is taken from."""
    first, second = whole.statistics(
        Program(residual_planner, noise=seeded()), tables.crossed(), Terms.agree(rho=0.125), runs=600
    )
    for ratios in (first, -second):
        assert ratios.mean() == pytest.approx(0.125, abs=0.1)
        assert ratios.var() == pytest.approx(0.25, abs=0.08)
        assert np.exp(-ratios).mean() == pytest.approx(1.0, abs=0.15)


def test_verdicts():
    assert Finding("", 1, 0.1, claimed=1.0, bound=0.9, exact=1.0).verdict == "as claimed"
    assert Finding("", 1, 0.1, claimed=1.0, bound=1.1).verdict == "TELLS MORE THAN CLAIMED"
    assert Finding("", 1, 0.1, claimed=1.0, bound=0.7, exact=0.9).verdict == "TOO WEAK AN AUDIT"
    assert Finding("", 1, 0.1, claimed=1.0, bound=0.9, fault="odd").verdict == "ODD"
    assert Finding("", 1, 0.1, claimed=1.0, bound=1.1, planted=True).verdict == "caught"
    assert not Finding("", 1, 0.1, claimed=1.0, bound=0.9, planted=True).right


def test_frequencies_fit_or_not():
    """One draw of something rare is no fault, many are, and so is a share that is off."""
    probabilities = np.array([0.5, 0.4999999, 1e-7])
    assert parts.fits(np.array([30_000, 29_999, 1]), probabilities)
    assert not parts.fits(np.array([30_000, 29_990, 10]), probabilities)
    assert not parts.fits(np.array([31_000, 29_000, 0]), probabilities)
