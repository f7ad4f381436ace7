import numpy as np
import pytest
from scipy import stats

from residuum import ResiduumError
from residuum.privacy.noise import SystemNoise
from residuum.privacy.simulator import Simulator

N = 100_000


def test_noise_follows_from_the_seed_and_the_number_of_the_draw():
    one, two = Simulator(7), Simulator(7)
    one.gaussian((1000, 3), 4.0)  # whatever is drawn first, and however much of it
    two.uniform()
    np.testing.assert_array_equal(one.gaussian((5, 2), 1.0), two.gaussian((5, 2), 1.0))
    assert one.uniform() == two.uniform()
    np.testing.assert_array_equal(one.gaussian((4,), 9.0), 3 * two.gaussian((4,), 1.0))


def test_draws_and_seeds_differ():
    drawn = [noise.gaussian((10,), 1.0) for seed in (0, 1, 2**64 - 1) for noise in [Simulator(seed)] for _ in range(5)]
    assert len({values.tobytes() for values in drawn}) == 15
    assert np.unique(drawn).size == 150


def test_shapes():
    noise = Simulator(1)
    assert np.shape(noise.gaussian((), 1.0)) == ()
    assert noise.gaussian((2, 3, 4), 1.0).shape == (2, 3, 4)
    assert 0 <= noise.uniform() < 1


def deviation_is(values, scale):
    """A two-sided test of the standard deviation at a level of one in a million."""
    share = stats.chi2.cdf((values**2).sum() / scale**2, df=values.size)
    return 5e-7 < share < 1 - 5e-7


@pytest.mark.parametrize("noise", [Simulator(3), SystemNoise()], ids=["seed", "system"])
def test_gaussian(noise):
    values = noise.gaussian((N,), 6.25)
    assert stats.kstest(values, stats.norm(scale=2.5).cdf).pvalue > 1e-6
    assert deviation_is(values, 2.5)
    # The same tests would notice an error of 5%.
    assert not deviation_is(values, 2.5 * 1.05)
    assert not deviation_is(values, 2.5 / 1.05)
    assert stats.kstest(values, stats.norm(scale=2.5 * 1.05).cdf).pvalue < 1e-6


def test_draws_are_independent_of_each_other():
    noise = Simulator(4)
    drawn = np.array([noise.gaussian((2,), 1.0) for _ in range(5_000)])
    correlations = np.corrcoef(np.concatenate([drawn[:-1].T, drawn[1:].T]))
    assert np.abs(correlations - np.eye(4)).max() < 5 / np.sqrt(len(drawn))


def test_uniform():
    noise = Simulator(5)
    assert stats.kstest([noise.uniform() for _ in range(5_000)], stats.uniform.cdf).pvalue > 1e-6


def test_system_noise_differs_between_instances():
    drawn = {SystemNoise().gaussian((4,), 1.0).tobytes() for _ in range(20)}
    assert len(drawn) == 20
    assert SystemNoise.caveat != Simulator.caveat == "not private: seeded"


@pytest.mark.parametrize("bad", [-1, 2**64, 1.0, "1", True, None])
def test_bad_seeds(bad):
    with pytest.raises(ResiduumError, match="seed between 0 and"):
        Simulator(bad)


def test_numpy_seeds():
    assert Simulator(np.int64(3)).uniform() == Simulator(3).uniform()
