"""The kernels of the exponential mechanism against their NumPy twins."""

import numpy as np
import pytest

from residuum import kernels
from residuum.kernels import twins
from residuum.kernels.choice import BLOCK

NOTHING = np.empty(0, dtype=np.int64)
SIZES = [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 1000]


def state(size):
    """Exponents, weights, blocks."""
    return np.zeros(size), np.zeros(size), np.zeros(-(-size // BLOCK))


@pytest.mark.parametrize("scale", [1.0, 100.0, 1e5])  # the last makes the reference move, up and down
@pytest.mark.parametrize("size", SIZES)
def test_weigh(size, scale):
    rng = np.random.default_rng(size)
    norms = rng.integers(0, 2**40, size=size + 1)
    rates, offsets = rng.uniform(scale * 2.0**-41, scale * 2.0**-40, size=size), rng.uniform(0, scale, size=size)
    one, two = state(size), state(size)
    mine, theirs = np.zeros(2), np.zeros(2)
    kernels.weigh(norms, rates, offsets, *one, NOTHING, mine)
    twins.weigh(norms, rates, offsets, *two, NOTHING, theirs)
    np.testing.assert_allclose(one[0], rates * norms[1:] - offsets)
    assert mine[0] == theirs[0] == one[0].max()
    references = {mine[0]}
    for _ in range(30):
        changed = rng.permutation(size + 1)[: rng.integers(1, size + 2)]  # place 0 is the total, no candidate
        changed = np.concatenate([changed, changed[:2]])  # some twice
        norms[changed] = rng.integers(0, 2**40, size=changed.size)
        kernels.weigh(norms, rates, offsets, *one, changed, mine)
        twins.weigh(norms, rates, offsets, *two, changed, theirs)
        references.add(mine[0])
        np.testing.assert_allclose(one[0], rates * norms[1:] - offsets)
        assert mine[1] >= (rates * norms[1:] + offsets).max() * (1 - 1e-12)
        assert mine.tolist() == theirs.tolist()
        for some, others in zip(one, two, strict=True):
            np.testing.assert_allclose(some, others, rtol=1e-9)
        assert np.isfinite(one[2]).all()
        assert one[2].sum() > 0
    if scale != 100.0:
        assert (len(references) > 1) == (scale > 1000)


@pytest.mark.parametrize("size", SIZES)
def test_choose(size):
    rng = np.random.default_rng(size)
    _, weights, blocks = state(size)
    weights[:] = rng.lognormal(sigma=3, size=size)
    blocks[:] = np.add.reduceat(weights, np.arange(0, size, BLOCK))
    uniforms = [1e-4, *rng.random(300)]
    chosen = [kernels.choose(weights, blocks, uniform, 1.0) for uniform in uniforms]
    assert chosen == [twins.choose(weights, blocks, uniform, 1.0) for uniform in uniforms]
    assert -1 not in chosen


def test_nothing_without_weight_is_chosen():
    _, weights, blocks = state(3 * BLOCK)
    weights[[5, 2 * BLOCK + 9]] = 1.0, 3.0
    blocks[:] = 1.0, 0.0, 3.0
    chosen = [kernels.choose(weights, blocks, uniform, 1.0) for uniform in (0.0001, 0.2499, 0.2501, 0.9999)]
    assert chosen == [5, 5, 2 * BLOCK + 9, 2 * BLOCK + 9]


def test_what_rounding_could_turn_is_not_decided():
    _, weights, blocks = state(4)
    weights[:] = 1.0, 0.0, 2.0, 1.0
    blocks[:] = 4.0
    near = 2.0**-42
    for bound in (0.0, 0.25, 0.75, 1.0):
        for uniform in (bound - near, bound, bound + near):
            assert kernels.choose(weights, blocks, uniform, 1.0) == -1
            assert twins.choose(weights, blocks, uniform, 1.0) == -1
    assert kernels.choose(weights, blocks, 0.3, 1.0) == 2
    assert kernels.choose(weights, blocks, 0.3, 2.0**45) == -1  # such exponents are not known well enough
    weights[2] = np.nan
    blocks[:] = np.nan
    assert kernels.choose(weights, blocks, 0.3, 1.0) == -1
