from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum import Domain, ReleaseError
from residuum.estimate import rows as module
from residuum.estimate.mixture import Mixture
from residuum.estimate.rows import MOST_ROWS, batches, draw
from tests.estimate.mixtures import enumerated, made, mixtures

MIXTURE = made((2, 3), members=2, classes=3, total=1.0, seed=3)


def table(codes, sizes):
    """How often each row occurs, of shape `sizes`."""
    return np.bincount(np.ravel_multi_index(codes.T, sizes), minlength=np.prod(sizes)).reshape(sizes)


def drawn(mixture, n, times):
    rng = np.random.default_rng(0)
    return np.array([table(draw(mixture, n, rng), mixture.sizes) for _ in range(times)])


@given(mixtures(), st.integers(0, 50))
def test_codes_of_all_rows(mixture, n):
    codes = draw(mixture, n, np.random.default_rng(0))
    assert codes.shape == (n, len(mixture.sizes))
    assert codes.dtype == np.uint8
    assert (codes < np.array(mixture.sizes)).all()


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_each_row_is_a_draw_from_the_mixture(n):
    shares = enumerated(MIXTURE).mean(axis=0)
    counts = drawn(MIXTURE, n, 3000)
    assert (counts.sum(axis=(1, 2)) == n).all()
    off = np.abs(counts.mean(axis=0) - n * shares)
    assert (off < 4.5 * np.sqrt(n * shares * (1 - shares) / 3000)).all()


@pytest.mark.parametrize("place", [0, 4])
def test_no_place_among_the_rows_is_special(place):
    shares, rng = enumerated(MIXTURE).mean(axis=0), np.random.default_rng(1)
    counts = table(np.array([draw(MIXTURE, 5, rng)[place] for _ in range(5000)]), MIXTURE.sizes)
    assert (np.abs(counts - 5000 * shares) < 4.5 * np.sqrt(5000 * shares)).all()


@pytest.mark.parametrize("n", [20, 400])
def test_counts_stray_less_than_those_of_independent_draws(n):
    shares = enumerated(MIXTURE).mean(axis=0)
    counts = drawn(MIXTURE, n, 1000)
    independent = np.random.default_rng(1).multinomial(n, shares.reshape(-1), 1000).reshape(counts.shape)
    assert counts.var(axis=0).sum() < 0.9 * independent.var(axis=0).sum()
    for other in (1, 2):
        ours, theirs = (found.sum(axis=other).var(axis=0).sum() for found in (counts, independent))
        assert ours < 0.5 * theirs


def test_attributes_do_not_depend_on_one_another_within_a_class():
    shares = np.array([[[0.5, 0.5, 0.5, 0.5]]], dtype=np.float32)
    counts = drawn(Mixture((2, 2), 1.0, np.ones((1, 1), dtype=np.float32), shares), 8, 3000)
    assert (counts.sum(axis=1) == 4).all()
    assert counts.mean(axis=0) == pytest.approx(np.full((2, 2), 2), abs=0.1)
    hypergeometric = 4 * 4 * 4 * 4 / (8 * 8 * 7)
    assert counts[:, 0, 0].var() == pytest.approx(hypergeometric, rel=0.12)


