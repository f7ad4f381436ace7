from itertools import combinations
from math import inf, nan

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from residuum import Domain, DomainError, Estimates, NoisyMarginal, NoisyResidual, ResiduumError, Workload, kernels
from residuum.core.residuals import reconstruct_all
from residuum.core.workload import subsets
from residuum.estimate.nonnegative import consistent, to_integers, to_simplex

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})
WORKLOADS = {
    "one way": Workload.all_kway(DOMAIN, 1),
    "two ways": Workload.all_kway(DOMAIN, 2),
    "three ways": Workload.all_kway(DOMAIN, 3),
    "whole": Workload.all_kway(DOMAIN, 4),
    "one attribute": Workload(DOMAIN, [("c",)]),
    "apart": Workload(DOMAIN, [("a", "b"), ("c", "d")]),
    "overlapping": Workload(DOMAIN, [("a", "b", "c"), ("b", "c", "d"), ("a", "d")]),
    "nested": Workload(DOMAIN, [(), ("a",), ("a", "b"), ("a", "b", "c"), ("d",)]),
    "chain": Workload(DOMAIN, [("a", "b"), ("b", "c"), ("c", "d")]),
}
COUNTS = st.floats(-1e6, 1e6)
TABLES = arrays(np.float64, array_shapes(min_dims=0, max_dims=3, max_side=6), elements=COUNTS)


class TestToSimplex:
    @given(TABLES, st.floats(1e-3, 1e7))
    def test_each_cell_loses_the_same_and_none_goes_below_zero(self, values, total):
        x = to_simplex(values, total)
        scale = total + np.abs(values).max()
        assert isinstance(x, np.ndarray)
        assert x.shape == values.shape
        assert (x >= 0).all()
        assert x.sum() == pytest.approx(total, rel=1e-12)
        lost = (values - x)[x > 0]
        assert np.ptp(lost) <= 1e-12 * scale
        assert (values[x == 0] <= lost.max() + 1e-12 * scale).all()

    @given(TABLES, st.floats(1e-3, 1e7))
    def test_doing_it_again_changes_nothing(self, values, total):
        once = to_simplex(values, total)
        np.testing.assert_allclose(to_simplex(once, total), once, rtol=0, atol=1e-12 * total)

    @given(TABLES, st.floats(1e-3, 1e7), st.randoms())
    def test_no_other_table_is_nearer(self, values, total, random):
        x = to_simplex(values, total)
        other = np.array([random.random() ** 4 + 1e-9 for _ in range(values.size)]).reshape(values.shape)
        other *= total / other.sum()
        near, far = np.linalg.norm(values - x), np.linalg.norm(values - other)
        assert near <= far * (1 + 1e-12) + 1e-9

    @pytest.mark.parametrize("total", [0, 0.0, -1, -1e300])
    def test_no_total_no_counts(self, total):
        np.testing.assert_array_equal(to_simplex([[1.0, 2.0]], total), [[0.0, 0.0]])

    def test_what_is_there_already_stays(self):
        np.testing.assert_allclose(to_simplex([3.0, 0.0, 2.0], 5), [3, 0, 2], rtol=1e-15)

    def test_a_number(self):
        assert to_simplex(-7.0, 3).tolist() == 3.0

    def test_numbers_far_apart(self):
        assert to_simplex([1e308, -1e308, 1e308], 6).tolist() == [3, 0, 3]
        np.testing.assert_allclose(to_simplex([1e15, 1e15 - 1], 3), [2, 1])

    def test_a_million_cells(self):
        values = np.random.default_rng(0).normal(scale=30, size=1_000_000)
        assert to_simplex(values, 48_842).sum() == pytest.approx(48_842, rel=1e-12)

    def test_the_values_are_left_alone(self):
        values = np.array([5.0, -1.0])
        to_simplex(values, 2)
        assert values.tolist() == [5, -1]


