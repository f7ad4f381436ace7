import numpy as np
import pytest

from residuum import Domain, DomainError


@pytest.fixture
def domain():
    return Domain({"age": 4, "education": ["none", "school", "degree"], "sex": 2})


def test_attributes_keep_their_order(domain):
    assert domain.names == ("age", "education", "sex")
    assert domain.sizes == (4, 3, 2)
    assert domain.labels == (None, ("none", "school", "degree"), None)
    assert len(domain) == 3


def test_cliques_are_ascending_however_they_are_named(domain):
    assert domain.clique(["sex", "age"]) == domain.clique((2, 0)) == domain.clique(["age", 2]) == (0, 2)
    assert domain.clique("sex") == domain.clique(2) == (2,)
    assert domain.clique(np.int64(1)) == (1,)
    assert domain.clique([]) == ()


def test_shapes_and_sizes(domain):
    assert domain.shape((0, 2)) == (4, 2)
    assert domain.size(()) == 1
    assert domain.size((0, 1, 2)) == 24
    assert Domain({f"x{i}": 1000 for i in range(30)}).size(tuple(range(30))) == 10**90


def test_equal_domains_are_equal_and_hash_alike(domain):
    other = Domain({"age": 4, "education": ["none", "school", "degree"], "sex": 2})
    assert domain == other
    assert hash(domain) == hash(other)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "at least one attribute"),
        ([("age", 2)], "Expected a mapping"),
        ({"age": 1}, "Expected size >= 2 for attribute 'age', got 1"),
        ({"age": 0}, "got 0"),
        ({"age": -3}, "got -3"),
        ({"age": 2.5}, "'age', got 2.5"),
        ({"age": True}, "'age', got True"),
        ({"age": None}, "'age', got None"),
        ({"age": "young"}, "got the text 'young'"),
        ({"age": ["young"]}, "Expected size >= 2 for attribute 'age', got 1"),
        ({"age": ["young", "old", "young"]}, "Label 'young' of attribute 'age' is given twice"),
        ({"age": [["a"], ["b"]]}, "Expected plain labels for attribute 'age'"),
        ({"age": {"young", "old"}}, "in a fixed order, got a set"),
        ({"age": b"ab"}, "got the text"),
        ({"age": np.array(3)}, "got array"),
        ({"": 3}, "Expected a name for each attribute, got ''"),
        ({3: 3}, "Expected a name for each attribute, got 3"),
        ({"a\ud800": 2}, "name for each attribute"),
        ({"a": ["x", "\udfff"]}, "a form in UTF-8"),
    ],
)
def test_bad_attributes(attributes, message):
    with pytest.raises(DomainError, match=message):
        Domain(attributes)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (["height"], "Unknown attribute 'height'. The domain has 'age', 'education', 'sex'"),
        ([3], "Unknown attribute 3. The domain has the attributes 0 to 2"),
        ([-1], "Unknown attribute -1"),
        (["age", "age"], "Attribute 'age' is named twice"),
        (["age", 0], "Attribute 'age' is named twice"),
        ([1.0], "Expected an attribute's name or index, got 1.0"),
        ([None], "got None"),
        (None, "got None"),
        (1.5, "got 1.5"),
    ],
)
def test_bad_cliques(domain, attributes, message):
    with pytest.raises(DomainError, match=message):
        domain.clique(attributes)
