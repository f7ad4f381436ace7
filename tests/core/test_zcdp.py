import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum import ResiduumError
from residuum.core.zcdp import (
    Spend,
    above_zero,
    budget,
    delta_of,
    epsilon_of,
    exponential,
    gaussian,
    per_row,
    rho_of,
    rounded_down,
)


def powers_of_ten(low, high):
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


rhos = powers_of_ten(-8, 3)
epsilons = powers_of_ten(-6, 3)
deltas = st.one_of(powers_of_ten(-300, -2), st.floats(0.01, 0.99))


def log_delta(rho, epsilon, alpha):
    """The bound as the paper prints it, before the minimum over α."""
    return (alpha - 1) * (alpha * rho - epsilon) - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)


class TestConversion:
    """Paper: Prop. B.2."""

    @pytest.mark.parametrize(
        ("epsilon", "rho"), [(0.1, 1.7713844718502086e-4), (1, 1.4973057673588523e-2), (10, 1.0907857043970155)]
    )
    def test_figures(self, epsilon, rho):
        assert rho_of(epsilon, 1e-9) == pytest.approx(rho, rel=1e-9)
        assert epsilon_of(rho, 1e-9) == pytest.approx(epsilon, rel=1e-9)
        assert delta_of(rho, epsilon) == pytest.approx(1e-9, rel=1e-9)

    @given(rhos, epsilons, st.lists(powers_of_ten(-3, 6), min_size=1))
    def test_no_alpha_is_better(self, rho, epsilon, ts):
        best = math.log(delta_of(rho, epsilon))
        for t in ts:
            bound = log_delta(rho, epsilon, 1 + t)
            assert bound >= best - 1e-9 * (1 + abs(bound)) or best < -744

    @given(epsilons, deltas)
    def test_rho_keeps_the_promise_and_is_the_largest_that_does(self, epsilon, delta):
        rho = rho_of(epsilon, delta)
        assert delta_of(rho, epsilon) <= delta < delta_of(rho * (1 + 1e-9), epsilon)

    @given(rhos, deltas)
    def test_epsilon_keeps_the_promise_and_is_the_smallest_that_does(self, rho, delta):
        epsilon = epsilon_of(rho, delta)
        if epsilon == 0:
            assert delta_of(rho, 5e-324) <= delta
            return
        smaller = epsilon - 1e-9 * (rho + epsilon)
        assert delta_of(rho, epsilon) <= delta
        assert smaller <= 0 or delta < delta_of(rho, smaller)

    @given(epsilons, deltas)
    def test_there_and_back(self, epsilon, delta):
        rho = rho_of(epsilon, delta)
        assert epsilon_of(rho, delta) == pytest.approx(epsilon, rel=1e-9, abs=1e-9 * rho)

    @given(epsilons, deltas, st.floats(1.001, 100))
    def test_monotone(self, epsilon, delta, factor):
        rho = rho_of(epsilon, delta)
        assert rho_of(epsilon * factor, delta) > rho
        assert rho_of(epsilon, delta / factor) < rho
        assert delta_of(rho * factor, epsilon) > delta_of(rho, epsilon)
        assert delta_of(rho, epsilon * factor) < delta_of(rho, epsilon) or delta < 1e-299
        assert epsilon_of(rho * factor, delta) > epsilon_of(rho, delta)

    @pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1, 30, 1e3])
    @pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-9, 0.1, 0.5, 0.99])
    def test_promise_with_sixty_digits(self, epsilon, delta):
        mpmath = pytest.importorskip("mpmath")

        def bound(rho, epsilon, t):
            return t * ((1 + t) * rho - epsilon) - t * mpmath.log1p(1 / t) - mpmath.log1p(t)

        def smallest(rho, epsilon):
            low, high = mpmath.mpf(-50), mpmath.mpf(50)
            for _ in range(200):
                middle = (low + high) / 2
                t = mpmath.exp(middle)
                rising = (2 * t + 1) * rho - epsilon - mpmath.log1p(1 / t) > 0
                low, high = (low, middle) if rising else (middle, high)
            return mpmath.exp(bound(rho, epsilon, mpmath.exp(low)))

        with mpmath.workdps(60):
            rho = rho_of(epsilon, delta)
            exact = smallest(mpmath.mpf(rho), mpmath.mpf(epsilon))
            assert exact <= delta
            assert float(exact) == pytest.approx(delta, rel=1e-8)
            assert delta_of(rho, epsilon) == pytest.approx(float(exact), rel=1e-11)
            assert smallest(mpmath.mpf(rho), mpmath.mpf(epsilon_of(rho, delta))) <= delta

    def test_at_the_ends_of_what_floats_hold(self):
        assert delta_of(1e-300, 1.0) == 5e-324
        assert delta_of(1e300, 1.0) == 1.0
        assert epsilon_of(1e-300, 0.5) == 0.0
        assert delta_of(rho_of(1.0, math.nextafter(1, 0)), 1.0) < 1
        assert math.isfinite(epsilon_of(1e308, 1e-9))
        with pytest.raises(ResiduumError, match="leave no rho"):
            rho_of(1e-300, 1e-300)


