from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum.privacy import exact
from residuum.privacy.exact import Uniform, below, choose, exponential


def words(*numbers):
    left = iter(numbers)
    return lambda: next(left)


@given(st.fractions(min_value=-200, max_value=0, max_denominator=10**9), st.integers(5, 60))
def test_exponential_bounds(power, digits):
    low, high = exponential(power, digits)
    with localcontext() as context:
        context.prec = 200
        truth = Fraction((Decimal(power.numerator) / Decimal(power.denominator)).exp())
    assert 0 <= low < truth < high
    assert high - low <= Fraction(3, 10**digits)


def test_exponential_of_nothing():
    low, high = exponential(Fraction(-(10**9)))
    assert low == 0 < high <= Fraction(1, 10**30)
    low, high = exponential(Fraction(0))
    assert low < 1 < high


def test_below_takes_as_many_bits_as_it_needs():
    """The bits of e^-1 itself, and then one more or less."""
    bits = 320
    low, high = exponential(Fraction(-1), 120)
    number = int(low * 2**bits)
    assert number == int(high * 2**bits)
    for step in (-1, 1):
        digits = [(number + step) >> shift & 0xFFFFFFFF for shift in range(bits - 32, -1, -32)]
        uniform = Uniform(digits[0], 32, words(*digits[1:]))
        assert below(uniform, Fraction(1), Fraction(-1)) == (step < 0)
        assert uniform.bits == bits


def test_below_decides_at_once_where_it_can():
    for number in (0, 1, 2, 3, 5, 6, 7):
        uniform = Uniform(number, 3, words())
        assert below(uniform, Fraction(9, 16), Fraction(-1, 100)) == (number < 5)
        assert uniform.bits == 3


@pytest.mark.parametrize("factor", [Fraction(1), Fraction(7, 3)])
def test_below_against_floats(factor):
    for k in range(1, 400):
        power = Fraction(-k, 37)
        bound = float(factor) * exp(power)
        number = int(min(bound, 1) * 2**32)
        if bound < 1:
            assert below(Uniform(number - 1000, 32, words()), factor, power)
            assert not below(Uniform(number + 1000, 32, words()), factor, power)


def test_choose_over_a_grid():
    powers = [Fraction(-1), Fraction(0), Fraction(-3, 2), Fraction(-1000)]
    n = 2000
    seen = Counter(choose(Uniform(2 * k + 1, 12, words(0, 0)), powers) for k in range(2048))
    weights = [exp(power) for power in powers]
    for k, weight in enumerate(weights):
        assert seen[k] / 2048 == pytest.approx(weight / sum(weights), abs=1.5 / n)


def test_choose_refines_on_a_boundary():
    """Two equal shares: one half lies on the boundary between them, however many zeros follow."""
    uniform = Uniform(1, 1, words(*[0] * 5, 1))
    assert choose(uniform, [Fraction(0), Fraction(0)]) == 1
    just_below = Uniform(0, 1, words(*[2**32 - 1] * 3, 5))
    assert choose(just_below, [Fraction(0), Fraction(0)]) == 0
    assert exact._DIGITS == 30
