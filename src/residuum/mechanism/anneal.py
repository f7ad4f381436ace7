"""How much a round of the adaptive loop may spend, and on what.

Paper: Alg. 4, lines 2 and 4, and the budget annealing of App. F.1.
"""

from dataclasses import dataclass, replace
from math import sqrt
from numbers import Real
from typing import Any

from residuum.core.checks import whole
from residuum.errors import ResiduumError

SELECTION = 0.1
"""The share of a round's budget that selection gets."""

CRUMB = 2.0**-30
"""What the last round leaves of the rest, so that rounding never overspends."""

ONE_OF_EVEN = 1.5
"""Rounds that share a budget evenly come out even, but for rounding: so many of them are left, or one."""

WORTHWHILE = 2.0**-20
"""The share of the budget below which a rest, such as a crash may leave, is not worth a round."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How a run shares its budget out; None leaves it to the mechanism.

    >>> Schedule(share_select=1.5)
    Traceback (most recent call last):
    residuum.errors.ResiduumError: Expected `share_select` between 0 and 1, got 1.5.
    """

    rounds: int | None = None
    """So many rounds share what the single attributes leave; the paper's loop begins as if there were so many.

    Where they would measure nearly all pairs, the default measures all of them instead.
    """
    share_singles: float | None = None
    """The share of the budget that the single attributes get before the first round."""
    share_select: float = SELECTION
    """The share of a round's budget that selection gets."""

    def __post_init__(self) -> None:
        rounds: Any = self.rounds
        if rounds is not None and not (whole(rounds) and rounds >= 1):
            raise ResiduumError(f"Expected `rounds` to be a whole number above 0, got {rounds!r}.")
        object.__setattr__(self, "rounds", rounds if rounds is None else int(rounds))
        for name in ("share_singles", "share_select"):
            share: Any = getattr(self, name)
            if share is None and name == "share_singles":
                continue
            if not isinstance(share, Real) or isinstance(share, bool) or not 0 < float(share) < 1:
                raise ResiduumError(f"Expected `{name}` between 0 and 1, got {share!r}.")
            object.__setattr__(self, name, float(share))  # costs are computed, and journals kept, in plain numbers


@dataclass(frozen=True, slots=True)
class Round:
    """What one round spends: moved / (2 σ²) on measuring, ε²/8 on selecting. The last one spends all that is left.

    `moved` is by how much one row changes a marginal, in squared L2: 1 where a row is added or removed. `selection` is
    the share of its budget that goes into selecting.

    >>> Round(sigma2=8.0, epsilon_select=0.5).cost
    0.09375
    """

    sigma2: float
    epsilon_select: float
    last: bool = False
    moved: int = 1
    selection: float = SELECTION

    @property
    def precision(self) -> float:
        """The precision to share between residuals, in units of what they cost: twice the ρ spent on measuring."""
        return self.moved / self.sigma2

    @property
    def cost(self) -> float:
        """The round's share of ρ."""
        return self.precision / 2 + self.epsilon_select**2 / 8


def first_round(rho: float, rounds: int, remaining: float, moved: int = 1, selection: float = SELECTION) -> Round:
    """The round after the initialisation, as if so many rounds shared the budget. Paper: Alg. 4, lines 2 and 4.

    The paper has as many as there are cliques in the closure.

    >>> first_round(rho=1.0, rounds=100, remaining=0.9).sigma2
    111.11111111111111
    """
    sigma2 = sigma2_init(rho, rounds, moved, selection)
    return last_or(Round(sigma2, sqrt(4 * selection * rho / rounds), False, moved, selection), remaining)


def even_round(remaining: float, rounds: int, moved: int = 1, selection: float = SELECTION) -> Round:
    """One of so many rounds that share the rest evenly.

    >>> even_round(remaining=0.5, rounds=9).cost * 9
    0.5
    """
    cost = remaining / rounds
    sigma2 = moved / (2 * (1 - selection) * cost)
    return last_or(Round(sigma2, sqrt(8 * selection * cost), False, moved, selection), remaining, ONE_OF_EVEN)


def sigma2_init(rho: float, rounds: int, moved: int = 1, selection: float = SELECTION) -> float:
    """The variance σ₀² of the first measurements. Paper: Alg. 4, line 2.

    >>> sigma2_init(rho=1.0, rounds=90)
    100.0
    """
    return moved * rounds / ((1 - selection) * rho)


def next_round(current: Round, improved: bool, remaining: float) -> Round:
    """The round after a given one: at twice the precision where that one did not move its marginal beyond the noise.

    Paper: budget annealing. `improved` compares the marginal's estimate after the round with the one before it, never
    with the truth.

    >>> next_round(Round(100.0, 0.1), improved=False, remaining=1.0)
    Round(sigma2=25.0, epsilon_select=0.2, last=False, moved=1, selection=0.1)
    >>> next_round(Round(100.0, 0.1), improved=True, remaining=0.01).last
    True
    """
    if not improved:
        current = replace(current, sigma2=current.sigma2 / 4, epsilon_select=2 * current.epsilon_select)
    return last_or(current, remaining)


def within(planned: Round, remaining: float) -> Round:
    """The round as far as it can be paid for, once it has selected: after a crash, less may be left than was planned.

    >>> within(Round(100.0, 0.1), remaining=1.0)
    Round(sigma2=100.0, epsilon_select=0.1, last=False, moved=1, selection=0.1)
    >>> within(Round(100.0, 0.1), remaining=0.004).last
    True
    """
    if planned.precision / 2 <= remaining:
        return planned
    return replace(planned, sigma2=planned.moved / (2 * remaining * (1 - CRUMB)), last=True)


def last_or(planned: Round, remaining: float, enough: float = 2.0) -> Round:
    """The round as planned, or the last one, with all that is left, where that is not enough for two.

    >>> last_or(Round(100.0, 0.1), remaining=1.0).last, last_or(Round(100.0, 0.1), remaining=0.01).last
    (False, True)
    """
    if remaining > enough * planned.cost or remaining == 0:  # nothing, as a crash may leave it: no round follows
        return planned
    rest = remaining * (1 - CRUMB)
    sigma2 = planned.moved / (2 * (1 - planned.selection) * rest)
    return replace(planned, sigma2=sigma2, epsilon_select=sqrt(8 * planned.selection * rest), last=True)
