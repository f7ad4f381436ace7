"""How much a round of the adaptive loop may spend, and on what.

Paper: Alg. 4, lines 2 and 4, and the budget annealing of App. F.1.
"""

from dataclasses import dataclass, replace
from math import sqrt

_SELECTION = 0.1
"""The share of a round's budget that selection gets."""

_CRUMB = 2.0**-30
"""What the last round leaves of the rest, so that rounding never overspends."""

WORTHWHILE = 2.0**-20
"""The share of the budget below which a rest, such as a crash may leave, is not worth a round."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round spends: moved / (2 σ²) on measuring, ε²/8 on selecting. The last one spends all that is left.

    `moved` is by how much one row changes a marginal, in squared L2: 1 where a row is added or removed.

    >>> Round(sigma2=8.0, epsilon_select=0.5).cost
    0.09375
    """

    sigma2: float
    epsilon_select: float
    last: bool = False
    moved: int = 1

    @property
    def precision(self) -> float:
        """The precision to share between residuals, in units of what they cost: twice the ρ spent on measuring."""
        return self.moved / self.sigma2

    @property
    def cost(self) -> float:
        """The round's share of ρ."""
        return self.precision / 2 + self.epsilon_select**2 / 8


def first_round(rho: float, cliques: int, remaining: float, moved: int = 1) -> Round:
    """The round after the initialisation, for a closure of so many cliques. Paper: Alg. 4, lines 2 and 4.

    >>> first_round(rho=1.0, cliques=100, remaining=0.9).sigma2
    111.11111111111111
    """
    planned = Round(sigma2_init(rho, cliques, moved), sqrt(4 * _SELECTION * rho / cliques), moved=moved)
    return _last_or(planned, remaining)


def sigma2_init(rho: float, cliques: int, moved: int = 1) -> float:
    """The variance σ₀² of the first measurements. Paper: Alg. 4, line 2.

    >>> sigma2_init(rho=1.0, cliques=90)
    100.0
    """
    return moved * cliques / ((1 - _SELECTION) * rho)


def next_round(current: Round, improved: bool, remaining: float) -> Round:
    """The round after a given one: at twice the precision where that one did not move its marginal beyond the noise.

    Paper: budget annealing. `improved` compares the marginal's estimate after the round with the one before it, never
    with the truth.

    >>> next_round(Round(100.0, 0.1), improved=False, remaining=1.0)
    Round(sigma2=25.0, epsilon_select=0.2, last=False, moved=1)
    >>> next_round(Round(100.0, 0.1), improved=True, remaining=0.01).last
    True
    """
    if not improved:
        current = replace(current, sigma2=current.sigma2 / 4, epsilon_select=2 * current.epsilon_select)
    return _last_or(current, remaining)


def within(planned: Round, remaining: float) -> Round:
    """The round as far as it can be paid for, once it has selected: after a crash, less may be left than was planned.

    >>> within(Round(100.0, 0.1), remaining=1.0)
    Round(sigma2=100.0, epsilon_select=0.1, last=False, moved=1)
    >>> within(Round(100.0, 0.1), remaining=0.004).last
    True
    """
    if planned.precision / 2 <= remaining:
        return planned
    return replace(planned, sigma2=planned.moved / (2 * remaining * (1 - _CRUMB)), last=True)


def _last_or(planned: Round, remaining: float) -> Round:
    if remaining > 2 * planned.cost or remaining == 0:  # with nothing left, as a crash may have it, no round follows
        return planned
    rest = remaining * (1 - _CRUMB)
    sigma2 = planned.moved / (2 * (1 - _SELECTION) * rest)
    return Round(sigma2, sqrt(8 * _SELECTION * rest), last=True, moved=planned.moved)
