from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum import Domain, Estimates, NoisyMarginal, NoisyResidual, Workload
from residuum.estimate.evidence import Evidence

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})
WORKLOAD = Workload.all_kway(DOMAIN, 3)
PLACES = [slice(0, 3), slice(3, 5), slice(5, 9), slice(9, 11)]
PAIRS = list(combinations(range(4), 2))
SMALL = [gamma for gamma in WORKLOAD.closure if len(gamma) in (1, 2)]


def residual(tau, values=0.0, sigma2=1.0):
    return NoisyResidual(tau, np.full([n - 1 for n in DOMAIN.shape(tau)], values), sigma2)


def evidence_of(*taus, sigma2=1.0, total=100.0):
    return Evidence.of(Estimates(WORKLOAD, [residual((), total), *(residual(tau, 1.0, sigma2) for tau in taus)]))


@pytest.fixture
def table():
    return np.random.default_rng(0).integers(1, 20, DOMAIN.sizes).astype(float)


class TestLayout:
    def test_singles_are_shares_less_even_ones(self, table):
        counts = table.sum(axis=(0, 1, 3))
        evidence = Evidence.of(Estimates(WORKLOAD, [NoisyMarginal((2,), counts, 4.0)]))
        np.testing.assert_allclose(evidence.singles[PLACES[2]], counts / counts.sum() - 1 / 4, atol=1e-6)
        np.testing.assert_allclose(evidence.singles_weight[PLACES[2]], counts.sum() ** 2 / 4.0, rtol=1e-6)

    def test_pairs_are_shares_without_what_singles_say(self, table):
        counts = table.sum(axis=(1, 3))
        evidence = Evidence.of(Estimates(WORKLOAD, [NoisyMarginal((0, 2), counts, 4.0)]))
        centred = counts - counts.mean(axis=0) - counts.mean(axis=1)[:, None] + counts.mean()
        np.testing.assert_allclose(evidence.pairs[PLACES[0], PLACES[2]], centred / counts.sum(), atol=1e-6)
        np.testing.assert_allclose(evidence.pairs_weight[PLACES[0], PLACES[2]], counts.sum() ** 2 / 4.0, rtol=1e-6)

    def test_pairs_are_symmetric_and_nothing_is_within_an_attribute(self, table):
        counts = {gamma: table.sum(axis=tuple(i for i in range(4) if i not in gamma)) for gamma in PAIRS}
        evidence = Evidence.of(Estimates(WORKLOAD, [NoisyMarginal(gamma, mu, 1.0) for gamma, mu in counts.items()]))
        for matrix in (evidence.pairs, evidence.pairs_weight):
            np.testing.assert_array_equal(matrix, matrix.T)
            for place in PLACES:
                assert not matrix[place, place].any()
        assert all(evidence.pairs_weight[PLACES[i], PLACES[j]].all() for i, j in PAIRS)

    def test_what_nobody_measured_has_no_weight(self):
        evidence = evidence_of((0,), (1, 3))
        assert (evidence.singles_weight > 0).tolist() == [True] * 3 + [False] * 8
        assert evidence.pairs_weight[PLACES[1], PLACES[3]].all()
        assert np.count_nonzero(evidence.pairs_weight) == 2 * 2 * 2
        assert np.count_nonzero(evidence.pairs) == 2 * 2 * 2

    def test_three_attributes_at_once_are_left_out(self):
        evidence = evidence_of((0, 1, 2))
        assert not evidence.singles_weight.any()
        assert not evidence.pairs_weight.any()

    def test_a_total_below_one_counts_as_one(self):
        assert evidence_of((0,), total=-5.0).total == 1.0

    def test_a_weight_is_never_too_large_to_be_squared_in_single_precision(self):
        with np.errstate(over="raise"):
            evidence = evidence_of((0,), (0, 1), sigma2=1e-200, total=1e6)
            assert np.isfinite(np.square(64 * evidence.singles_weight)).all()
            assert np.isfinite(np.square(64 * evidence.pairs_weight)).all()


@given(st.sets(st.sampled_from(WORKLOAD.closure)))
def test_numbers_counts_what_was_measured(taus):
    expected = sum(int(np.prod([n - 1 for n in DOMAIN.shape(tau)])) for tau in taus if tau in SMALL)
    assert evidence_of(*taus).numbers == expected


class TestCentre:
    def test_each_attribute_adds_up_to_nothing(self):
        rows = np.random.default_rng(0).normal(size=(5, 11)).astype(np.float32)
        centred = evidence_of((0,)).centre(rows)
        for place in PLACES:
            np.testing.assert_allclose(centred[:, place].sum(axis=1), 0, atol=1e-6)
            np.testing.assert_allclose(np.ptp((rows - centred)[:, place], axis=1), 0, atol=1e-6)

    def test_one_row(self):
        assert evidence_of((0,)).centre(np.arange(11, dtype=np.float32)).tolist() == [
            *(-1, 0, 1), *(-0.5, 0.5), *(-1.5, -0.5, 0.5, 1.5), *(-0.5, 0.5),
        ]  # fmt: skip


