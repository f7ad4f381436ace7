"""Random decisions that come out with exactly the probability they should, whatever floating point can hold.

A number drawn evenly from [0, 1) is drawn bit by bit, as many bits as it takes to tell on which side of a bound it
lies; the bound is computed to as many digits as that takes.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from itertools import accumulate

_DIGITS = 30
"""Digits of the first attempt at a bound; each further attempt doubles them."""

Interval = tuple[Fraction, Fraction]


class Uniform:
    """A number drawn evenly from [0, 1), of which the first `bits` bits are known: `number` / 2^bits.

    `word` gives 32 random bits more.

    >>> half = Uniform(number=1, bits=1, word=lambda: 0)
    >>> half.interval
    (Fraction(1, 2), Fraction(1, 1))
    >>> half.refine()
    >>> half.bits
    33
    """

    __slots__ = ("_word", "bits", "number")

    def __init__(self, number: int, bits: int, word: Callable[[], int]) -> None:
        self.number, self.bits, self._word = number, bits, word

    @property
    def interval(self) -> Interval:
        """What the known bits tell."""
        return Fraction(self.number, 1 << self.bits), Fraction(self.number + 1, 1 << self.bits)

    def refine(self) -> None:
        """Draw 32 bits more."""
        self.number = self.number << 32 | self._word()
        self.bits += 32


def exponential(power: Fraction, digits: int = _DIGITS) -> Interval:
    """Bounds of e^power for a power of at most 0, less than 3 · 10^-digits apart.

    >>> low, high = exponential(Fraction(-1, 2))
    >>> float(low), float(high - low) < 3e-30
    (0.6065306597126334, True)
    """
    slack = Fraction(1, 10**digits)
    if power < -2.31 * digits:  # and log 10 is less than 2.31
        return Fraction(0), slack
    # The power is rounded to more than `digits` places behind the point, and the result is correct to the last digit,
    # as the decimal standard has it: either moves it by less than a tenth of the slack.
    context = Context(prec=digits + len(str(digits)) + 4, Emax=MAX_EMAX, Emin=MIN_EMIN)
    value = Fraction(context.exp(context.divide(Decimal(power.numerator), Decimal(power.denominator))))
    return max(value - slack, Fraction(0)), value + slack


def below(uniform: Uniform, factor: Fraction, power: Fraction) -> bool:
    """Whether the uniform number is below factor · e^power: exactly so, with as many bits as it takes.

    >>> bits = iter([0, 2**32 - 1])
    >>> below(Uniform(0, 0, lambda: next(bits)), Fraction(1), Fraction(-1))
    True
    """
    digits = _DIGITS
    while True:
        low, high = exponential(power, digits)
        least, most = uniform.interval
        if most <= factor * low:
            return True
        if least >= factor * high:
            return False
        uniform.refine()
        digits *= 2


def choose(uniform: Uniform, powers: Sequence[Fraction]) -> int:
    """The index that the uniform number points at, when each has a share proportional to e^power.

    >>> choose(Uniform(1, 1, lambda: 0), [Fraction(0), Fraction(-1)])
    0
    """
    largest = max(powers)
    digits = _DIGITS
    while True:
        bounds = [exponential(power - largest, digits) for power in powers]
        lows = list(accumulate(low for low, _ in bounds))
        highs = list(accumulate(high for _, high in bounds))
        least, most = uniform.interval
        index = bisect_right(lows, least * lows[-1])
        inside = index < len(lows) and most * highs[-1] <= lows[index]
        if inside and (index == 0 or least * lows[-1] >= highs[index - 1]):
            return index
        uniform.refine()
        digits *= 2
