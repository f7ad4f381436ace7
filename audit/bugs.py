"""Planted bugs: programs that break their promise in ways that are easy to overlook. The audit has to catch them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import pi, sqrt
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from audit.transcript import Program, aim_grem, default
from residuum.core.domain import Clique, Domain
from residuum.data.differences import Differences
from residuum.mechanism import aim
from residuum.mechanism import guided as guided_module
from residuum.mechanism.anneal import Round
from residuum.mechanism.curator import AdaptiveCurator
from residuum.mechanism.guided import Guided
from residuum.privacy.ledger import Ledger
from residuum.privacy.noise import Integers, Noise, SystemNoise


def halved(kind: type[Noise] = SystemNoise) -> type[Noise]:
    """Noise of a kind, with half the standard deviation that was asked and paid for."""

    class Halved(kind):
        def gaussian(self, shape: tuple[int, ...], sigma2: float, scale: int = 1) -> Integers:
            return super().gaussian(shape, sigma2 / 4, scale)

    return Halved


class Forgetful(Ledger):
    """A ledger that charges selections and forgets measurements."""

    __slots__ = ()

    def charge_gaussians(self, items: Sequence[tuple[Clique, tuple[int, int], float]]) -> None:
        """Charge nothing."""


@contextmanager
def looking() -> Iterator[None]:
    """Annealing as the paper's algorithm writes it: the estimate is compared with the truth, which nobody paid for."""
    curators: list[Any] = []

    class Open(AdaptiveCurator):
        def __init__(self, *parts: Any) -> None:
            super().__init__(*parts)
            curators[:] = [self]

    def moved(domain: Domain, gamma: Clique, _: Any, current: Round) -> bool:
        differences = curators[0]._differences
        place = differences.workload.closure.index(gamma)
        distance = differences.norms[place] / differences.scales[place]
        return distance > sqrt(2 / pi * current.sigma2) * domain.size(gamma)

    with patch.object(aim, "AdaptiveCurator", Open), patch.object(aim, "_moved", moved):
        yield


@contextmanager
def doubled() -> Iterator[None]:
    """Differences twice as large as their scale says where estimates are compared: the wrong sensitivity."""

    inner = Differences.compare

    def compare(differences: Differences, gamma: Clique, mu_hat: NDArray[np.float64]) -> int:
        position = inner(differences, gamma, mu_hat)
        differences.norms[position] *= 2
        return position

    with patch.object(Differences, "compare", compare):
        yield


@contextmanager
def counted() -> Iterator[None]:
    """As many rounds as the true total suggests, not the noisy one, and always some."""

    def rounds(guided: Guided) -> int:
        total = int(guided._curator._differences.marginal(()))
        return int(total * sqrt(guided._rho / guided._neighbours.moved) / guided_module._PER_ROUND)

    with patch.object(Guided, "_rounds", rounds), patch.object(guided_module, "_PLENTY", 0.0):
        yield


NOISE_HALVED = Program(aim_grem, noise=halved())
CHARGE_FORGOTTEN = Program(aim_grem, ledger=Forgetful)
ANNEALING_LOOKS = Program(aim_grem, changes=looking)
ROUNDS_LOOK = Program(default("independent"), changes=counted)
