from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residuum.core.workload import subsets
from residuum.estimate import mixture as module
from residuum.estimate.mixture import Mixture, starts
from tests.estimate.mixtures import cliques, enumerated, made, mixtures, summed


@given(mixtures())
def test_marginals_are_those_of_the_whole_table(mixture):
    table = enumerated(mixture).mean(axis=0)
    for gamma in cliques(mixture):
        marginal = mixture.marginal(gamma)
        assert marginal.dtype == np.float64
        assert marginal.shape == mixture.shape(gamma)
        np.testing.assert_allclose(marginal, summed(table, gamma), rtol=1e-5, atol=1e-6 * mixture.total)


@given(mixtures())
def test_marginals_are_not_negative_and_agree(mixture):
    for gamma in cliques(mixture):
        marginal = mixture.marginal(gamma)
        assert marginal.min() >= 0
        assert marginal.sum() == pytest.approx(mixture.total, rel=1e-5)
        for tau in subsets(gamma):
            others = tuple(k for k, i in enumerate(gamma) if i not in tau)
            np.testing.assert_allclose(
                marginal.sum(axis=others), mixture.marginal(tau), rtol=0, atol=1e-5 * mixture.total
            )


@given(mixtures())
def test_all_pairs_at_once_are_the_marginals_of_pairs(mixture):
    pairs, begin, sizes = mixture.pairs(), mixture.starts, mixture.sizes
    assert pairs.shape == (sum(sizes), sum(sizes))
    np.testing.assert_allclose(pairs, pairs.T, rtol=1e-5, atol=1e-6 * mixture.total)
    for i, j in (gamma for gamma in cliques(mixture) if len(gamma) == 2):
        block = pairs[begin[i] : begin[i] + sizes[i], begin[j] : begin[j] + sizes[j]]
        np.testing.assert_allclose(block, mixture.marginal((i, j)), rtol=1e-5, atol=1e-6 * mixture.total)


@given(mixtures())
def test_the_variance_is_that_between_the_members(mixture):
    tables = enumerated(mixture)
    for gamma in cliques(mixture):
        counts = np.array([summed(table, gamma) for table in tables])
        expected = counts.var(axis=0, ddof=1) if len(tables) > 1 else np.zeros(counts.shape[1:])
        np.testing.assert_allclose(mixture.variance(gamma), expected, rtol=1e-3, atol=1e-9 * mixture.total**2)


@settings(max_examples=30)
@given(mixtures(), st.sampled_from([1, 5, 13, 40]))
def test_a_few_classes_at_a_time_come_to_the_same(mixture, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST_AT_ONCE", most)
        few = [mixture.marginal(gamma) for gamma in cliques(mixture)]
    for gamma, marginal in zip(cliques(mixture), few, strict=True):
        np.testing.assert_allclose(marginal, mixture.marginal(gamma), rtol=1e-5, atol=1e-6 * mixture.total)


def test_a_mixture_of_one_class_is_a_product():
    mixture = made((3, 4), classes=1)
    expected = np.outer(mixture.marginal((0,)), mixture.marginal((1,))) / mixture.total
    np.testing.assert_allclose(mixture.marginal((0, 1)), expected, rtol=1e-5)


def test_members_count_alike():
    shares = np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 1.0]], [[0.0, 1.0]]], dtype=np.float32)
    mixture = Mixture((2,), 8.0, np.ones((4, 1), dtype=np.float32), shares)
    assert mixture.marginal((0,)).tolist() == [2, 6]
    np.testing.assert_allclose(mixture.variance((0,)), 16, rtol=1e-12)


def test_where_the_values_begin():
    assert starts((3, 2, 4)).tolist() == made((3, 2, 4)).starts.tolist() == [0, 3, 5]
    assert starts((7,)).tolist() == [0]


def test_all_marginals_of_many_people_have_the_same_total():
    mixture = replace(made((40, 30, 20), classes=64), total=2e9)
    for gamma in cliques(mixture):
        assert abs(mixture.marginal(gamma).sum() - 2e9) < 1e-3
