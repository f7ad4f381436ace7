"""How much a round of the adaptive loop may spend, and on what.

Paper: Alg. 4, lines 2 and 4, and the budget annealing of App. F.1.
"""

from dataclasses import dataclass
from math import sqrt

_SELECTION = 0.1
"""The share of a round's budget that selection gets."""

_CRUMB = 2.0**-30
"""What the last round leaves of the rest, so that rounding never overspends."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round spends: 1 / (2 σ²) on measuring, ε²/8 on selecting. The last one spends all that is left.

    >>> Round(sigma2=8.0, epsilon_select=0.5).cost
    0.09375
    """

    sigma2: float
    epsilon_select: float
    last: bool = False

    @property
    def cost(self) -> float:
        """The round's share of ρ."""
        return 1 / (2 * self.sigma2) + self.epsilon_select**2 / 8


def first_round(rho: float, cliques: int, remaining: float) -> Round:
    """The round after the initialisation, for a closure of so many cliques. Paper: Alg. 4, lines 2 and 4.

    >>> first_round(rho=1.0, cliques=100, remaining=0.9).sigma2
    111.11111111111111
    """
    return _last_or(Round(sigma2_init(rho, cliques), sqrt(4 * _SELECTION * rho / cliques)), remaining)


def sigma2_init(rho: float, cliques: int) -> float:
    """The variance σ₀² of the first measurements. Paper: Alg. 4, line 2.

    >>> sigma2_init(rho=1.0, cliques=90)
    100.0
    """
    return cliques / ((1 - _SELECTION) * rho)


def next_round(current: Round, improved: bool, remaining: float) -> Round:
    """The round after a given one: at twice the precision where that one did not move its marginal beyond the noise.

    Paper: budget annealing. `improved` compares the marginal's estimate after the round with the one before it, never
    with the truth.

    >>> next_round(Round(100.0, 0.1), improved=False, remaining=1.0)
    Round(sigma2=25.0, epsilon_select=0.2, last=False)
    >>> next_round(Round(100.0, 0.1), improved=True, remaining=0.01).last
    True
    """
    if not improved:
        current = Round(current.sigma2 / 4, 2 * current.epsilon_select)
    return _last_or(current, remaining)


def _last_or(planned: Round, remaining: float) -> Round:
    if remaining > 2 * planned.cost:
        return planned
    rest = remaining * (1 - _CRUMB)
    return Round(1 / (2 * (1 - _SELECTION) * rest), sqrt(8 * _SELECTION * rest), last=True)
