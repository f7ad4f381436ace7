"""The rivals in the benchmarks compute the same thing, so that a speed-up means something."""

import numpy as np
import pandas
import pytest
from bench import algebra, data, errors, kronecker
from bench.accuracy import show

from residuum import Domain, Table, Workload, decompose, reconstruct
from residuum.data.counts import Counts


@pytest.mark.parametrize("shape", [(2, 3), (4, 2, 5), (3, 2, 2, 4)])
def test_kronecker_products_agree(shape):
    gamma = tuple(range(len(shape)))
    mu = np.random.default_rng(0).normal(size=shape)
    zeta = decompose(mu, gamma, gamma)
    for rival in (algebra.decompose_plain, *kronecker.DECOMPOSE):
        np.testing.assert_allclose(rival(mu), zeta, atol=1e-12)
    for rival in (algebra.reconstruct_plain, *kronecker.RECONSTRUCT):
        np.testing.assert_allclose(rival(zeta), reconstruct(zeta, gamma, gamma, shape), atol=1e-12)


TABLE = Table.from_codes([[0, 0], [0, 0], [1, 1], [1, 2]], Domain({"a": 2, "b": 3}))
TRUTH = Counts(TABLE, Workload.all_kway(TABLE.domain, 2))


def test_errors_are_those_of_the_answers():
    away = np.array([[3.0, 0, 0], [0, 0, -4]])
    seen = errors.errors(lambda gamma: TRUTH.marginal(gamma) + away, TRUTH, [(0, 1)])
    assert seen == {"L1": 7 / 4, "L2": 5 / 4, "worst": 7 / 4}
    two = errors.errors(lambda gamma: TRUTH.marginal(gamma) + len(gamma), TRUTH, [(0,), (0, 1)])
    assert two["L1"] == pytest.approx((2 / 4 + 12 / 4) / 2)
    assert two["worst"] == 12 / 4


def test_the_independent_model_is_the_product_of_the_single_attributes():
    expected = np.outer([2, 2], [2, 1, 1]) / 4
    np.testing.assert_allclose(errors.independent(TRUTH)((0, 1)), expected)


def test_numbers_are_binned_and_empty_cells_are_a_value():
    frame = pandas.DataFrame({"x": [*range(99), None], "y": ["b", "a"] * 50})
    table = data.binned(frame, bins=4)
    assert table.domain.sizes == (5, 2)
    assert np.bincount(table.columns[0]).tolist() == [25, 25, 24, 25, 1]
    assert table.columns[1, :2].tolist() == [1, 0]


@pytest.mark.parametrize(("seen", "verdict"), [(1.0, "met"), (1.2, "missed by 20.0%")])
def test_a_target_is_met_or_missed_by_so_much(seen, verdict):
    assert show.verdict("error", seen, 1.0).endswith(verdict)
