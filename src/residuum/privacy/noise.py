"""Noise from the operating system's entropy, for runs without a seed.

The draws are still floating-point Gaussians: they keep the mathematical guarantee for ideal real numbers, but an
attacker who sees the last bits of a released number may learn more. Every release says so.
"""

import secrets

from residuum.privacy.simulator import Simulator


class SystemNoise(Simulator):
    """Like the simulator, under a key that nobody knows and that is never kept.

    >>> SystemNoise().uniform() == SystemNoise().uniform()
    False
    """

    caveat = "noise in floating point: not proof against attacks on its last bits"

    def __init__(self) -> None:
        super().__init__(secrets.randbits(64))
