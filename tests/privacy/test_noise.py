"""The exact sampler: its tables, its distribution, and what happens where floating point cannot decide."""

import os
from fractions import Fraction
from math import ceil, exp, sqrt

import numpy as np
import pytest
from scipy import stats

from residuum import ResiduumError, kernels
from residuum.privacy import noise as noise_module
from residuum.privacy.exact import exponential
from residuum.privacy.noise import Noise, SystemNoise, _proposal, _table
from residuum.privacy.opendp import OpenDPNoise, _above
from residuum.privacy.simulator import Simulator

N = 100_000


def pmf(sigma):
    """The support that matters, and its probabilities."""
    x = np.arange(-ceil(9 * sigma) - 1, ceil(9 * sigma) + 2)
    weights = np.exp(-(x**2) / (2 * sigma**2))
    return x, weights / weights.sum()


def chi_square(values, sigma):
    """The p-value of a chi-square test; cells that expect fewer than 20 are put together."""
    x, share = pmf(sigma)
    width = max(1, round(sigma / 10))
    bins = (x - x[0]) // width
    expected = np.bincount(bins, share) * values.size
    seen = np.bincount(bins[np.clip(values - x[0], 0, len(x) - 1)], minlength=len(expected))
    common = expected >= 20
    expected = np.append(expected[common], expected[~common].sum() + 1e-9)
    seen = np.append(seen[common], seen[~common].sum())
    return stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue


class TestTables:
    @pytest.mark.parametrize("r", [1, 2, 4])
    def test_the_proposal_is_never_below_the_envelope(self, r):
        """chance(k) >= least · exp(-k² / 2r²), in exact arithmetic: what makes the acceptance a probability."""
        table = _table(r)
        assert sum(table.chances) + table.beyond == 2**31
        for k in range(len(table.chances) + 60):
            _, high = exponential(Fraction(-(k**2), 2 * r**2), 60)
            assert table.chance(k) >= table.least * high
        assert len(table.chances) == 4 * r
        assert 2 * (4 * r) + 1 >= 2 * r**2 * 0.6932  # from there on, exp(-k² / 2r²) at least halves

    @pytest.mark.parametrize("r", [1, 2, 4])
    def test_hardly_anything_is_wasted(self, r):
        table = _table(r)
        for k in range(len(table.chances)):
            assert table.chance(k) <= table.least * exp(-(k**2) / (2 * r**2)) * 1.001

    @pytest.mark.parametrize("sigma2", [1e-4, 0.1, 1.0, 2.0, 3.7, 1e3, 1e12, 1.1e20, 1e26])
    def test_blocks_are_at_least_as_wide_as_they_must_be(self, sigma2):
        for scale in (1, 6, 10**3):
            if sqrt(sigma2) * scale < 2**56:
                proposal = _proposal(sigma2, scale)
                square = Fraction(sigma2) * scale**2
                assert proposal.power == 1 / (2 * square)
                assert (proposal.step * proposal.table.r) ** 2 >= square
                assert ((proposal.step - 1) * proposal.table.r) ** 2 < square
                assert 0.2 < proposal.acceptance <= 1


@pytest.mark.parametrize("sigma", [0.3, 0.9, 1.0, 1.3, 2.0, 4.7, 12.5, 60.0, 300.0])
def test_distribution(sigma):
    values = SystemNoise().gaussian((N,), sigma**2)
    assert values.dtype == np.int64
    assert chi_square(values, sigma) > 1e-6
    if sigma >= 0.9:  # the same test notices an error of 5%
        assert chi_square(values, sigma * 1.05) < 1e-6
        assert chi_square(values, sigma / 1.05) < 1e-6


@pytest.mark.parametrize("sigma", [3e4, 1e6, 1e9, 1e10, 1e13])
def test_distribution_of_large_noise(sigma):
    values = SystemNoise().gaussian((N,), sigma**2)
    assert stats.kstest(values, stats.norm(scale=sigma).cdf).pvalue > 1e-6
    assert stats.kstest(values, stats.norm(scale=sigma * 1.05).cdf).pvalue < 1e-6
    assert stats.kstest(values, stats.norm(scale=sigma / 1.05).cdf).pvalue < 1e-6
    for modulus in (2, 3, 7):  # all residues come up: nothing is rounded to multiples
        seen = np.bincount(values % modulus, minlength=modulus)
        assert stats.chisquare(seen).pvalue > 1e-6


def test_scale_is_a_factor_of_sigma():
    values = Simulator(1).gaussian((N,), 6.25, scale=12)
    assert chi_square(values, 2.5 * 12) > 1e-6
    np.testing.assert_array_equal(values, Simulator(1).gaussian((N,), 6.25 * 144))


