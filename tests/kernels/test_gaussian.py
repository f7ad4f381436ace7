"""The kernels of the discrete Gaussian against their NumPy twins."""

from math import prod

import numpy as np
import pytest

from residuum import kernels
from residuum.kernels import twins
from residuum.privacy.noise import _proposal

SIGMAS = [0.05, 0.3, 1.0, 1.001, 1.5, 3.0, 17.0, 1e3, 1e6, 1e9, 1.7e10, 1e13]


def both(sigma, words, count=200, at=0):
    proposal = _proposal(sigma**2, 1)
    results = []
    for draw in (kernels.draw, twins.draw):
        out = np.zeros(count, dtype=np.int64)
        end = draw(out, 0, words, at, proposal.cumulative, proposal.logs, proposal.step, proposal.rate)
        results.append((tuple(int(x) for x in end), out.tolist()))
    return results


@pytest.mark.parametrize("sigma", SIGMAS)
def test_draw(sigma):
    rng = np.random.default_rng(int(sigma * 100))
    for _ in range(20):
        kernel, twin = both(sigma, rng.integers(0, 2**32, size=700, dtype=np.uint32))
        assert kernel == twin


@pytest.mark.parametrize("sigma", [0.3, 1.5, 100.0, 1e12])
def test_draw_from_extreme_words(sigma):
    """Far tails, undecided trials, words running out in the middle of a trial."""
    rng = np.random.default_rng(1)
    ends = []
    for _ in range(2000):
        words = rng.choice(np.array([0, 1, 2**31, 2**32 - 1, 2**32 - 2, 12345678], dtype=np.uint32), size=20)
        kernel, twin = both(sigma, words, count=3)
        assert kernel == twin
        ends.append(kernel[0])
    assert any(block >= 0 for _, _, block, _, _ in ends)  # a word of zeros may lie below a chance that is nearly 0
    assert any(block < 0 and filled < 3 for filled, _, block, _, _ in ends)


def test_no_words():
    assert both(3.0, np.zeros(7, dtype=np.uint32))[0][0] == (0, 0, -1, 0, 0)


@pytest.mark.parametrize("shape", [(), (2,), (5,), (3, 2), (4, 5, 3), (2, 3, 2, 4), (1, 4)])
def test_difference(shape):
    cells = np.random.default_rng(0).integers(-(2**40), 2**40, size=shape)
    scale = prod(shape)
    np.testing.assert_array_equal(kernels.difference(cells.copy(), scale), twins.difference(cells, scale))


def test_difference_is_exact_modulo_two_to_the_64():
    cells = np.array([2**62, -(2**62) - 5], dtype=np.int64)
    assert kernels.difference(cells.copy(), 1).tolist() == [float(2**63 - 5)]
    cells = np.array([[2**62 + 1, 2**62], [2**62, 2**62 + 2]], dtype=np.int64)
    assert kernels.difference(cells, 1).tolist() == [[3.0]]
