from fractions import Fraction
from math import inf, nan, prod, sqrt

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum import Domain, ResiduumError, Workload
from residuum.core.neighbours import ADD_REMOVE, Neighbours
from residuum.core.planner import plan
from residuum.core.residuals import p, v
from residuum.core.workload import subsets

REPLACE = Neighbours("replace")
WORKLOADS = {
    "all 2-way": Workload.all_kway(Domain({"a": 4, "b": 3, "c": 2, "d": 9}), 2),
    "all 3-way": Workload.all_kway(Domain({"a": 4, "b": 3, "c": 2, "d": 9}), 3),
    "one": Workload(Domain({"a": 4, "b": 3}), [("a", "b")]),
    "nested": Workload(Domain({"a": 4, "b": 30, "c": 2}), [(), ("a",), ("b",), ("a", "b"), ("b", "c")]),
    "weighted": Workload(Domain({"a": 4, "b": 3, "c": 2}), {("a",): 50.0, ("b", "c"): 0.1, ("a", "b"): 1.0, (): 3.0}),
    "apart": Workload(Domain({"a": 2, "b": 100}), {("a",): 1e-3, ("b",): 1e3}),
}


def variance(workload, gamma, sigma2):
    """The variance of one cell, Prop. 4.4."""
    return sum(v(tau, gamma, workload.domain.shape(gamma)) * sigma2[tau] for tau in subsets(gamma))


def losses(workload, sigma2, objective):
    """What each target adds to the objective."""
    for gamma, weight in workload.weights.items():
        cells = workload.domain.size(gamma) if objective == "sum" else 1
        yield weight * cells * variance(workload, gamma, sigma2)


def solved(workload, rho, objective, neighbours=ADD_REMOVE):
    """The least value of the objective, from a solver; what costs nothing has no variance."""
    costs = {tau: neighbours.cost(workload.domain.shape(tau)) for tau in workload.closure}
    x = {tau: cp.Variable(pos=True) for tau in workload.closure if costs[tau]}
    sigma2 = {tau: cp.inv_pos(x[tau]) if tau in x else 0.0 for tau in workload.closure}
    targets = [loss for loss in losses(workload, sigma2, objective) if not isinstance(loss, float)]
    spent = cp.sum(cp.hstack([costs[tau] * x[tau] for tau in x]))
    goal = cp.sum(cp.hstack(targets)) if objective == "sum" else cp.max(cp.hstack(targets))
    problem = cp.Problem(cp.Minimize(goal), [spent <= 1])
    problem.solve(solver=cp.CLARABEL)
    return goal.value / (2 * rho)


def exact_budget(workload, sigma2):
    total = Fraction(0)
    for tau, variance in sigma2.items():
        price = prod((Fraction(n - 1, n) for n in workload.domain.shape(tau)), start=Fraction(1))
        total += price / (2 * Fraction(variance))
    return total


@st.composite
def workloads(draw):
    sizes = draw(st.lists(st.integers(2, 60), min_size=1, max_size=6))
    domain = Domain({f"a{i}": n for i, n in enumerate(sizes)})
    clique = st.sets(st.integers(0, len(sizes) - 1), max_size=4).map(frozenset)
    weight = st.floats(-4, 4).map(lambda exponent: 10.0**exponent)
    weights = draw(st.dictionaries(clique, weight, min_size=1, max_size=12).filter(any))
    return Workload(domain, weights)


RHOS = st.floats(-6, 6).map(lambda exponent: 10.0**exponent)


@pytest.mark.parametrize("rho", [0.01, 3.0])
@pytest.mark.parametrize("name", WORKLOADS)
class TestAgainstASolver:
    @pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # one percent is enough
    @pytest.mark.parametrize("objective", ["sum", "max"])
    def test_rows_replaced(self, name, rho, objective):
        best = plan(WORKLOADS[name], rho, objective, REPLACE)
        assert best.value == pytest.approx(solved(WORKLOADS[name], rho, objective, REPLACE), rel=0.01)
        assert best.sigma2[()] == 0.0
        spent = sum(
            Fraction(*REPLACE.sensitivity2(WORKLOADS[name].domain.shape(tau))) / (2 * Fraction(sigma2))
            for tau, sigma2 in best.sigma2.items()
            if tau
        )
        assert Fraction(rho) * (1 - Fraction(1, 10**9)) <= spent <= Fraction(rho)

    def test_sum(self, name, rho):
        best = plan(WORKLOADS[name], rho, "sum")
        assert best.value == pytest.approx(solved(WORKLOADS[name], rho, "sum"), rel=1e-6)
        assert best.gap == 0

    def test_max(self, name, rho):
        best = plan(WORKLOADS[name], rho, "max")
        least = solved(WORKLOADS[name], rho, "max")
        assert best.value == pytest.approx(least, rel=0.01)
        assert best.value * (1 - best.gap) <= least * (1 + 1e-4)
        assert best.value >= least * (1 - 1e-4)


