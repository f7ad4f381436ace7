"""Gaussian noise drawn by OpenDP, for those who would rather trust its vetted sampler than ours."""

from fractions import Fraction
from functools import lru_cache
from math import inf, nextafter, prod, sqrt
from typing import Any

import numpy as np

from residuum.core.checks import positive
from residuum.errors import ResiduumError
from residuum.privacy.noise import Integers, SystemNoise, check_size


class OpenDPNoise(SystemNoise):
    """Noise from OpenDP's discrete Gaussian; random choices are made as in `SystemNoise`.

    Its scale is a float, so σ is rounded up: there is a hair more noise than was charged for.
    """

    def __init__(self) -> None:
        super().__init__()
        _library()

    def gaussian(self, shape: tuple[int, ...], sigma2: float, scale: int = 1) -> Integers:
        """Independent draws from the discrete Gaussian with parameter scale² · σ² or a hair more."""
        check_size(positive(sigma2, "sigma2"), scale)  # beyond it OpenDP cuts noise off, and that would tell
        sampler = _sampler(_above(Fraction(positive(sigma2, "sigma2")) * scale**2))
        return np.array(sampler([0] * prod(shape)), dtype=np.int64).reshape(shape)


def _above(square: Fraction) -> float:
    """A float not below the square root of a fraction, and next to it."""
    root = sqrt(square)
    while Fraction(root) ** 2 < square:
        root = nextafter(root, inf)
    return root


@lru_cache(maxsize=4096)
def _sampler(sigma: float) -> Any:
    dp = _library()
    integers = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    return dp.m.make_gaussian(*integers, scale=sigma)


def _library() -> Any:
    try:
        import opendp.prelude as prelude
    except ImportError:
        raise ResiduumError("OpenDP is not installed. Install it with: pip install 'residuum[opendp]'") from None
    dp: Any = prelude
    dp.enable_features("contrib")
    return dp