class TestToIntegers:
    @given(TABLES, st.floats(-10, 1e7))
    def test_adds_up(self, values, total):
        numbers = to_integers(values, total)
        assert numbers.dtype == np.int64
        assert numbers.shape == values.shape
        assert (numbers >= 0).all()
        assert numbers.sum() == max(0, round(total))
        assert (np.abs(numbers - to_simplex(values, round(total))) <= 1 + 1e-6).all()

    @given(TABLES)
    def test_its_own_sum(self, values):
        assert to_integers(values).sum() == max(0, round(float(values.sum())))

    @given(arrays(np.int64, array_shapes(max_dims=3), elements=st.integers(0, 10**9)))
    def test_whole_numbers_stay(self, values):
        np.testing.assert_array_equal(to_integers(values), values)

    @given(arrays(np.float64, st.integers(1, 4), elements=st.floats(0, 3)), st.data())
    def test_none_is_nearer(self, values, data):
        total = round(float(values.sum()))
        table = to_simplex(values, total)
        other = np.array(data.draw(st.lists(st.integers(0, total), min_size=values.size, max_size=values.size)))
        if other.sum() == total:
            assert np.linalg.norm(to_integers(values) - table) <= np.linalg.norm(other - table) + 1e-9

    def test_of_equal_remainders_the_first(self):
        assert to_integers([0.5, 0.5, 0.5, 0.5], 3).tolist() == [1, 1, 1, 0]

    @pytest.mark.parametrize("total", [10**15, 2**53 - 1, 2**53])
    def test_where_sums_are_rounded(self, total):
        values = np.random.default_rng(0).random(100_000)
        assert to_integers(values, total).sum() == total
        assert to_integers(values - 1e9, total).sum() == total

    def test_too_many(self):
        with pytest.raises(ResiduumError, match=r"at most 2\^53, got 1000000000000000000"):
            to_integers([1.0], 1e18)


class TestBadTables:
    @pytest.mark.parametrize("function", [to_simplex, to_integers])
    def test_refused(self, function):
        with pytest.raises(ResiduumError, match=r"got nan at index \(1,\)"):
            function([1.0, nan], 3)
        with pytest.raises(DomainError, match="at least one cell"):
            function(np.zeros((0, 2)), 3)
        for total in (nan, inf, "3", True, 1j):
            with pytest.raises(ResiduumError, match="Expected `total` to be a finite number"):
                function([1.0, 2.0], total)


@st.composite
def noisy(draw, workload=None):
    """Estimates of a skewed table with about as much noise as counts; some residuals are not measured."""
    workload = workload or WORKLOADS[draw(st.sampled_from(sorted(WORKLOADS)))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    table = np.floor(rng.random(DOMAIN.sizes) ** 8 * 60)
    measured = [NoisyResidual((), table.sum() + rng.normal(), 1.0)]
    for gamma in workload.closure:
        if not draw(st.booleans()) or not gamma:
            continue
        mu = table.sum(axis=tuple(i for i in range(4) if i not in gamma))
        sigma2 = draw(st.floats(1.0, 100.0))
        measured.append(NoisyMarginal(gamma, mu + rng.normal(scale=np.sqrt(sigma2), size=mu.shape), sigma2))
    return Estimates(workload, measured)


def loss(estimates, precisions, better):
    """Σ_τ λ_τ ‖z'_τ - z_τ‖² in the norm of V_τ⁻¹."""
    steps = {tau: better.residual(tau) - estimates.residual(tau) for tau in estimates.workload.closure}
    return sum(precisions[tau] * np.square(kernels.center_all(step)).sum() for tau, step in steps.items())


def recon_matrix(workload, gamma, tau):
    """Recon of a residual over τ into the marginal over γ, column by column."""
    shape = tuple(n - 1 for n in workload.domain.shape(tau))
    units = np.eye(int(np.prod(shape))).reshape(-1, *shape)
    sizes = workload.domain.shape(gamma)
    return np.array([reconstruct_all({tau: unit}, gamma, sizes).ravel() for unit in units]).T


def least_loss(estimates, precisions):
    """The least loss that non-negative targets allow, from a solver."""
    workload = estimates.workload
    steps = {tau: cp.Variable(estimates.residual(tau).size) for tau in workload.closure if tau}
    goal = [precisions[tau] * cp.sum_squares(recon_matrix(workload, tau, tau) @ step) for tau, step in steps.items()]
    tables = [
        sum(recon_matrix(workload, gamma, tau) @ steps[tau] for tau in subsets(gamma) if tau)
        + estimates.marginal(gamma).ravel()
        for gamma in workload.targets
        if gamma
    ]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.hstack(goal))), [table >= 0 for table in tables])
    problem.solve(solver=cp.CLARABEL)
    return problem.value


def precisions_of(estimates):
    return {tau: estimates.precision(tau) for tau in estimates.workload.closure}


