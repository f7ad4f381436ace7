"""Seeded noise: the same seed gives the same run. For research and tests; it protects nobody."""

from collections.abc import Callable

import numpy as np

from residuum.errors import ResiduumError
from residuum.privacy.noise import Noise, Words


class Simulator(Noise):
    """Noise that follows from a seed and the number of the draw, whatever was drawn before.

    It is made as the noise of a private run is; only its random words are not. A salt, below 2**64, gives a seed
    another noise; `name` tells seed and salt.

    >>> one, two = Simulator(7), Simulator(7)
    >>> first = one.uniform().number
    >>> first == two.uniform().number, first == one.uniform().number
    (True, False)
    """

    caveat = "not private: seeded"

    def __init__(self, seed: int, salt: int = 0) -> None:
        if isinstance(seed, bool) or not hasattr(seed, "__index__") or not 0 <= seed < 2**64:
            raise ResiduumError(f"Expected a seed between 0 and 2**64 - 1, got {seed!r}.")
        self.name = f"seed {seed} {salt:x}"
        self._bits = np.random.Philox(key=int(seed) | salt << 64)
        self._start = self._bits.state
        self._draws = 0

    def source(self) -> Callable[[int], Words]:
        """A stream of words of its own for every draw, told apart by the number of the draw."""
        self._draws += 1
        self._start["state"]["counter"][2] = self._draws
        self._bits.state = self._start
        return self._words

    def skip(self, draws: int) -> None:
        """Go past draws whose outcome is known."""
        self._draws += draws

    def _words(self, count: int) -> Words:
        return self._bits.random_raw(-(-count // 2)).view(np.uint32)[:count]
