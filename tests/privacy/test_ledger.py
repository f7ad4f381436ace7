import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum import DomainError, ResiduumError
from residuum.core.zcdp import Spend, exponential, gaussian
from residuum.errors import BudgetExceeded
from residuum.privacy.ledger import Ledger

positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
rhos = st.one_of(st.floats(1e-6, 100), positive)
ratios = st.tuples(st.integers(1, 10**12), st.integers(1, 10**12))
cliques = st.sets(st.integers(0, 99), max_size=4).map(lambda clique: tuple(sorted(clique)))
gaussians = st.tuples(cliques, ratios, st.one_of(st.floats(1e-3, 1e9), positive))
choices = st.one_of(st.floats(1e-6, 3), positive)
charges = st.one_of(gaussians, choices, st.lists(gaussians, max_size=4))


def charge(ledger, what):
    if isinstance(what, float):
        ledger.charge_exponential(what)
    elif isinstance(what, list):
        ledger.charge_gaussians(what)
    else:
        ledger.charge_gaussian(*what)


def cost(what):
    """What a charge costs, exactly."""
    if isinstance(what, float):
        return Fraction(what) ** 2 / 8
    if isinstance(what, list):
        return sum(map(cost, what))
    _, ratio, sigma2 = what
    return Fraction(*ratio) / (2 * Fraction(sigma2))


def state(ledger):
    return ledger.spent_units, ledger.remaining_units, ledger.spent, ledger.remaining, ledger.spends


@given(rhos, st.lists(charges, max_size=20))
def test_never_above_the_budget(rho, whats):
    ledger = Ledger(rho)
    unit = Fraction(rho) / 2**96
    true_cost = Fraction(0)
    for what in whats:
        before = state(ledger)
        try:
            charge(ledger, what)
            true_cost += cost(what)
        except BudgetExceeded:
            assert state(ledger) == before
            assert before[0] * unit + cost(what) > Fraction(rho) - 4 * unit
        spent = ledger.spent_units * unit
        assert true_cost <= spent <= Fraction(rho)
        assert spent < true_cost + unit * max(1, len(ledger.spends))
        assert ledger.spent_units + ledger.remaining_units == ledger.total_units == 2**96
        assert sum(spend.units for spend in ledger.spends) == ledger.spent_units
        assert spent <= Fraction(ledger.spent) <= Fraction(rho)
        assert 0 <= Fraction(ledger.remaining) <= Fraction(rho) - spent
        assert ledger.rho == rho


@given(rhos, st.one_of(gaussians, choices))
def test_each_charge_is_the_exact_cost_rounded_up(rho, what):
    ledger = Ledger(rho)
    units = math.ceil(cost(what) / Fraction(rho) * 2**96)
    if units > 2**96:
        with pytest.raises(BudgetExceeded):
            charge(ledger, what)
        assert ledger.spends == ()
        return
    charge(ledger, what)
    clique = () if isinstance(what, float) else what[0]
    assert ledger.spends == (Spend("exponential" if isinstance(what, float) else "gaussian", clique, units, rho),)
    assert ledger.spends[0].rho == pytest.approx(float(cost(what)), rel=1e-9, abs=rho * 2.0**-95)


@given(st.floats(1e-6, 100), st.lists(gaussians, min_size=1, max_size=6))
def test_several_at_once_are_the_same_as_one_by_one_or_nothing(rho, items):
    one_by_one, at_once = Ledger(rho), Ledger(rho)
    try:
        for item in items:
            one_by_one.charge_gaussian(*item)
    except BudgetExceeded:
        with pytest.raises(BudgetExceeded):
            at_once.charge_gaussians(items)
        assert state(at_once) == state(Ledger(rho))
    else:
        at_once.charge_gaussians(items)
        assert state(at_once) == state(one_by_one)


@given(rhos)
def test_floats_round_to_the_safe_side(rho):
    ledger = Ledger(rho)
    assert (ledger.spent, ledger.remaining) == (0.0, rho)
    assert math.copysign(1, ledger.spent) == 1
    try:
        ledger.charge_gaussian((), (1, 3), 1.0)
    except BudgetExceeded:
        return
    unit = Fraction(rho) / 2**96
    spent, left = ledger.spent_units * unit, ledger.remaining_units * unit
    assert Fraction(math.nextafter(ledger.spent, -1)) < spent <= Fraction(ledger.spent)
    assert Fraction(ledger.remaining) <= left < Fraction(math.nextafter(ledger.remaining, math.inf))


