"""Noise from the operating system's entropy, for runs without a seed.

The draws are still floating-point Gaussians from a statistical generator under a secret key: they keep the mathematical
guarantee for ideal noise, but an attacker who studies the bits of released numbers may learn more. Every release says
so.
"""

import secrets

from residuum.privacy.simulator import Simulator


class SystemNoise(Simulator):
    """Like the simulator, under a key that nobody knows and that ends with the run.

    >>> SystemNoise().uniform() == SystemNoise().uniform()
    False
    """

    caveat = "not exact: floating-point noise, not proof against attacks on its bits"

    def __init__(self) -> None:
        self.name = f"system {secrets.token_hex(8)}"
        self._key(secrets.randbits(128))
