"""Privacy budgets: between ρ of zCDP and (ε, δ), and what the two building blocks cost.

Paper: app. B.

With t = α - 1, the logarithm of the bound on δ is ρ t (1 + t) - ε t - t log(1 + 1/t) - log(1 + t). Solved for δ, ε or ρ
it has one best t, where a function that rises with t passes zero. Every t gives a valid bound, so an inexact root costs
tightness and never privacy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, isfinite, ldexp, log, log1p, nextafter
from numbers import Real
from typing import Any

from residuum.core.domain import Clique
from residuum.errors import ResiduumError

HAIR = 2.0**-40
"""How far results are moved to the safe side, relative to their size: well above the rounding errors of a few terms."""


@dataclass(frozen=True, slots=True)
class Spend:
    """One use of the budget, in whole units: a measurement of `clique`, or a selection, whose clique is empty.

    Paper: Prop. B.3 for the mechanism "exponential", B.4 for "gaussian". What a run that died had charged and not yet
    used is "lost".

    >>> Spend("gaussian", clique=(0, 2), units=2**95, budget=3.0).rho
    1.5
    """

    mechanism: str
    clique: Clique
    units: int
    """The charge, in parts of 2⁻⁹⁶ of the budget."""
    budget: float
    """The ρ that the charge is a part of."""

    @property
    def rho(self) -> float:
        """The charge in ρ, to the precision of a float."""
        return ldexp(self.units, -96) * self.budget


def delta_of(rho: float, epsilon: float) -> float:
    """The smallest δ for which ρ-zCDP is known to give (ε, δ)-DP.

    Paper: Prop. B.2. Never 0: zCDP alone does not give pure differential privacy.

    >>> print(f"{delta_of(rho=0.01, epsilon=1.0):.4e}")
    1.6641e-13
    """
    return _delta(above_zero(rho, "rho"), above_zero(epsilon, "epsilon"))


def epsilon_of(rho: float, delta: float) -> float:
    """The smallest ε for which ρ-zCDP is known to give (ε, δ)-DP, rounded up by a hair.

    Paper: Prop. B.2, solved for ε. It is 0 where δ alone covers all that the mechanism tells.

    >>> print(f"{epsilon_of(rho=0.5, delta=1e-9):.6f}")
    6.474070
    """
    rho, delta = above_zero(rho, "rho"), _probability(delta)
    t = _root(lambda t: rho * t - (-log(delta) - log1p(t)) / t)
    epsilon = rho * (1 + t) - log1p(1 / t) - (log(delta) + log1p(t)) / t
    hair = HAIR * rho * (1 + t) + HAIR * abs(epsilon)
    while _delta(rho, max(0.0, epsilon + hair)) > delta:
        hair *= 2
    return max(0.0, epsilon + hair)


def rho_of(epsilon: float, delta: float) -> float:
    """The largest ρ whose zCDP is known to give (ε, δ)-DP, rounded down by a hair.

    Paper: Prop. B.2, solved for ρ.

    >>> print(f"{rho_of(epsilon=1.0, delta=1e-9):.10f}")
    0.0149730577
    """
    epsilon, delta = above_zero(epsilon, "epsilon"), _probability(delta)
    t = _root(lambda t: t * (epsilon + log1p(1 / t)) - (2 + 1 / t) * (-log(delta) - log1p(t)))
    rho = (epsilon + log1p(1 / t) + (log(delta) + log1p(t)) / t) / (1 + t)
    hair = HAIR
    while _delta(rho * (1 - hair), epsilon) > delta:
        hair *= 2
    rho *= 1 - hair
    if rho <= 0:
        raise ResiduumError(
            f"Expected a larger budget, got epsilon={epsilon!r} and delta={delta!r}, which leave no rho."
        )
    return rho


def gaussian(sensitivity2: float, sigma2: float) -> float:
    """The ρ of a Gaussian measurement with variance σ² of something whose squared L2 sensitivity is given.

    Paper: Prop. B.4. A marginal has sensitivity 1; a residual has p_τ with noise σ² V_τ (Prop. 4.3).

    >>> gaussian(sensitivity2=0.75, sigma2=3.0)
    0.125
    """
    return above_zero(sensitivity2, "sensitivity2") / (2 * above_zero(sigma2, "sigma2"))


def exponential(epsilon_select: float) -> float:
    """The ρ of one choice by the exponential mechanism.

    Paper: Prop. B.3, ε² / 8.

    >>> exponential(2.0)
    0.5
    """
    return above_zero(epsilon_select, "epsilon_select") ** 2 / 8


def per_row(rho: float, rows_per_person: int) -> float:
    """The ρ per row that protects people who have up to k rows each with `rho`: ρ / k², rounded down.

    Paper: the neighbours of app. B differ by one row; k rows at once cost k² times as much (group privacy of zCDP).

    >>> per_row(1.0, rows_per_person=4)
    0.0625
    """
    rho, k = above_zero(rho, "rho"), rows_per_person
    if isinstance(k, bool) or not hasattr(k, "__index__") or k < 1:
        raise ResiduumError(f"Expected `rows_per_person` to be a whole number above 0, got {k!r}.")
    numerator, denominator = rho.as_integer_ratio()
    denominator *= k.__index__() ** 2
    row = rounded_down(numerator, denominator)
    if row <= 0:
        raise ResiduumError(f"A budget of rho={rho} for {k} rows per person leaves nothing for a row.")
    return row


def budget(epsilon: float | None = None, delta: float | None = None, rho: float | None = None) -> float:
    """The ρ that was asked for: given as such, or as ε and δ.

    Paper: Prop. B.2.

    >>> budget(rho=0.5)
    0.5
    >>> budget(epsilon=1.0, delta=1e-9) == rho_of(1.0, 1e-9)
    True
    """
    if rho is not None:
        if epsilon is not None:
            raise ResiduumError(
                f"Expected either rho or epsilon, got rho={rho!r} and epsilon={epsilon!r}. Leave one out."
            )
        if delta is not None:
            raise ResiduumError(f"Expected no delta beside rho, got rho={rho!r} and delta={delta!r}. Leave one out.")
        return above_zero(rho, "rho")
    if epsilon is None and delta is None:
        raise ResiduumError("Expected a privacy budget, got none. Give epsilon and delta, or rho.")
    if delta is None:
        raise ResiduumError(f"Expected a delta beside epsilon={epsilon!r}, got none. Give one such as delta=1e-9.")
    if epsilon is None:
        raise ResiduumError(f"Expected an epsilon beside delta={delta!r}, got none. Give one such as epsilon=1.0.")
    return rho_of(epsilon, delta)


def above_zero(value: Any, name: str) -> float:
    """The value as a float, if it is a finite number above 0.

    >>> above_zero(3, "rho")
    3.0
    """
    if type(value) is float and 0 < value < inf:
        return value
    number = _number(value, name)
    if not (isfinite(number) and number > 0):
        raise ResiduumError(f"Expected `{name}` to be a finite number above 0, got {value!r}.")
    return number


def rounded_down(numerator: int, denominator: int) -> float:
    """The largest float that is not above a fraction of two whole numbers, the second above 0.

    >>> rounded_down(1, 10) < 0.1 == 1 / 10
    True
    """
    quotient = numerator / denominator
    top, bottom = quotient.as_integer_ratio()
    return nextafter(quotient, -inf) if top * denominator > numerator * bottom else quotient


def _delta(rho: float, epsilon: float) -> float:
    t = _root(lambda t: (2 * t + 1) * rho - epsilon - log1p(1 / t))
    log_delta = t * ((1 + t) * rho - epsilon) - t * log1p(1 / t) - log1p(t)
    return max(exp(min(log_delta, 0.0)), 5e-324)


def _root(rising: Callable[[float], float]) -> float:
    """The t = α - 1 where a rising function passes 0, by bisection on log t over nearly all that floats can hold."""
    low, high = -700.0, 700.0
    for _ in range(64):
        middle = (low + high) / 2
        if rising(exp(middle)) < 0:
            low = middle
        else:
            high = middle
    return exp(high)


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ResiduumError(f"Expected `{name}` to be a number, got {value!r}.")
    try:
        return float(value)
    except OverflowError:
        return inf


def _probability(delta: Any) -> float:
    number = _number(delta, "delta")
    if not 0 < number < 1:
        raise ResiduumError(f"Expected `delta` to be between 0 and 1, got {delta!r}.")
    return number
