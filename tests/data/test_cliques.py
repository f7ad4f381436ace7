"""The file of cliques."""

import pytest

from residuum import Domain, Workload, WorkloadError
from residuum.data import cliques

DOMAIN = Domain({"age": 4, "educ": 3, "sex": 2, "007": 2})


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_all_is_all(order):
    assert cliques.parse(f"- {{all: {order}}}", DOMAIN).weights == Workload.all_kway(DOMAIN, order).weights


def test_what_is_named_twice_counts_twice():
    text = "- [sex, age]\n- {columns: [age, sex], weight: 0.5}\n- {all: 2, of: [age, sex], weight: 2}\n"
    assert cliques.parse(text, DOMAIN).weights == {(0, 2): 3.5}


def test_names_are_texts():
    assert cliques.parse('[[007], ["age"]]', DOMAIN).targets == ((0,), (3,))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a list"),
        ("age", "not a list"),
        ("[]", "not a list"),
        ("- [age", "not valid YAML"),
        ("- [age]\n- [agee]", "Unknown attribute 'agee'. The domain has 'age', 'educ', 'sex', '007'. Look at entry 2"),
        ("- [age, age]", "named twice"),
        ("- age", "Look at entry 1"),
        ("- {columns: age}", "Expected a list of columns, got 'age'"),
        ("- {columns: [age], all: 1}", "Look at entry 1"),
        ("- {columns: [age], weigth: 1}", "Unknown key 'weigth'"),
        ("- {columns: [age], of: [sex]}", "Unknown key 'of'"),
        ("- {columns: [age], weight: 0}", "a weight above 0, got '0'"),
        ("- {columns: [age], weight: nan}", "a weight above 0"),
        ("- {columns: [age], weight: [1]}", "a weight above 0"),
        ("- {all: 5}", "from 1 to 4, got '5'"),
        ("- {all: two}", "from 1 to 4, got 'two'"),
        ("- {all: 3, of: [age, sex]}", "from 1 to 2, got '3'"),
        ("- []", "at least one clique"),
        ("- &a [age]\n- *a", "not valid YAML"),
    ],
)
def test_what_makes_no_sense_is_one_line(text, says):
    with pytest.raises(WorkloadError) as caught:
        cliques.parse(text, DOMAIN)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_many_cliques_are_refused_before_they_are_listed():
    wide = Domain({f"c{i}": 2 for i in range(200)})
    with pytest.raises(WorkloadError, match="too many"):
        cliques.parse("- {all: 8}", wide)