@given(workloads(), RHOS)
def test_sum_satisfies_the_optimality_conditions(workload, rho):
    """c_τ σ⁴_τ / p_τ, what more budget is worth, is the same for every residual."""
    best = plan(workload, rho)
    c = dict.fromkeys(workload.closure, 0.0)
    for gamma, weight in workload.weights.items():
        for tau in subsets(gamma):
            shape = workload.domain.shape(gamma)
            c[tau] += weight * workload.domain.size(gamma) * v(tau, gamma, shape)
    worth = [c[tau] * sigma2**2 / p(workload.domain.shape(tau)) for tau, sigma2 in best.sigma2.items()]
    np.testing.assert_allclose(worth, worth[0], rtol=1e-10)
    total = sum(sqrt(p(workload.domain.shape(tau)) * c[tau]) for tau in c)
    assert best.value == pytest.approx(total**2 / (2 * rho), rel=1e-10)


@pytest.mark.parametrize("objective", ["sum", "max"])
@given(workloads(), RHOS)
def test_plan(objective, workload, rho):
    best = plan(workload, rho, objective)
    assert tuple(best.sigma2) == workload.closure
    assert 0 <= best.gap <= 0.01
    total = sum if objective == "sum" else max
    assert best.value == pytest.approx(total(losses(workload, best.sigma2, objective)), rel=1e-10)
    assert Fraction(rho) * (1 - Fraction(1, 2**39)) <= exact_budget(workload, best.sigma2) <= Fraction(rho)


@given(workloads())
def test_each_objective_is_better_at_its_own(workload):
    largest, total = plan(workload, 1.0, "max"), plan(workload, 1.0, "sum")
    assert max(losses(workload, total.sigma2, "max")) >= largest.value * (1 - largest.gap) * (1 - 1e-9)
    assert sum(losses(workload, largest.sigma2, "sum")) >= total.value * (1 - 1e-9)


def test_by_hand():
    """One attribute of two values: p = 1 and 1/2; v = 1/4 and 1/2; two cells, so c = 1/2 and 1."""
    best = plan(Workload(Domain({"a": 2}), [("a",)]), rho=0.5)
    total = sqrt(1 / 2) + sqrt(1 / 2)
    assert best.sigma2 == {(): pytest.approx(sqrt(2) * total), (0,): pytest.approx(sqrt(1 / 2) * total)}
    assert best.sigma2 == {(): pytest.approx(2), (0,): pytest.approx(1)}
    assert best.value == pytest.approx(2)


def test_max_by_hand():
    """Attributes that are alike have the same share: √(p c) is 1/2 for ∅ and √(1/2 · 1/4) for each of the two."""
    best = plan(Workload.all_kway(Domain({"a": 2, "b": 2}), 1), rho=0.5, objective="max")
    total = 1 / 2 + 2 * sqrt(1 / 8)
    assert best.value == pytest.approx(total**2)
    assert best.sigma2 == {
        tau: pytest.approx(sigma2 * total) for tau, sigma2 in (((), 2), ((0,), sqrt(2)), ((1,), sqrt(2)))
    }


def test_one_target_is_best_served_the_same_way_by_both():
    workload = Workload(Domain({"a": 4, "b": 3}), {("a", "b"): 7.0})
    total, largest = plan(workload, 0.3, "sum"), plan(workload, 0.3, "max")
    assert largest.sigma2 == pytest.approx(total.sigma2)
    assert largest.value * 12 == pytest.approx(total.value)
    assert largest.gap == pytest.approx(0, abs=1e-12)


def test_a_plan_cannot_be_changed():
    best = plan(WORKLOADS["one"], 1.0)
    with pytest.raises(AttributeError):
        best.value = 0.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        best.sigma2[()] = 1.0  # type: ignore[index]


def test_a_wide_domain():
    workload = Workload.all_kway(Domain({f"a{i}": 2 + i % 7 for i in range(30)}), 3)
    best = plan(workload, 0.1, "max")
    assert len(best.sigma2) == 1 + 30 + 435 + 4060
    assert best.gap <= 0.01
    assert Fraction(0.1) * (1 - Fraction(1, 2**39)) <= exact_budget(workload, best.sigma2) <= Fraction(0.1)


@pytest.mark.parametrize("rho", [0, -1.0, inf, nan, True, "1", None, 1j])
def test_bad_rho(rho):
    with pytest.raises(ResiduumError, match="Expected `rho` to be a finite number above 0, got"):
        plan(WORKLOADS["one"], rho)


def test_bad_objective():
    with pytest.raises(ResiduumError, match='Expected the objective "sum" or "max", got \'mean\''):
        plan(WORKLOADS["one"], 1.0, "mean")  # type: ignore[arg-type]