class TestFigures:
    def test_a_run(self):
        ledger = Ledger(rho=1.0)
        ledger.charge_gaussians([((0,), (1, 1), 4.0), ((1,), (1, 1), 4.0)])
        ledger.charge_exponential(1.0)
        ledger.charge_gaussian((0, 1), (3, 8), 0.5)
        assert [spend.mechanism for spend in ledger.spends] == ["gaussian", "gaussian", "exponential", "gaussian"]
        assert [spend.clique for spend in ledger.spends] == [(0,), (1,), (), (0, 1)]
        assert ledger.spent == 2 * gaussian(1, 4.0) + exponential(1.0) + gaussian(0.375, 0.5) == 0.75
        assert ledger.remaining == 0.25

    def test_the_last_unit_can_be_spent_and_not_one_more(self):
        ledger = Ledger(rho=0.5)
        ledger.charge_gaussian((), (1, 1), 1.0)
        assert (ledger.remaining_units, ledger.remaining, ledger.spent) == (0, 0.0, 0.5)
        with pytest.raises(BudgetExceeded):
            ledger.charge_exponential(5e-324)
        assert len(ledger.spends) == 1

    def test_the_smallest_charge_costs_a_unit(self):
        ledger = Ledger(rho=1.0)
        ledger.charge_exponential(5e-324)
        ledger.charge_gaussian((3,), (1, 10**300), 1e300)
        assert [spend.units for spend in ledger.spends] == [1, 1]
        assert 0 < ledger.spent < 1e-28
        assert ledger.remaining < 1

    def test_ten_tenths_are_more_than_float_addition_makes_of_them(self):
        ledger = Ledger(rho=sum([0.1] * 10))
        ledger.charge_gaussians([((), (2, 1), 10.0)] * 9)
        with pytest.raises(BudgetExceeded):
            ledger.charge_gaussian((), (2, 1), 10.0)
        assert len(ledger.spends) == 9

    def test_numbers_of_numpy(self):
        ledger, same = Ledger(np.float64(1)), Ledger(1)
        ratio = np.int32(2**31 - 2), np.int32(2**31 - 1)
        clique = np.int64(0), np.int64(4)
        ledger.charge_gaussian(clique, ratio, np.float32(3.3))  # pyright: ignore[reportArgumentType]
        same.charge_gaussian((0, 4), (2**31 - 2, 2**31 - 1), float(np.float32(3.3)))
        assert ledger.spends == same.spends
        assert type(ledger.spends[0].units) is type(ledger.spends[0].clique[0]) is int

    def test_a_clique_may_be_a_list(self):
        ledger = Ledger(1.0)
        ledger.charge_gaussian([0, 4], (1, 1), 3)  # pyright: ignore[reportArgumentType]
        assert ledger.spends[0].clique == (0, 4)


class TestRefused:
    def test_the_message_names_the_measurement_and_what_is_left(self):
        ledger = Ledger(rho=1.0)
        ledger.charge_exponential(2.0)
        with pytest.raises(
            BudgetExceeded, match=r"Measuring \(0, 2\) costs rho=2\.0, but of rho=1\.0 there is 0\.5 left"
        ):
            ledger.charge_gaussian((0, 2), (4, 1), 1.0)
        with pytest.raises(BudgetExceeded, match=r"A choice .* costs rho=1\.125"):
            ledger.charge_exponential(3.0)
        with pytest.raises(BudgetExceeded, match=r"Measuring \(0,\), \(1,\), \(2,\) and others costs rho=2\.0"):
            ledger.charge_gaussians([((i,), (1, 1), 1.0) for i in range(4)])
        with pytest.raises(BudgetExceeded, match="rho=inf"):
            ledger.charge_gaussian((), (1, 1), 5e-324)
        assert ledger.spent == 0.5

    @pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, True, None, "1"])
    def test_bad_numbers(self, bad):
        ledger = Ledger(1.0)
        with pytest.raises(ResiduumError, match="`rho`"):
            Ledger(bad)
        with pytest.raises(ResiduumError, match="`sigma2`"):
            ledger.charge_gaussian((), (1, 1), bad)
        with pytest.raises(ResiduumError, match="`sigma2`"):
            ledger.charge_gaussians([((), (1, 1), 10.0), ((0,), (1, 1), bad)])
        with pytest.raises(ResiduumError, match="`epsilon_select`"):
            ledger.charge_exponential(bad)
        assert state(ledger) == state(Ledger(1.0))

    @pytest.mark.parametrize(
        "bad", [1, 0.5, (1,), (1, 2, 3), (0, 1), (1, 0), (-1, -2), (0.5, 1), (True, 1), "12", None]
    )
    def test_bad_sensitivities(self, bad):
        ledger = Ledger(1.0)
        with pytest.raises(ResiduumError, match="`sensitivity2`"):
            ledger.charge_gaussian((), bad, 1.0)
        assert ledger.spends == ()

    @pytest.mark.parametrize("bad", [5, (1, 0), (0, 0), (-1,), ("a",), ([],), None])
    def test_bad_cliques(self, bad):
        ledger = Ledger(1.0)
        with pytest.raises(DomainError, match="`clique`"):
            ledger.charge_gaussian(bad, (1, 1), 1.0)
        assert ledger.spends == ()

    def test_nothing_is_taken_back(self):
        ledger = Ledger(1.0)
        for name in ("rho", "spent_units", "remaining_units", "spends"):
            with pytest.raises(AttributeError):
                setattr(ledger, name, 0)
        ledger.charge_gaussians([])
        assert ledger.spends == ()
