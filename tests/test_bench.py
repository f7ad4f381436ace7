"""The rivals in the benchmarks compute the same thing, so that a speed-up means something."""

import numpy as np
import pytest
from bench import kronecker

from residuum import decompose, reconstruct


@pytest.mark.parametrize("shape", [(2, 3), (4, 2, 5), (3, 2, 2, 4)])
def test_kronecker_products_agree(shape):
    gamma = tuple(range(len(shape)))
    mu = np.random.default_rng(0).normal(size=shape)
    zeta = decompose(mu, gamma, gamma)
    for rival in kronecker.DECOMPOSE:
        np.testing.assert_allclose(rival(mu), zeta, atol=1e-12)
    for rival in kronecker.RECONSTRUCT:
        np.testing.assert_allclose(rival(zeta), reconstruct(zeta, gamma, gamma, shape), atol=1e-12)