@given(st.integers(1, 30), st.integers(1, 2000), st.integers(0, 2**32))
def test_a_class_has_its_share_up_or_down_to_a_whole_number(classes, n, seed):
    """Each class has a value of its own, so that it can be told from the rows."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(classes, 0.5))
    shares = np.eye(classes + 1)[None, :classes]
    mixture = Mixture((classes + 1,), 1.0, weights[None].astype(np.float32), shares.astype(np.float32))
    found = np.bincount(draw(mixture, n, rng)[:, 0], minlength=classes + 1)[:classes]
    assert found.sum() == n
    assert (np.abs(found - n * weights) < 1 + 1e-3).all()


def test_any_two_classes_can_come_together():
    """Classes in a fixed order would come in two pairs only."""
    mixture = Mixture((4,), 1.0, np.full((1, 4), 0.25, dtype=np.float32), np.eye(4, dtype=np.float32)[None])
    rng = np.random.default_rng(0)
    found = {tuple(sorted(draw(mixture, 2, rng)[:, 0].tolist())) for _ in range(200)}
    assert found == set(combinations(range(4), 2))


@given(st.integers(2, 9), st.integers(0, 2000), st.integers(0, 2**32))
def test_values_come_in_proportion(size, n, seed):
    """The rows up to any value are as many as expected, up or down to a whole number."""
    rng = np.random.default_rng(seed)
    mixture = made((size,), classes=1, seed=seed)
    found = np.bincount(draw(mixture, n, rng)[:, 0], minlength=size)
    expected = n * mixture.shares[0, 0].astype(float)
    assert (np.abs(np.cumsum(found) - np.cumsum(expected)) < 1 + 1e-3).all()


def test_a_value_of_share_zero_never_comes():
    shares = np.array([[[0.0, 0.3, 0.0, 0.7, 0.0]]], dtype=np.float32)
    mixture = Mixture((5,), 1.0, np.ones((1, 1), dtype=np.float32), shares)
    assert drawn(mixture, 3, 200).sum(axis=0)[[0, 2, 4]].tolist() == [0, 0, 0]


def test_fewer_rows_than_classes():
    mixture = made((2, 3), members=16, classes=64, total=1.0)
    shares = mixture.marginal((0, 1))
    counts = drawn(mixture, 30, 1000)
    assert (counts.sum(axis=(1, 2)) == 30).all()
    assert (np.abs(counts.mean(axis=0) - 30 * shares) < 4.5 * np.sqrt(30 * shares / 1000)).all()


def test_many_rows_of_many_values():
    mixture = made((300, 2), classes=128, total=1.0)
    codes = draw(mixture, 200_000, np.random.default_rng(0))
    assert codes.dtype == np.uint16
    expected = 200_000 * mixture.marginal((0, 1))
    assert np.abs(table(codes, (300, 2)) - expected).sum() < 0.5 * np.sqrt(expected).sum()


def test_the_same_seed_the_same_rows():
    one, two, other = (draw(MIXTURE, 100, np.random.default_rng(seed)) for seed in (7, 7, 8))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


@pytest.mark.parametrize("n", [-1, True, False, 2**31, 10**30, 2.0, "3", None, np.float64(4)])
def test_not_a_number_of_rows(n):
    domain, rng = Domain({"a": 2, "b": 3}), np.random.default_rng(0)
    with pytest.raises(ReleaseError, match="Expected a number of rows from 0 to 2,147,483,647, got "):
        draw(MIXTURE, n, rng)
    with pytest.raises(ReleaseError, match="Expected a number of rows"):
        batches(MIXTURE, domain, n, rng)


def test_numbers_of_rows():
    assert len(draw(MIXTURE, np.int32(3), np.random.default_rng(0))) == 3
    assert MOST_ROWS == 2**31 - 1


class TestBatches:
    DOMAIN = Domain({"a": ["x", "y"], "b": 3})

    @pytest.mark.parametrize(
        ("n", "lengths"), [(0, [0]), (1, [1]), (9, [9]), (10, [10]), (11, [10, 1]), (30, [10, 10, 10])]
    )
    def test_so_many_at_a_time(self, monkeypatch, n, lengths):
        monkeypatch.setattr(module, "_AT_ONCE", 10)
        tables = list(batches(MIXTURE, self.DOMAIN, n, np.random.default_rng(0)))
        assert [len(table) for table in tables] == lengths
        assert all(table.column_names == ["a", "b"] for table in tables)
        assert len({table.schema for table in tables}) == 1

    def test_they_differ_and_each_is_like_the_mixture(self, monkeypatch):
        monkeypatch.setattr(module, "_AT_ONCE", 100)
        found = [
            table.column("a").to_pylist() for table in batches(MIXTURE, self.DOMAIN, 300, np.random.default_rng(0))
        ]
        expected = 100 * MIXTURE.marginal((0,))[0]
        assert all(abs(column.count("x") - expected) < 8 for column in found)
        assert found[0] != found[1] != found[2]
