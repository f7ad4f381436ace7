from fractions import Fraction
from math import inf, nan, prod, sqrt

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum import ResiduumError
from residuum.core.crp import allocate
from residuum.core.residuals import p as price
from residuum.core.residuals import v as contribution
from residuum.core.workload import subsets

SHRINK = Fraction(1) - Fraction(1, 2**39)


def loss(v, prior, x):
    return float(np.sum(np.asarray(v) / (np.asarray(x) + np.asarray(prior))))


def exact_cost(p, x):
    return sum((Fraction(pi) * Fraction(xi) for pi, xi in zip(p, x, strict=True)), Fraction(0))


def marginal(sizes):
    """What the residuals of a marginal cost and contribute."""
    gamma = tuple(range(len(sizes)))
    taus = list(subsets(gamma))
    p = [price(tuple(sizes[i] for i in tau)) for tau in taus]
    return p, [contribution(tau, gamma, sizes) for tau in taus]


def magnitudes(low, high):
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


@st.composite
def problems(draw, spread=12):
    """p, v, prior precisions and cost: any numbers, or those of a marginal; priors may be 0 or equal to each other."""
    if draw(st.booleans()):
        p, v = marginal(tuple(draw(st.lists(st.integers(2, 100), max_size=4))))
    else:
        length = draw(st.integers(1, 12))
        p = draw(st.lists(magnitudes(-3, 0), min_size=length, max_size=length))
        v = draw(st.lists(magnitudes(-8, 0), min_size=length, max_size=length))
    some = draw(magnitudes(-spread, spread))
    priors = st.one_of(st.just(0.0), st.just(some), magnitudes(-spread, spread))
    prior = draw(st.lists(priors, min_size=len(p), max_size=len(p)))
    return p, v, prior, draw(magnitudes(-spread, spread))


class Oracle:
    """The same problem in CVXPY, compiled once for each length and solved by Clarabel."""

    def __init__(self, length: int) -> None:
        self.x, total = cp.Variable(length, nonneg=True), cp.Variable(length)
        self.p, self.v, self.a = (cp.Parameter(length, nonneg=True) for _ in range(3))
        objective = cp.Minimize(cp.sum(cp.multiply(self.v, cp.inv_pos(total))))
        self.problem = cp.Problem(objective, [self.p @ self.x <= 1, total == self.x + self.a])
        assert self.problem.is_dpp()

    def solve(self, p, v, prior, cost):
        self.p.value, self.v.value, self.a.value = p, v / v.max(), prior / cost
        self.problem.solve(solver=cp.CLARABEL)
        x = np.asarray(self.x.value)
        return x / (p @ x) * cost


@pytest.mark.parametrize("length", [1, 2, 4, 8, 16])
def test_agrees_with_a_solver(length):
    rng = np.random.default_rng(length)
    oracle, omitted = Oracle(length), 0
    for _ in range(600):
        p, v = rng.uniform(0.05, 1, length), 10 ** rng.uniform(-3, 0, length)
        cost = 10 ** rng.uniform(-6, 6)
        prior = cost * 10 ** rng.uniform(-2, 2, length) * rng.integers(0, 2, length)
        x = np.array(allocate(p.tolist(), v.tolist(), prior.tolist(), cost, min_share=0))
        solved = oracle.solve(p, v, prior, cost)
        assert loss(v, prior, x) == pytest.approx(loss(v, prior, solved), rel=1e-5)
        assert loss(v, prior, x) <= loss(v, prior, solved) * (1 + 1e-11)
        np.testing.assert_allclose(p * x / cost, p * solved / cost, atol=5e-3)
        omitted += int((x == 0).sum())
    assert length == 1 or omitted > 100


@given(problems())
def test_optimality_conditions(problem):
    """v / (p (x + prior)²), what more cost is worth, is the same wherever x > 0 and no larger where x = 0."""
    p, v, prior, cost = (np.asarray(part) for part in problem)
    x = np.array(allocate(*problem, min_share=0))
    assert (x >= 0).all()
    measured = x > 0
    gain = np.full(len(x), np.inf)
    np.divide(v, p * (x + prior) ** 2, out=gain, where=x + prior > 0)
    assert gain[measured].max() <= gain[measured].min() * (1 + 1e-9)
    if not measured.all():
        assert gain[~measured].max() <= gain[measured].min() * (1 + 1e-9)
    assert SHRINK * Fraction(float(cost)) <= exact_cost(p.tolist(), x.tolist())


@given(problems(), st.sampled_from([0.0, 1e-3, 0.1, 0.6]))
def test_spends_the_cost_and_never_more(problem, min_share):
    p, _, _, cost = problem
    spent = exact_cost(p, allocate(*problem, min_share=min_share))
    assert SHRINK * Fraction(cost) <= spent <= Fraction(cost)


@given(problems(spread=100))
def test_any_magnitude(problem):
    p, _, _, cost = problem
    spent = exact_cost(p, allocate(*problem))
    assert SHRINK * Fraction(cost) <= spent <= Fraction(cost)


@given(problems(spread=3), st.integers(-60, 60))
def test_units_do_not_matter(problem, exponent):
    """A measurement in other units: the same allocation, to the last bit when the factor is a power of two."""
    p, v, prior, cost = problem
    unit = 2.0**exponent
    scaled = allocate(p, v, [a * unit for a in prior], cost * unit)
    assert scaled == [x * unit for x in allocate(p, v, prior, cost)]