class TestAgainstOthers:
    @pytest.mark.parametrize("rho", [1e-4, 0.015, 0.5, 5.0])
    @pytest.mark.parametrize("delta", [1e-9, 1e-5])
    def test_opendp(self, rho, delta):
        dp = pytest.importorskip("opendp.prelude")
        dp.enable_features("contrib")
        space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
        measurement = dp.m.make_gaussian(*space, scale=math.sqrt(0.5 / rho))
        profile = dp.c.make_zCDP_to_approxDP(measurement).map(1.0)
        rho = measurement.map(1.0)
        epsilon = epsilon_of(rho, delta)
        assert epsilon == pytest.approx(profile.epsilon(delta), rel=1e-9)
        assert delta_of(rho, epsilon) == pytest.approx(profile.delta(epsilon), rel=1e-9)

    @pytest.mark.parametrize("rho", [1e-4, 0.015, 0.5, 5.0])
    def test_renyi_accountant(self, rho):
        """It tries a list of orders, so it is above the best one, by little where the list is fine."""
        dp_accounting = pytest.importorskip("dp_accounting")
        rdp = pytest.importorskip("dp_accounting.rdp")
        epsilon = epsilon_of(rho, 1e-9)
        best = math.sqrt(-math.log(1e-9) / rho)
        orders = [1 + best * (0.2 + 0.001 * i) for i in range(2000)]
        accountant = rdp.RdpAccountant(orders)
        accountant.compose(dp_accounting.ZCDpEvent(rho))
        assert epsilon * (1 - 1e-9) <= accountant.get_epsilon(1e-9) <= epsilon * (1 + 1e-5)

    @pytest.mark.parametrize("rho", [0.015, 0.5, 5.0])
    def test_a_gaussian_is_better_than_its_zcdp(self, rho):
        dp_accounting = pytest.importorskip("dp_accounting")
        pld = pytest.importorskip("dp_accounting.pld")
        accountant = pld.PLDAccountant(value_discretization_interval=1e-3)
        accountant.compose(dp_accounting.GaussianDpEvent(math.sqrt(0.5 / rho)))
        epsilon = epsilon_of(rho, 1e-6)
        assert 0.8 * epsilon < accountant.get_epsilon(1e-6) < epsilon


class TestCosts:
    """Paper: Prop. B.3 and B.4."""

    def test_figures(self):
        assert gaussian(1, 2) == 0.25
        assert gaussian(0.375, 1) == 0.1875
        assert exponential(0.5) == 1 / 32

    @given(powers_of_ten(-12, 3), st.integers(1, 10**9))
    def test_rows_of_a_person_together_cost_no_more_than_the_budget(self, rho, k):
        row = per_row(rho, k)
        assert Fraction(row) * k**2 <= Fraction(rho) < Fraction(math.nextafter(row, math.inf)) * k**2

    @pytest.mark.parametrize("k", [0, -1, 1.5, True, None, "2"])
    def test_bad_rows_per_person(self, k):
        with pytest.raises(ResiduumError, match="rows_per_person"):
            per_row(1.0, k)

    def test_numpy_rows_per_person(self):
        assert per_row(1.0, np.int8(100)) == per_row(1.0, 100)  # pyright: ignore[reportArgumentType]


class TestBudget:
    def test_what_was_asked_for(self):
        assert budget(rho=2) == 2.0
        assert budget(epsilon=1, delta=1e-9) == rho_of(1.0, 1e-9)
        assert budget(np.float32(0.5), np.float64(1e-9)) == rho_of(0.5, 1e-9)  # pyright: ignore[reportArgumentType]

    @pytest.mark.parametrize(
        ("asked", "complaint"),
        [
            ({}, "got none"),
            ({"epsilon": 1.0}, "delta beside epsilon=1.0"),
            ({"delta": 1e-9}, "epsilon beside delta=1e-09"),
            ({"epsilon": 1.0, "rho": 2.0}, "either rho or epsilon, got rho=2.0 and epsilon=1.0"),
            ({"epsilon": 1.0, "delta": 1e-9, "rho": 2.0}, "either rho or epsilon"),
            ({"delta": 1e-9, "rho": 2.0}, "no delta beside rho"),
        ],
    )
    def test_what_does_not_go_together(self, asked, complaint):
        with pytest.raises(ResiduumError, match=complaint):
            budget(**asked)

    @pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, -math.inf, 10**400, True, "1", [1.0], 1j])
    def test_bad_values(self, bad):
        for name, asked in (
            ("epsilon", {"epsilon": bad, "delta": 1e-9}),
            ("delta", {"epsilon": 1.0, "delta": bad}),
            ("rho", {"rho": bad}),
        ):
            with pytest.raises(ResiduumError, match=f"`{name}`"):
                budget(**asked)

    def test_delta_is_below_one(self):
        with pytest.raises(ResiduumError, match=r"between 0 and 1, got 1\.0"):
            budget(epsilon=1.0, delta=1.0)

    @pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, False, None, "1"])
    def test_everything_else_is_above_zero(self, bad):
        for function, name in (
            (lambda: delta_of(bad, 1.0), "rho"),
            (lambda: delta_of(1.0, bad), "epsilon"),
            (lambda: epsilon_of(bad, 0.1), "rho"),
            (lambda: epsilon_of(1.0, bad), "delta"),
            (lambda: rho_of(bad, 0.1), "epsilon"),
            (lambda: rho_of(1.0, bad), "delta"),
            (lambda: gaussian(bad, 1.0), "sensitivity2"),
            (lambda: gaussian(1.0, bad), "sigma2"),
            (lambda: exponential(bad), "epsilon_select"),
            (lambda: per_row(bad, 1), "rho"),
            (lambda: above_zero(bad, "it"), "it"),
        ):
            with pytest.raises(ResiduumError, match=f"`{name}`"):
                function()


@given(st.integers(-(10**40), 10**40), st.integers(1, 10**40))
def test_rounded_down(numerator, denominator):
    down = rounded_down(numerator, denominator)
    assert Fraction(down) <= Fraction(numerator, denominator) < Fraction(math.nextafter(down, math.inf))


def test_a_spend_is_a_value():
    spend = Spend("exponential", (), 7, 1.0)
    assert spend == Spend("exponential", (), 7, 1.0)
    with pytest.raises(AttributeError):
        spend.units = 0  # pyright: ignore[reportAttributeAccessIssue]
