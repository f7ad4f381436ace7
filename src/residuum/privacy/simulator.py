"""Seeded noise: the same seed gives the same run. For research and tests; it protects nobody."""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from residuum.errors import ResiduumError


class Simulator:
    """Noise that follows from a seed and the number of the draw, whatever was drawn before.

    A salt, below 2**64, gives a seed another noise; `name` tells seed and salt.

    >>> one, two = Simulator(7), Simulator(7)
    >>> first = one.uniform()
    >>> first == two.uniform(), first == one.uniform()
    (True, False)
    """

    caveat: str | None = "not private: seeded"

    def __init__(self, seed: int, salt: int = 0) -> None:
        if isinstance(seed, bool) or not hasattr(seed, "__index__") or not 0 <= seed < 2**64:
            raise ResiduumError(f"Expected a seed between 0 and 2**64 - 1, got {seed!r}.")
        self.name = f"seed {seed} {salt:x}"
        self._key(seed | salt << 64)

    def _key(self, key: int) -> None:
        self._bits = np.random.Philox(key=key)
        self._start = self._bits.state
        self._generator = np.random.Generator(self._bits)
        self._draws = 0

    def gaussian(self, shape: tuple[int, ...], sigma2: float) -> NDArray[np.float64]:
        """Independent Gaussian noise with variance `sigma2`."""
        return self._next().normal(scale=sqrt(sigma2), size=shape)

    def uniform(self) -> float:
        """A number drawn evenly from [0, 1)."""
        return self._next().random()

    def _next(self) -> np.random.Generator:
        self._draws += 1
        self._start["state"]["counter"][2] = self._draws
        self._bits.state = self._start
        return self._generator
