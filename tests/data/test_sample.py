"""The made-up people: the same for a seed, inside their domain, and tied together as documented."""

import numpy as np
import pytest

from residuum.data.sample import DOMAIN, people
from residuum.errors import ResiduumError


@pytest.fixture(scope="module")
def table():
    return people()


def information(table, one, other):
    """The mutual information of two attributes, in nats."""
    i, j = DOMAIN.names.index(one), DOMAIN.names.index(other)
    together = np.zeros((DOMAIN.sizes[i], DOMAIN.sizes[j]))
    np.add.at(together, (table.columns[i], table.columns[j]), 1 / table.columns.shape[1])
    apart = together.sum(axis=1, keepdims=True) * together.sum(axis=0)
    seen = together > 0
    return float(np.sum(together[seen] * np.log(together[seen] / apart[seen])))


def test_a_seed_gives_the_same_people_and_another_seed_others(table):
    assert np.array_equal(table.columns, people(seed=0).columns)
    assert not np.array_equal(table.columns, people(seed=1).columns)


def test_there_are_fifty_thousand_with_twelve_labelled_attributes(table):
    assert table.domain is DOMAIN
    assert len(DOMAIN) == 12
    assert all(DOMAIN.labels)
    assert table.columns.shape == (12, 50_000)


def test_every_value_occurs(table):
    for column, size in zip(table.columns, DOMAIN.sizes, strict=True):
        assert np.bincount(column).tolist() == np.bincount(column, minlength=size).tolist()
        assert np.bincount(column, minlength=size).min() > 200


@pytest.mark.parametrize(
    ("one", "other", "least"),
    [
        ("employment", "age", 0.4),
        ("employment", "occupation", 0.6),
        ("employment", "commute", 0.35),
        ("marital", "age", 0.2),
        ("marital", "household", 0.15),
        ("income", "occupation", 0.2),
    ],
)
def test_attributes_are_tied_as_documented(table, one, other, least):
    assert information(table, one, other) > least


def test_attributes_without_a_rule_between_them_are_nearly_free(table):
    assert information(table, "sex", "region") < 0.005


def test_rules_that_forbid_are_kept(table):
    columns = dict(zip(DOMAIN.names, table.columns, strict=True))
    works = columns["employment"] <= 1
    assert np.array_equal(works, columns["occupation"] > 0)


@pytest.mark.parametrize("rows", [0, 1, np.int64(7)])
def test_any_number_of_people(rows):
    assert people(rows).columns.shape == (12, rows)


@pytest.mark.parametrize("rows", [-1, 2.5, True, "many"])
def test_a_number_that_is_none_is_refused(rows):
    with pytest.raises(ResiduumError, match="rows"):
        people(rows)
