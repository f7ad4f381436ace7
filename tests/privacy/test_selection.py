import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residuum import Domain, Workload
from residuum.privacy.selection import Selection

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})
WEIGHTED = Workload(DOMAIN, {(0, 1): 2.0, (1, 2, 3): 0.5, (3,): 1.0})
WIDE = Workload.all_kway(Domain({f"x{i}": 2 + i % 3 for i in range(13)}), 3)  # more candidates than fit in a block
GRID = (np.arange(2_000) + 0.5) / 2_000


def softmax(workload, distances, epsilon, sigma2):
    """The probabilities with the score written out. Paper: App. F.1."""
    candidates = workload.closure[1:]
    weights = np.array([workload.weight(gamma) for gamma in candidates])
    cells = np.array([workload.domain.size(gamma) for gamma in candidates])
    scores = weights * (distances[1:] - np.sqrt(2 / np.pi) * np.sqrt(sigma2) * cells)
    exponents = epsilon * scores / (2 * weights.max())
    shares = np.exp(exponents - exponents.max())
    return shares / shares.sum()


def frequencies(selection, distances, epsilon, sigma2):
    """How often each candidate comes up over an even grid of the random number."""
    place = {gamma: k for k, gamma in enumerate(selection.candidates)}
    everything = [np.arange(len(distances))]
    chosen = [selection.choose(distances.__getitem__, everything, epsilon, sigma2, uniform) for uniform in GRID]
    return np.bincount([place[gamma] for gamma in chosen], minlength=len(place)) / len(chosen)


@pytest.mark.parametrize("workload", [WEIGHTED, WIDE], ids=["small", "wide"])
def test_probabilities_are_the_softmax_of_the_score(workload):
    distances = np.random.default_rng(1).uniform(0, 100, len(workload.closure))
    for epsilon, sigma2 in ((0.05, 4.0), (0.3, 100.0), (1e-6, 1.0)):
        expected = softmax(workload, distances, epsilon, sigma2)
        seen = frequencies(Selection(workload), distances, epsilon, sigma2)
        np.testing.assert_allclose(seen, expected, atol=1.01 / len(GRID))


def test_sensitivity_is_the_largest_weight():
    selection = Selection(WEIGHTED)
    assert selection.candidates == WEIGHTED.closure[1:]
    assert selection.sensitivity == max(WEIGHTED.weight(gamma) for gamma in WEIGHTED.closure) == 4.5


def test_one_person_changes_a_log_probability_by_at_most_epsilon():
    rng = np.random.default_rng(2)
    distances = rng.uniform(0, 100, len(WEIGHTED.closure))
    for _ in range(50):
        neighbours = distances + rng.choice([-1.0, 1.0], len(distances))
        one, two = (softmax(WEIGHTED, some, 0.7, 9.0) for some in (distances, neighbours))
        assert np.abs(np.log(one / two)).max() <= 0.7 + 1e-9


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from([1.0, 100.0, 1e5]), st.sampled_from([WEIGHTED, WIDE]))
def test_renewing_what_changed_equals_starting_afresh(seed, scale, workload):
    rng = np.random.default_rng(seed)
    distances = rng.uniform(0, scale, len(workload.closure))
    kept = Selection(workload)
    epsilon, sigma2 = 0.5, 4.0
    touched = []
    for turn in range(12):
        if turn % 5 == 4:
            epsilon, sigma2 = 2 * epsilon, sigma2 / 4
        for uniform in rng.random(3):
            fresh = Selection(workload).choose(distances.__getitem__, [], epsilon, sigma2, uniform)
            assert kept.choose(distances.__getitem__, touched or [np.array([0])], epsilon, sigma2, uniform) == fresh
        # As a round does: first the total, where it was measured, then marginals above other residuals.
        touched = [np.arange(len(distances))] if rng.random() < 0.3 else []
        for _ in range(rng.integers(1, 4)):
            tau = workload.closure[rng.integers(1, len(workload.closure))]
            touched.append(np.array([workload.closure.index(gamma) for gamma in workload.supersets(tau)]))
        changed = np.unique(np.concatenate(touched))
        distances[changed] = rng.uniform(0, scale, changed.size)


def test_the_order_of_what_changed_does_not_matter():
    distances = np.zeros(len(WEIGHTED.closure))
    selection = Selection(WEIGHTED)
    selection.choose(distances.__getitem__, [], 1.0, 1.0, 0.5)
    distances[:] = 0.0
    distances[0] = 1e6  # the total is no candidate, so this must not show
    touched = [np.array([1]), np.arange(len(distances))]
    chosen = selection.choose(distances.__getitem__, [*touched, np.array([0])], 1.0, 1.0, 0.5)
    assert chosen == Selection(WEIGHTED).choose(distances.__getitem__, [], 1.0, 1.0, 0.5)


def test_two_choices_with_nothing_in_between():
    distances = np.zeros(len(WEIGHTED.closure))
    selection = Selection(WEIGHTED)
    first = selection.choose(distances.__getitem__, [], 1.0, 1.0, 0.5)
    assert selection.choose(distances.__getitem__, [], 1.0, 1.0, 0.5) == first


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("epsilon", [1e-12, 1.0, 1e6])
def test_extreme_exponents_do_not_overflow(epsilon):
    distances = np.zeros(len(WEIGHTED.closure))
    selection = Selection(WEIGHTED)
    for place, distance in ((3, 1e12), (5, 1e9), (5, 0.0), (3, 0.0), (7, 1e300)):
        distances[place] = distance
        for uniform in (0.0, 0.5, np.nextafter(1.0, 0.0)):
            chosen = selection.choose(distances.__getitem__, [np.array([place])], epsilon, 1.0, uniform)
            fresh = Selection(WEIGHTED).choose(distances.__getitem__, [], epsilon, 1.0, uniform)
            assert chosen == fresh
        if epsilon * distances.max() > 1e9:
            best = np.argmax([WEIGHTED.weight(gamma) * d for gamma, d in zip(WEIGHTED.closure, distances, strict=True)])
            assert chosen == WEIGHTED.closure[best]