def test_agreement_with_opendp():
    for sigma2, scale in ((0.7, 1), (2.0, 1), (5.3, 6)):
        theirs = OpenDPNoise().gaussian((20_000,), sigma2, scale)
        ours = SystemNoise().gaussian((20_000,), sigma2, scale)
        low, high = min(theirs.min(), ours.min()), max(theirs.max(), ours.max())
        edges = np.unique(np.quantile(np.concatenate([theirs, ours]), np.linspace(0, 1, 30)))
        tables = [np.histogram(values, [low - 1, *edges + 0.5, high + 1])[0] for values in (theirs, ours)]
        kept = np.array(tables)[:, np.sum(tables, axis=0) > 20]
        assert stats.chi2_contingency(kept).pvalue > 1e-6


def test_exact_decisions_give_the_same_distribution(monkeypatch):
    """The kernel only proposes, and every trial is decided by `exact.below`: the same draws come out."""
    real, trials = kernels.draw, []

    def propose(out, filled, words, at, cumulative, logs, step, _):
        if filled == out.size:
            return filled, at, -1, 0, 0
        place = np.zeros(1, dtype=np.int64)
        end = real(place, 0, words, at, cumulative, logs + 50.0, step, 0.0)  # accepts whatever is proposed
        if end[0] == 0:  # the words have run out
            return (filled, *end[1:])
        trials.append(1)
        value, word = int(place[0]), int(words[end[1] - 1])
        return filled, end[1], *divmod(abs(value), step), (value < 0) << 32 | word

    for sigma in (0.8, 3.0, 11.0):
        expected = Simulator(5).gaussian((4000,), sigma**2)
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "draw", propose)
            np.testing.assert_array_equal(Simulator(5).gaussian((4000,), sigma**2), expected)
    assert len(trials) > 12_000


def test_undecided_trials_are_decided(monkeypatch):
    """A first word of zeros is below any chance that is not 0: only more bits can tell."""

    class Zeros(Noise):
        name = "zeros"

        def source(self):
            rng = np.random.default_rng(3)

            def words(count):
                drawn = rng.integers(0, 2**32, size=count, dtype=np.uint32)
                drawn[rng.random(count) < 0.3] = 0
                return drawn

            return words

    calls = []
    real = noise_module.below
    monkeypatch.setattr(noise_module, "below", lambda *a: calls.append(real(*a)) or calls[-1])
    values = Zeros().gaussian((3000,), 0.01)
    assert np.abs(values).max() <= 1
    assert set(calls) >= {False}


def test_results_are_those_of_64_bits():
    assert noise_module._modulo(2**63) == -(2**63)
    assert noise_module._modulo(-(2**63) - 1) == 2**63 - 1
    assert noise_module._modulo(-5) == -5


def test_shapes_and_sizes():
    for shape in ((), (1,), (0,), (2, 3, 4)):
        assert SystemNoise().gaussian(shape, 4.0).shape == shape


def test_more_words_than_fit_at_once():
    values = SystemNoise().gaussian((300, 1000), 25.0)
    assert chi_square(values.ravel(), 5.0) > 1e-6


@pytest.mark.parametrize(("sigma2", "scale"), [(2.0**113, 1), (1.0, 2**57), (1e300, 1)])
@pytest.mark.parametrize("noise", [SystemNoise, OpenDPNoise])
def test_noise_beyond_computing(noise, sigma2, scale):
    with pytest.raises(ResiduumError, match="more than can be computed with"):
        noise().gaussian((2,), sigma2, scale)


def test_largest_noise():
    values = SystemNoise().gaussian((1000,), 2.0**112)
    assert 0.8 < values.std() / 2**56 < 1.2


def test_uniform():
    numbers = [SystemNoise().uniform() for _ in range(5000)]
    assert {uniform.bits for uniform in numbers} == {64}
    assert stats.kstest([uniform.number / 2**64 for uniform in numbers], stats.uniform.cdf).pvalue > 1e-6
    uniform = numbers[0]
    first = uniform.number
    uniform.refine()
    assert uniform.number >> 32 == first
    assert uniform.bits == 96


def test_a_fork_draws_other_noise():
    noise = SystemNoise()
    noise.gaussian((100,), 1e12)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, noise.gaussian((8,), 1e12).tobytes() + noise.uniform().number.to_bytes(8, "big"))
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(read, 1000)
    assert len(theirs) == 72
    mine = noise.gaussian((8,), 1e12).tobytes() + noise.uniform().number.to_bytes(8, "big")
    assert theirs[:64] != mine[:64]
    assert theirs[64:] != mine[64:]


class TestOpenDP:
    def test_sigma_is_never_rounded_down(self):
        for square in (Fraction(2), Fraction(3, 7), Fraction(10**20 + 1), Fraction(4)):
            root = _above(square)
            assert Fraction(root) ** 2 >= square
            assert root == pytest.approx(float(square) ** 0.5, rel=1e-15)

    def test_caveats(self):
        assert OpenDPNoise.caveat is None
        assert SystemNoise.caveat is None
