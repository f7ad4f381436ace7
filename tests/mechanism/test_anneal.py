import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum.mechanism.anneal import Round, Schedule, first_round, next_round, sigma2_init

budgets = st.floats(1e-6, 1e3)
closures = st.integers(2, 10_000)


@given(budgets, closures)
def test_the_first_round_spends_a_share_for_each_clique(rho, cliques):
    """Paper: Alg. 4, lines 2 and 4: each clique's worth is ρ / (2 |W↓|), a tenth of it for the selection."""
    planned = first_round(rho, cliques, remaining=rho)
    assert sigma2_init(rho, cliques) == pytest.approx(cliques / (0.9 * rho))
    if cliques > 2:
        assert not planned.last
        assert planned.cost == pytest.approx(rho / (2 * cliques))
    assert planned.epsilon_select**2 / 8 == pytest.approx(0.1 * planned.cost)


@given(budgets, st.floats(1e-3, 1e9), st.booleans())
def test_only_a_round_that_moved_nothing_is_followed_by_a_more_precise_one(rho, sigma2, improved):
    current = Round(sigma2, math.sqrt(8 * 0.1 / 0.9 / (2 * sigma2)))
    following = next_round(current, improved, remaining=rho)
    planned = current if improved else Round(sigma2 / 4, 2 * current.epsilon_select)
    if rho > 2 * planned.cost:
        assert following == planned
        assert following.cost == pytest.approx(current.cost * (1 if improved else 4))
    else:
        assert following.last


@given(budgets, st.floats(0.0, 1.99))
def test_the_last_round_spends_the_rest(rho, share):
    planned = Round(1 / (2 * 0.9 * rho), math.sqrt(8 * 0.1 * rho))
    assert planned.cost == pytest.approx(rho)
    remaining = rho * max(share, 1e-9)
    last = next_round(planned, improved=True, remaining=remaining)
    assert last.last
    assert remaining * (1 - 1e-8) < last.cost <= remaining
    assert last.epsilon_select**2 / 8 == pytest.approx(0.1 * last.cost)


@given(budgets, closures, st.data())
def test_rounds_come_to_an_end_within_the_budget(rho, cliques, data):
    remaining = rho / 2
    current = first_round(rho, cliques, remaining)
    rounds = 1
    while not current.last and rounds < 50:
        remaining -= current.cost
        assert remaining > 0
        current = next_round(current, data.draw(st.booleans()), remaining)
        rounds += 1
    assert current.cost <= remaining


def test_where_a_crash_has_left_nothing_no_round_is_planned_with_it():
    """The loop asks for the next round before it looks whether one is worthwhile."""
    assert not first_round(1.0, rounds=3, remaining=0.0).last
    assert next_round(Round(1.0, 0.1), improved=True, remaining=0.0) == Round(1.0, 0.1)


@pytest.mark.parametrize("number", [np.float32, np.float64, Fraction])
def test_a_schedule_is_in_plain_numbers(number):
    schedule = Schedule(np.int64(3), number(0.5), number(0.25))
    assert [(type(value), value) for value in (schedule.rounds, schedule.share_singles, schedule.share_select)] == [
        (int, 3),
        (float, 0.5),
        (float, 0.25),
    ]
