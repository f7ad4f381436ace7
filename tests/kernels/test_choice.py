"""The kernels of the exponential mechanism against their NumPy twins."""

import numpy as np
import pytest

from residuum import kernels
from residuum.kernels import twins
from residuum.kernels.choice import BLOCK

NOTHING = np.empty(0, dtype=np.int64)
SIZES = [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 1000]


def state(size):
    return np.zeros(size), np.zeros(-(-size // BLOCK))


@pytest.mark.parametrize("scale", [1.0, 100.0, 3000.0])  # the last makes the reference move, up and down
@pytest.mark.parametrize("size", SIZES)
def test_weigh(size, scale):
    rng = np.random.default_rng(size)
    exponents = rng.normal(scale=scale, size=size)
    one, two = state(size), state(size)
    reference = kernels.weigh(exponents, *one, NOTHING, 0.0)
    assert reference == twins.weigh(exponents, *two, NOTHING, 0.0) == exponents.max()
    references = {reference}
    for _ in range(30):
        changed = rng.permutation(size)[: rng.integers(1, size + 1)]
        changed = np.concatenate([changed, changed[:2]])  # some twice
        exponents[changed] += rng.normal(scale=scale, size=changed.size)
        before = reference
        reference = kernels.weigh(exponents, *one, changed, before)
        assert reference == twins.weigh(exponents, *two, changed, before)
        references.add(reference)
        for mine, theirs in zip(one, two, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12)
        assert np.isfinite(one[1]).all()
        assert one[1].sum() > 0
    if scale != 100.0:
        assert (len(references) > 1) == (scale > 1000)


@pytest.mark.parametrize("size", SIZES)
def test_choose(size):
    rng = np.random.default_rng(size)
    weights, blocks = state(size)
    kernels.weigh(rng.normal(scale=3, size=size), weights, blocks, NOTHING, 0.0)
    for uniform in [0.0, *rng.random(300), np.nextafter(1.0, 0.0)]:
        assert kernels.choose(weights, blocks, uniform) == twins.choose(weights, blocks, uniform)


def test_nothing_without_weight_is_chosen():
    weights, blocks = state(3 * BLOCK)
    weights[[5, 2 * BLOCK + 9]] = 1.0, 3.0
    blocks[:] = 1.0, 0.0, 3.0
    chosen = [kernels.choose(weights, blocks, uniform) for uniform in (0.0, 0.2499, 0.25, 0.9999)]
    assert chosen == [5, 5, 2 * BLOCK + 9, 2 * BLOCK + 9]