@given(problems(spread=3))
def test_closed_form_when_all_are_measured(problem):
    """Paper: App. D, x = (1 + Q) / S √(v / p) - a in units of the cost, where that is not negative."""
    p, v, prior, cost = problem
    prior = [min(a, cost * 1e-3 * sqrt(vi / pi)) for a, pi, vi in zip(prior, p, v, strict=True)]
    scaled = [a / cost for a in prior]
    s = sum(sqrt(pi * vi) for pi, vi in zip(p, v, strict=True))
    q = sum(pi * a for pi, a in zip(p, scaled, strict=True))
    relaxed = [(1 + q) / s * sqrt(vi / pi) - a for pi, vi, a in zip(p, v, scaled, strict=True)]
    assert min(relaxed) > 0
    x = allocate(p, v, prior, cost, min_share=0)
    np.testing.assert_allclose(np.array(x) / cost, relaxed, rtol=1e-8, atol=1e-12)


@given(problems(spread=3), st.floats(0, 0.99))
def test_min_share(problem, min_share):
    """Those with a large enough share are kept; they hold no less than before, and the optimum among them."""
    p, v, prior, cost = problem
    optimum = [pi * x / cost for pi, x in zip(p, allocate(*problem, min_share=0), strict=True)]
    x = allocate(*problem, min_share=min_share)
    shares = [pi * xi / cost for pi, xi in zip(p, x, strict=True)]
    kept = [i for i, share in enumerate(shares) if share > 0]
    assert kept
    for i, share in enumerate(optimum):
        if share > min_share + 1e-9:
            assert i in kept
        elif share < min(min_share, max(optimum)) - 1e-9:
            assert i not in kept
    assert all(shares[i] >= min(min_share, optimum[i]) - 1e-9 for i in kept)
    assert all(shares[i] >= optimum[i] - 1e-9 for i in kept)
    alone = allocate([p[i] for i in kept], [v[i] for i in kept], [prior[i] for i in kept], cost, min_share=0)
    np.testing.assert_allclose(
        [p[i] * x[i] / cost for i in kept], np.multiply([p[i] for i in kept], alone) / cost, atol=1e-9
    )


def test_without_a_large_share_the_largest_stays():
    assert allocate([0.5] * 3, [1.0, 1.1, 1.0], [0.0] * 3, cost=2.0, min_share=0.9) == [0.0, pytest.approx(4), 0.0]


def test_a_residual_known_well_is_omitted():
    x = allocate([1.0, 0.5], [0.25, 0.5], [1e12, 0.0], cost=1.0)
    assert x == [0.0, pytest.approx(2)]


def test_a_small_cost_next_to_large_priors_is_shared():
    p, v = [1.0, 1.0], [1.0, 1.0]
    assert allocate(p, v, [1e12, 1e12], cost=1e-12) == [pytest.approx(5e-13)] * 2


def test_many_residuals_stay_within_the_cost():
    p, v = marginal((2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12))
    spent = exact_cost(p, allocate(p, v, [0.0] * len(p), cost=0.1, min_share=0))
    assert SHRINK * Fraction(0.1) <= spent <= Fraction(0.1)


def test_with_nothing_known_the_optimum_is_equal_noise_on_the_cells():
    """Independent noise of variance 1 on a marginal is noise Π n_j on its residuals, the product over γ \\ τ."""
    sizes = (4, 3, 2)
    p, v = marginal(sizes)
    equal = [1 / prod(n for i, n in enumerate(sizes) if i not in tau) for tau in subsets((0, 1, 2))]
    assert allocate(p, v, [0.0] * len(p), cost=1.0) == pytest.approx(equal)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": [1.0]}, "same length, at least 1, got 1, 2 and 2"),
        ({"p": [], "v": [], "prior_precision": []}, "got 0, 0 and 0"),
        ({"p": [1.0, 0.0]}, "above 0 in `p`, got 0.0 at index 1"),
        ({"p": [1.0, nan]}, "above 0 in `p`, got nan at index 1"),
        ({"v": [-1.0, 1.0]}, "above 0 in `v`, got -1.0 at index 0"),
        ({"v": [inf, 1.0]}, "above 0 in `v`, got inf at index 0"),
        ({"prior_precision": [0.0, -2.0]}, ">= 0 in `prior_precision`, got -2.0 at index 1"),
        ({"prior_precision": [0.0, nan]}, ">= 0 in `prior_precision`, got nan at index 1"),
        ({"prior_precision": [1.7e308, 1.7e308]}, "whose sums are finite"),
        ({"cost": 0.0}, "`cost` to be a finite number above 0, got 0.0"),
        ({"cost": inf}, "`cost` to be a finite number above 0, got inf"),
        ({"cost": nan}, "`cost` to be a finite number above 0, got nan"),
        ({"min_share": 1.0}, "`min_share` to be at least 0 and below 1, got 1.0"),
        ({"min_share": nan}, "`min_share` to be at least 0 and below 1, got nan"),
    ],
)
def test_bad_input(change, message):
    good = {"p": [1.0, 0.5], "v": [0.25, 0.5], "prior_precision": [0.0, 1.0], "cost": 1.0}
    with pytest.raises(ResiduumError, match=message):
        allocate(**{**good, **change})
