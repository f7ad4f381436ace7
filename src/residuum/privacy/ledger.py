"""The account of a privacy budget, exact to the last bit.

Paper: app. B, Prop. B.5 (composition), B.3 and B.4 (what the two mechanisms cost).

Floats are fractions of whole numbers, so each charge is computed in whole numbers and rounded up to a unit of ρ · 2⁻⁹⁶.
The units are added up exactly, and what has been spent is never above ρ.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf

from residuum.core.checks import ascending
from residuum.core.domain import Clique
from residuum.core.zcdp import Spend, above_zero, rounded_down
from residuum.errors import BudgetExceeded, ResiduumError

BITS = 96
TOTAL = 2**BITS

Recorder = Callable[[Sequence[Spend], int], None]
"""Told of every charge, and what is spent with it in units, before anything is drawn for it."""


class Ledger:
    """A budget of ρ-zCDP and all that has been spent of it. It can be added to and never taken from.

    Paper: Prop. B.5, the costs of mechanisms chosen one after the other add up.

    A charge is on record before the call that makes it returns, so make it before the noise is drawn. A recorder is
    told of each, for instance to keep it on disk; if that fails, no noise is drawn. A ledger belongs to one thread.

    >>> ledger = Ledger(rho=1.0)
    >>> ledger.charge_gaussian((0, 2), sensitivity2=(3, 4), sigma2=1.5)
    >>> ledger.spent, ledger.remaining
    (0.25, 0.75)
    """

    __slots__ = ("_bottom", "_recorder", "_rho", "_spends", "_spent", "_top")

    def __init__(self, rho: float, recorder: Recorder | None = None) -> None:
        self._rho = above_zero(rho, "rho")
        self._top, self._bottom = self._rho.as_integer_ratio()
        self._spent = 0
        self._spends: list[Spend] = []
        self._recorder = recorder

    def charge_gaussian(self, clique: Clique, sensitivity2: tuple[int, int], sigma2: float) -> None:
        """Record a Gaussian measurement of `clique` with variance σ²; `sensitivity2` is (numerator, denominator).

        Paper: Prop. B.4, Δ₂² / (2 σ²).

        >>> ledger = Ledger(rho=1.0)
        >>> ledger.charge_gaussian((1,), sensitivity2=(1, 2), sigma2=2.0)
        >>> ledger.remaining
        0.875
        """
        self._record([self._gaussian(clique, sensitivity2, sigma2)])

    def charge_gaussians(self, items: Sequence[tuple[Clique, tuple[int, int], float]]) -> None:
        """Record several Gaussian measurements, (clique, sensitivity2, sigma2) each: all of them or none.

        Paper: Prop. B.4 and B.5.

        >>> ledger = Ledger(rho=1.0)
        >>> ledger.charge_gaussians([((), (1, 1), 4.0), ((0,), (2, 3), 4.0)])
        >>> [spend.clique for spend in ledger.spends]
        [(), (0,)]
        """
        self._record([self._gaussian(clique, sensitivity2, sigma2) for clique, sensitivity2, sigma2 in items])

    def charge_exponential(self, epsilon_select: float) -> None:
        """Record a choice by the exponential mechanism.

        Paper: Prop. B.3, ε² / 8.

        >>> ledger = Ledger(rho=1.0)
        >>> ledger.charge_exponential(2.0)
        >>> ledger.remaining
        0.5
        """
        top, bottom = above_zero(epsilon_select, "epsilon_select").as_integer_ratio()
        units = -(-(top * top * self._bottom << BITS - 3) // (bottom * bottom * self._top))
        self._record([Spend("exponential", (), units, self._rho)])

    def forfeit(self, spent: int) -> None:
        """Give up what is missing to so many units spent: it was charged by a run that died, for draws nobody has.

        >>> ledger = Ledger(rho=1.0)
        >>> ledger.forfeit(2**95)
        >>> ledger.remaining
        0.5
        """
        if spent > self._spent:
            self._record([Spend("lost", (), spent - self._spent, self._rho)])

    @property
    def rho(self) -> float:
        """The whole budget.

        >>> Ledger(rho=0.1).rho
        0.1
        """
        return self._rho

    @property
    def total_units(self) -> int:
        """The whole budget in units.

        >>> Ledger(rho=0.1).total_units == 2**96
        True
        """
        return TOTAL

    @property
    def spent_units(self) -> int:
        """What has been spent, in units.

        >>> Ledger(rho=0.1).spent_units
        0
        """
        return self._spent

    @property
    def remaining_units(self) -> int:
        """What is left, in units.

        >>> Ledger(rho=0.1).remaining_units == 2**96
        True
        """
        return TOTAL - self._spent

    @property
    def spent(self) -> float:
        """The ρ that has been spent, rounded up.

        >>> Ledger(rho=0.1).spent
        0.0
        """
        return self._rounded_up(self._spent)

    @property
    def remaining(self) -> float:
        """The ρ that is left, rounded down.

        >>> Ledger(rho=0.1).remaining
        0.1
        """
        return rounded_down(self.remaining_units * self._top, self._bottom << BITS)

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Every charge, in order.

        >>> ledger = Ledger(rho=1.0)
        >>> ledger.charge_exponential(0.5)
        >>> ledger.spends[0].mechanism
        'exponential'
        """
        return tuple(self._spends)

    def _gaussian(self, clique: Clique, sensitivity2: tuple[int, int], sigma2: float) -> Spend:
        numerator, denominator = _ratio(sensitivity2)
        top, bottom = above_zero(sigma2, "sigma2").as_integer_ratio()
        units = -(-(numerator * bottom * self._bottom << BITS - 1) // (denominator * top * self._top))
        return Spend("gaussian", _clique(clique), units, self._rho)

    def _record(self, spends: list[Spend]) -> None:
        units = sum([spend.units for spend in spends])
        spent = self._spent + units
        if spent > TOTAL:
            raise BudgetExceeded(
                f"{_described(spends)} costs rho={self._rounded_up(units)}, but of rho={self._rho} there is "
                f"{self.remaining} left. Add more noise, or start with a larger budget."
            )
        self._spent = spent
        self._spends.extend(spends)
        if self._recorder:
            self._recorder(spends, spent)

    def _rounded_up(self, units: int) -> float:
        try:
            return 0.0 - rounded_down(-units * self._top, self._bottom << BITS)
        except OverflowError:
            return inf


def _ratio(sensitivity2: tuple[int, int]) -> tuple[int, int]:
    try:
        numerator, denominator = sensitivity2
        if type(numerator) is not int or type(denominator) is not int:
            if isinstance(numerator, bool) or isinstance(denominator, bool):
                raise TypeError
            numerator, denominator = numerator.__index__(), denominator.__index__()
        if numerator > 0 and denominator > 0:
            return numerator, denominator
    except (TypeError, ValueError, AttributeError):
        pass
    raise ResiduumError(
        f"Expected `sensitivity2` to be two whole numbers above 0, (numerator, denominator), got {sensitivity2!r}."
    )


def _clique(clique: Clique) -> Clique:
    try:
        return _ascending(clique)
    except TypeError:  # a list, say: no key for the cache
        return ascending(clique, "clique")


@lru_cache(maxsize=65536)
def _ascending(clique: Clique) -> Clique:
    return ascending(clique, "clique")


def _described(spends: list[Spend]) -> str:
    if spends[0].mechanism == "exponential":
        return "A choice by the exponential mechanism"
    cliques = [str(spend.clique) for spend in spends]
    return f"Measuring {', '.join(cliques[:3])}{' and others' if len(cliques) > 3 else ''}"
