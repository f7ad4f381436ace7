from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residuum import Domain, Workload
from residuum.privacy.exact import Uniform
from residuum.privacy.selection import Selection

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})
WEIGHTED = Workload(DOMAIN, {(0, 1): 2.0, (1, 2, 3): 0.5, (3,): 1.0})
WIDE = Workload.all_kway(Domain({f"x{i}": 2 + i % 3 for i in range(13)}), 3)  # more candidates than fit in a block
GRID = [(2 * k + 1) << 52 for k in range(2_048)]
UNITS = 2**20
"""Of a norm, that make one person."""


def selection_of(workload, moved=1):
    return Selection(workload, np.full(len(workload.closure), float(UNITS)), moved)


def units(distances):
    return np.rint(np.asarray(distances) * UNITS).astype(np.int64)


def at(number):
    """A uniform number that goes on with the same bits, should more be asked for."""
    return Uniform(number, 64, lambda: 0x12345678)


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
    everything = [np.arange(len(distances))]
    chosen = [selection.choose(units(distances), everything, epsilon, sigma2, at(number)) for number in GRID]
    return np.bincount(chosen, minlength=len(selection.candidates)) / len(chosen)


@pytest.mark.parametrize("workload", [WEIGHTED, WIDE], ids=["small", "wide"])
def test_probabilities_are_the_softmax_of_the_score(workload):
    distances = np.random.default_rng(1).uniform(0, 100, len(workload.closure))
    for epsilon, sigma2 in ((0.05, 4.0), (0.3, 100.0), (1e-6, 1.0)):
        expected = softmax(workload, distances, epsilon, sigma2)
        seen = frequencies(selection_of(workload), distances, epsilon, sigma2)
        np.testing.assert_allclose(seen, expected, atol=1.01 / len(GRID))


def test_sensitivity_is_the_largest_weight():
    selection = selection_of(WEIGHTED)
    assert selection.candidates == WEIGHTED.closure[1:]
    assert selection.sensitivity == max(WEIGHTED.weight(gamma) for gamma in WEIGHTED.closure) == 4.5
    assert selection_of(WEIGHTED, moved=2).sensitivity == 9.0


@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1 / 3, 0.7, 12.3])
def test_one_row_changes_no_exponent_by_more_than_half_epsilon_exactly(epsilon, moved):
    for workload in (WEIGHTED, WIDE):
        selection = selection_of(workload, moved)
        selection.choose(units(np.zeros(len(workload.closure))), [], epsilon, 1.0, at(2**63))
        for rate in selection._rates.tolist():
            assert Fraction(rate) * moved * UNITS <= Fraction(epsilon) / 2
        assert Fraction(selection._rates.max()) * moved * UNITS == Fraction(epsilon) / 2


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.sampled_from([0.01, 1.0, 40.0]))
def test_exact_arithmetic_chooses_the_same(seed, scale):
    rng = np.random.default_rng(seed)
    norms = units(rng.uniform(0, scale, len(WEIGHTED.closure)))
    selection = selection_of(WEIGHTED)
    for number in rng.integers(0, 2**64, size=5, dtype=np.uint64).tolist():
        chosen = selection.choose(norms, [], 1.0, 4.0, at(number))
        assert selection._decide(norms, at(number)) == chosen


def test_an_undecided_choice_is_decided_exactly():
    """All candidates alike: their shares meet at multiples of 1 / n, where only exact arithmetic can tell."""
    workload = Workload(Domain({f"x{i}": 2 for i in range(5)}), [(i,) for i in range(5)])
    norms = np.zeros(6, dtype=np.int64)
    for k in range(1, 5):
        bound = k * 2**64 // 5  # rounded down, so that it lies in the share before the bound
        for number, word, expected in ((bound, 0, k - 1), (bound, 2**32 - 1, k), (bound + 1, 0, k)):
            selection = selection_of(workload)
            uniform = Uniform(number, 64, lambda word=word: word)
            assert selection.choose(norms, [], 1.0, 1.0, uniform) == expected
            assert (uniform.bits > 64) == (number == bound)


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
    kept = selection_of(workload)
    epsilon, sigma2 = 0.5, 4.0
    touched = []
    for turn in range(12):
        if turn % 5 == 4:
            epsilon, sigma2 = 2 * epsilon, sigma2 / 4
        for uniform in rng.integers(0, 2**64, size=3, dtype=np.uint64).tolist():
            fresh = selection_of(workload).choose(units(distances), [], epsilon, sigma2, at(uniform))
            assert kept.choose(units(distances), touched, epsilon, sigma2, at(uniform)) == fresh
        # As a round does: first the total, where it was measured, then marginals above other residuals.
        touched = [np.arange(len(distances))] if rng.random() < 0.3 else []
        for _ in range(rng.integers(1, 4)):
            tau = workload.closure[rng.integers(1, len(workload.closure))]
            touched.append(np.array([workload.closure.index(gamma) for gamma in workload.supersets(tau)]))
        changed = np.unique(np.concatenate(touched))
        distances[changed] = rng.uniform(0, scale, changed.size)


def test_the_order_of_what_changed_does_not_matter():
    norms = np.zeros(len(WEIGHTED.closure), dtype=np.int64)
    selection = selection_of(WEIGHTED)
    selection.choose(norms, [], 1.0, 1.0, at(2**63))
    norms[0] = 10**12  # the total is no candidate, so this must not show
    touched = [np.array([1]), np.arange(len(norms))]
    chosen = selection.choose(norms, [*touched, np.array([0])], 1.0, 1.0, at(2**63))
    assert chosen == selection_of(WEIGHTED).choose(norms, [], 1.0, 1.0, at(2**63))


def test_two_choices_with_nothing_in_between():
    norms = np.zeros(len(WEIGHTED.closure), dtype=np.int64)
    selection = selection_of(WEIGHTED)
    first = selection.choose(norms, [], 1.0, 1.0, at(2**63))
    assert selection.choose(norms, [], 1.0, 1.0, at(2**63)) == first


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("epsilon", [1e-12, 1.0, 1e6, 1e300])
def test_extreme_exponents_do_not_overflow(epsilon):
    norms = np.zeros(len(WEIGHTED.closure), dtype=np.int64)
    selection = selection_of(WEIGHTED)
    for place, distance in ((3, 10**12), (5, 10**9), (5, 0), (3, 0), (7, 2**40)):
        norms[place] = distance * UNITS
        for uniform in (0, 2**63, 2**64 - 1):
            chosen = selection.choose(norms, [np.array([place])], epsilon, 1.0, at(uniform))
            fresh = selection_of(WEIGHTED).choose(norms, [], epsilon, 1.0, at(uniform))
            assert chosen == fresh
        if epsilon >= 1.0 and norms.max():
            best = np.argmax([WEIGHTED.weight(gamma) * d for gamma, d in zip(WEIGHTED.closure, norms, strict=True)])
            assert chosen == best - 1
