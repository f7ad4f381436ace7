import numpy as np
import pytest

from residuum import ResiduumError
from residuum.privacy.noise import SystemNoise
from residuum.privacy.simulator import Simulator


def test_noise_follows_from_the_seed_and_the_number_of_the_draw():
    one, two = Simulator(7), Simulator(7)
    one.gaussian((1000, 3), 4.0)  # whatever is drawn first, and however much of it
    two.uniform()
    np.testing.assert_array_equal(one.gaussian((5, 2), 1e4), two.gaussian((5, 2), 1e4))
    assert one.uniform().number == two.uniform().number
    three = Simulator(7)
    three.skip(3)
    assert three.uniform().number == one.uniform().number == two.uniform().number


def test_draws_and_seeds_differ():
    drawn = [noise.gaussian((10,), 1e20) for seed in (0, 1, 2**64 - 1) for noise in [Simulator(seed)] for _ in range(5)]
    assert len({values.tobytes() for values in drawn}) == 15
    assert np.unique(drawn).size == 150


def test_draws_are_independent_of_each_other():
    noise = Simulator(4)
    drawn = np.array([noise.gaussian((2,), 1e6) for _ in range(5_000)])
    correlations = np.corrcoef(np.concatenate([drawn[:-1].T, drawn[1:].T]))
    assert np.abs(correlations - np.eye(4)).max() < 5 / np.sqrt(len(drawn))


def test_system_noise_differs_between_instances():
    drawn = {SystemNoise().gaussian((4,), 1e12).tobytes() for _ in range(20)}
    assert len(drawn) == 20
    assert SystemNoise.caveat is None
    assert Simulator.caveat == "not private: seeded"


@pytest.mark.parametrize("bad", [-1, 2**64, 1.0, "1", True, None])
def test_bad_seeds(bad):
    with pytest.raises(ResiduumError, match="seed between 0 and"):
        Simulator(bad)


def test_numpy_seeds():
    assert Simulator(np.int64(3)).uniform().number == Simulator(3).uniform().number