def check_consistent(better, total):
    workload = better.workload
    for gamma in workload.closure:
        assert better.marginal(gamma).min() >= -1e-9 * total
    for one, two in combinations(workload.targets, 2):
        shared = tuple(i for i in one if i in two)
        for gamma in (one, two):
            others = tuple(k for k, i in enumerate(gamma) if i not in shared)
            summed = better.marginal(gamma).sum(axis=others)
            np.testing.assert_allclose(summed, better.marginal(shared), rtol=0, atol=1e-9 * total)


class TestConsistent:
    @given(noisy(), st.sampled_from([1, 2, 30, 500]))
    def test_non_negative_and_agreeing_after_any_number_of_rounds(self, estimates, most_rounds):
        better = consistent(estimates, most_rounds=most_rounds)
        total = float(estimates.residual(()))
        assert better.workload is estimates.workload
        if total <= 0:
            return
        check_consistent(better, total)
        assert float(better.residual(())) == pytest.approx(total, rel=1e-12)

    @settings(max_examples=40)
    @given(noisy())
    def test_as_likely_as_what_a_solver_finds(self, estimates):
        better = consistent(estimates, tolerance=1e-7, most_rounds=20_000)
        if estimates.residual(()) <= 0:
            return
        precisions = precisions_of(better)
        least = least_loss(estimates, precisions)
        assert loss(estimates, precisions, better) <= least * (1 + 1e-3) + 1e-3

    @settings(max_examples=25)
    @given(noisy(WORKLOADS["three ways"]))
    def test_the_usual_tolerance_is_near_enough(self, estimates):
        better = consistent(estimates)
        precisions = precisions_of(better)
        least = least_loss(estimates, precisions)
        assert loss(estimates, precisions, better) <= least * 1.1 + 1.0

    @given(noisy())
    def test_once_is_enough(self, estimates):
        once = consistent(estimates)
        twice = consistent(once)
        for tau in once.workload.closure:
            np.testing.assert_array_equal(twice.residual(tau), once.residual(tau))

    @given(noisy(WORKLOADS["one way"]))
    def test_attributes_alone_are_projected(self, estimates):
        better = consistent(estimates, tolerance=1e-8, most_rounds=10_000)
        total = float(estimates.residual(()))
        for i in range(4):
            expected = to_simplex(estimates.marginal((i,)), total)
            np.testing.assert_allclose(better.marginal((i,)), expected, rtol=0, atol=1e-5 * max(total, 1))

    @given(st.integers(0, 2**32))
    def test_one_marginal_with_even_noise_is_projected(self, seed):
        values = np.random.default_rng(seed).normal(2, 6, size=(3, 2, 4))
        if values.sum() <= 1:
            return
        estimates = Estimates(Workload(DOMAIN, [(0, 1, 2)]), [NoisyMarginal((0, 1, 2), values, 9.0)])
        better = consistent(estimates, tolerance=1e-8, most_rounds=10_000)
        expected = to_simplex(values, values.sum())
        np.testing.assert_allclose(better.marginal((0, 1, 2)), expected, rtol=0, atol=1e-5 * values.sum())

    @pytest.mark.parametrize("name", WORKLOADS)
    def test_without_negative_cells_nothing_changes(self, name):
        workload = WORKLOADS[name]
        table = np.random.default_rng(3).integers(0, 9, DOMAIN.sizes).astype(float)
        sums = {g: table.sum(axis=tuple(i for i in range(4) if i not in g)) for g in workload.targets}
        estimates = Estimates(workload, [NoisyMarginal(gamma, mu, 2.0) for gamma, mu in sums.items()])
        better = consistent(estimates)
        for tau in workload.closure:
            np.testing.assert_array_equal(better.residual(tau), estimates.residual(tau))
            assert better.precision(tau) == estimates.precision(tau)

    @pytest.mark.parametrize("total", [0.0, -20.0])
    def test_without_a_total_everything_is_zero(self, total):
        measured = [NoisyResidual((), total, 1.0), NoisyResidual((0,), [5.0, -5.0], 4.0)]
        better = consistent(Estimates(WORKLOADS["two ways"], measured))
        for gamma in better.workload.closure:
            np.testing.assert_array_equal(better.marginal(gamma), np.zeros(DOMAIN.shape(gamma)))
        assert better.precision(()) == 1.0

    def test_nothing_measured(self):
        better = consistent(Estimates(WORKLOADS["two ways"]))
        assert float(better.residual(())) == 0

    def test_only_the_total_measured(self):
        better = consistent(Estimates(WORKLOADS["two ways"], [NoisyResidual((), 12.0, 1.0)]))
        np.testing.assert_allclose(better.marginal((0, 1)), np.full((3, 2), 2.0))

    def test_what_nobody_measured_gives_way(self):
        """Two skewed attributes: without a component of their own the pair would have a negative cell."""
        measured = [NoisyMarginal((1,), [95.0, 5.0], 1.0), NoisyMarginal((3,), [95.0, 5.0], 1.0)]
        estimates = Estimates(Workload(DOMAIN, [(1, 3)]), measured)
        assert estimates.marginal((1, 3)).min() < -10
        better = consistent(estimates, tolerance=1e-6, most_rounds=5_000)
        np.testing.assert_allclose(better.marginal((1, 3)), [[90, 5], [5, 0]], atol=0.6)
        assert better.precision((1, 3)) == pytest.approx(0.01 * min(better.precision(()), better.precision((1,))))
        assert better.precision((1,)) == estimates.precision((1,))

    def test_the_precise_marginal_prevails(self):
        values = np.array([[60.0, 2.0], [30.0, -4.0], [8.0, 4.0]])
        measured = [NoisyMarginal((0, 1), values, 100.0), NoisyMarginal((1,), [98.0, 2.0], 1e-4)]
        better = consistent(Estimates(WORKLOADS["two ways"], measured), tolerance=1e-5, most_rounds=5_000)
        np.testing.assert_allclose(better.marginal((1,)), [98, 2], atol=0.05)
        assert better.marginal((0, 1)).min() >= -1e-9

    def test_closer_to_the_truth(self):
        rng = np.random.default_rng(0)
        workload = WORKLOADS["three ways"]
        table = np.floor(rng.random(DOMAIN.sizes) ** 12 * 400)
        truth = {g: table.sum(axis=tuple(i for i in range(4) if i not in g)) for g in workload.targets}
        measured = [NoisyMarginal(g, mu + rng.normal(scale=20, size=mu.shape), 400.0) for g, mu in truth.items()]
        estimates = Estimates(workload, measured)
        better = consistent(estimates)
        before = sum(np.abs(estimates.marginal(g) - mu).sum() for g, mu in truth.items())
        after = sum(np.abs(better.marginal(g) - mu).sum() for g, mu in truth.items())
        assert after < 0.9 * before

    def test_the_same_every_time_and_nothing_is_written_to_what_came_in(self):
        values = np.random.default_rng(1).normal(3, 6, size=(3, 2, 4))
        estimates = Estimates(WORKLOADS["overlapping"], [NoisyMarginal((0, 1, 2), values, 9.0)])
        before = {tau: estimates.residual(tau) for tau in estimates.workload.closure}
        one, two = consistent(estimates), consistent(estimates)
        for tau, z in before.items():
            np.testing.assert_array_equal(one.residual(tau), two.residual(tau))
            np.testing.assert_array_equal(estimates.residual(tau), z)

    def test_the_result_takes_in_more(self):
        estimates = Estimates(WORKLOADS["two ways"], [NoisyMarginal((0, 1), [[9, -3], [4, 5], [2, 2]], 1.0)])
        better = consistent(estimates)
        before = better.precision((0,))
        better.absorb(NoisyMarginal((0,), [7.0, 8.0, 4.0], 1.0))
        assert better.precision((0,)) == before + 1


class TestBadInput:
    ESTIMATES = Estimates(WORKLOADS["two ways"], [NoisyResidual((), 12.0, 1.0)])

    @pytest.mark.parametrize("tolerance", [0, -1e-3, 1, 2.0, nan, inf, "1e-3", None, True])
    def test_tolerance(self, tolerance):
        with pytest.raises(ResiduumError, match="Expected `tolerance` to be a share"):
            consistent(self.ESTIMATES, tolerance=tolerance)

    @pytest.mark.parametrize("most_rounds", [0, -1, 2.5, None, True, "10"])
    def test_rounds(self, most_rounds):
        with pytest.raises(ResiduumError, match="Expected `most_rounds` to be a whole number"):
            consistent(self.ESTIMATES, most_rounds=most_rounds)

    def test_not_estimates(self):
        with pytest.raises(ResiduumError, match="Expected `estimates` to be Estimates, got dict"):
            consistent({})

    def test_nan(self):
        workload = WORKLOADS["one way"]
        kept = Estimates.kept(workload, {(): np.array(9.0), (1,): np.array([nan])}, {(): 1.0, (1,): 1.0})
        with pytest.raises(ResiduumError, match=r"in `residual \(1,\)`, got nan"):
            consistent(kept)