class TestShares:
    @given(st.integers(0, 2**32), st.floats(0.01, 1e6))
    def test_a_distribution_for_each_attribute(self, seed, sigma2):
        rng = np.random.default_rng(seed)
        noisy = [NoisyMarginal((i,), rng.normal(scale=np.sqrt(sigma2), size=DOMAIN.sizes[i]), sigma2) for i in (0, 2)]
        shares = Evidence.of(Estimates(WORKLOAD, noisy)).shares
        assert shares.min() >= 0
        for place in PLACES:
            assert shares[place].sum() == pytest.approx(1, abs=1e-6)

    def test_those_measured_where_none_is_negative(self):
        evidence = Evidence.of(Estimates(WORKLOAD, [NoisyMarginal((0,), [20.0, 30.0, 50.0], 1.0)]))
        np.testing.assert_allclose(evidence.shares[PLACES[0]], [0.2, 0.3, 0.5], atol=1e-6)
        np.testing.assert_allclose(evidence.shares[PLACES[2]], 0.25, atol=1e-6)


EVIDENCE = evidence_of((0,), (2,), (0, 2), (1, 3), sigma2=9.0)


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(0)
    singles, pairs = zip(*(EVIDENCE.noise(rng) for _ in range(4000)), strict=True)
    return np.array(singles, dtype=float), np.array(pairs, dtype=float)


class TestNoise:
    def test_singles_have_the_variance_of_the_measurements(self, drawn):
        for i in (0, 2):
            expected = 9.0 / 100**2 * (1 - 1 / DOMAIN.sizes[i])
            np.testing.assert_allclose(drawn[0][:, PLACES[i]].var(axis=0), expected, rtol=0.12)

    def test_pairs_have_the_variance_of_the_measurements(self, drawn):
        for i, j in ((0, 2), (1, 3)):
            expected = 9.0 / 100**2 * (1 - 1 / DOMAIN.sizes[i]) * (1 - 1 / DOMAIN.sizes[j])
            np.testing.assert_allclose(drawn[1][:, PLACES[i], PLACES[j]].var(axis=0), expected, rtol=0.12)

    def test_it_varies_like_real_measurements(self, drawn):
        """The same covariance as `Evidence.of` gives to marginals measured again and again."""
        rng = np.random.default_rng(1)
        again = []
        for _ in range(4000):
            noisy = NoisyMarginal((0, 2), 100 / 12 + rng.normal(scale=3.0, size=(3, 4)), 9.0)
            tau = [residual for residual in noisy.residuals() if residual.tau == (0, 2)]
            evidence = Evidence.of(Estimates(Workload(DOMAIN, [(0, 2)]), [residual((), 100.0), *tau]))
            again.append(evidence.pairs[PLACES[0], PLACES[2]].ravel())
        ours = np.cov(drawn[1][:, PLACES[0], PLACES[2]].reshape(4000, -1).T)
        np.testing.assert_allclose(ours, np.cov(np.array(again).T), atol=0.1 * ours.max())

    def test_it_is_centred_symmetric_and_has_no_mean(self, drawn):
        singles, pairs = drawn
        np.testing.assert_allclose(pairs, pairs.transpose(0, 2, 1), atol=1e-7)
        for place in PLACES:
            np.testing.assert_allclose(singles[:, place].sum(axis=1), 0, atol=1e-6)
            np.testing.assert_allclose(pairs[:, place].sum(axis=1), 0, atol=1e-6)
        assert np.abs(singles.mean(axis=0)).max() < 5 * 0.03 / np.sqrt(4000)
        assert np.abs(pairs.mean(axis=0)).max() < 5 * 0.03 / np.sqrt(4000)

    def test_none_where_nothing_was_measured(self, drawn):
        singles, pairs = drawn
        assert not singles[:, EVIDENCE.singles_weight == 0].any()
        assert not pairs[:, EVIDENCE.pairs_weight == 0].any()

    def test_shifted_adds_it(self):
        noise = EVIDENCE.noise(np.random.default_rng(0))
        shifted = EVIDENCE.shifted(noise, -2.0)
        np.testing.assert_allclose(shifted.singles, EVIDENCE.singles - 2 * noise[0], atol=1e-7)
        np.testing.assert_allclose(shifted.pairs, EVIDENCE.pairs - 2 * noise[1], atol=1e-7)
        np.testing.assert_array_equal(shifted.pairs_weight, EVIDENCE.pairs_weight)
