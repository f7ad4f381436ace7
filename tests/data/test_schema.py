import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum import ResiduumError, Schema, SchemaError
from residuum.data.schema import json_schema


def column(**keys):
    return Schema.from_dict({"columns": {"x": keys}})


def labels(**keys):
    return column(**keys).domain.labels[0]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"kind": "boolean"}, ("false", "true", "(missing)")),
        ({"kind": "integer", "min": 1, "max": 3}, ("1", "2", "3", "(missing)")),
        ({"kind": "integer", "min": 0, "max": 9, "bins": 3}, ("[0, 4)", "[4, 7)", "[7, 9]", "(missing)")),
        ({"kind": "integer", "min": 0, "max": 9, "cuts": [1, 5]}, ("[0, 1)", "[1, 5)", "[5, 9]", "(missing)")),
        (
            {"kind": "real", "min": 0, "max": 1, "bins": 3},
            ("[0, 0.3333)", "[0.3333, 0.6667)", "[0.6667, 1]", "(missing)"),
        ),
        ({"kind": "real", "min": -1.5, "max": 2, "cuts": [0]}, ("[-1.5, 0)", "[0, 2]", "(missing)")),
        ({"kind": "categorical", "values": ["no", 1, True, 2.5]}, ("no", "1", "true", "2.5", "(missing)")),
        ({"kind": "boolean", "outside": "own"}, ("false", "true", "(missing)", "(other)")),
        ({"kind": "boolean", "missing": {"as": "?"}, "outside": {"as": "?"}}, ("false", "true", "?")),
        ({"kind": "boolean", "missing": {"as": "false"}}, ("false", "true")),
        ({"kind": "boolean", "missing": "error", "outside": "error"}, ("false", "true")),
    ],
)
def test_labels(keys, expected):
    assert labels(**keys) == expected


@pytest.mark.parametrize(
    ("granularity", "expected"),
    [
        ("year", ["2019", "2020"]),
        ("quarter", ["2019-Q4", "2020-Q1"]),
        ("month", ["2019-12", "2020-01"]),
        ("week", ["2019-W52", "2020-W01", "2020-W02"]),
        ("day", ["2019-12-28", "2019-12-29", "2019-12-30"]),
        ("hour", ["2019-12-28 00:00", "2019-12-28 01:00"]),
    ],
)
def test_labels_of_dates(granularity, expected):
    found = labels(kind="date", min="2019-12-28", max="2020-01-06", granularity=granularity)
    assert list(found[: len(expected)]) == expected


def test_dates_to_the_ends_of_the_calendar():
    assert labels(kind="date", min="9999-12-01", max="9999-12-31", granularity="month") == ("9999-12", "(missing)")
    assert len(labels(kind="date", min="0001-01-01", max="0001-12-31", granularity="week")) == 54


def test_edges_tell_what_is_in_a_bin():
    schema = Schema.parse(
        """
        columns:
          age: {kind: integer, min: 0, max: 99, bins: 4}
          score: {kind: real, min: 0, max: 1, bins: 10}
          day: {kind: date, min: 2020-01-15, max: 2020-02-01, granularity: month}
          hour: {kind: time, granularity: half-hour}
          sex: {kind: boolean}
        """
    )
    assert schema.edges["age"] == (0, 25, 50, 75, 99)
    assert schema.edges["score"] == (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
    assert schema.edges["day"] == ("2020-01-01", "2020-02-01", "2020-03-01")
    assert schema.edges["hour"][-2:] == ("23:30", "24:00")
    assert schema.edges["sex"] is None


def test_texts_of_yaml_are_kept():
    schema = Schema.parse("columns: {x: {kind: categorical, values: [yes, no, 007, 1.10, 12:30, 2020-01-01, null]}}")
    assert schema.domain.labels[0][:-1] == ("yes", "no", "007", "1.10", "12:30", "2020-01-01", "null")


def test_the_unit_of_privacy():
    assert column(kind="boolean").rows_per_person == 1
    schema = Schema.parse("{person: {id: who, rows: 5}, columns: {x: {kind: boolean}}}")
    assert schema.rows_per_person == 5


def test_a_draft_is_refused():
    with pytest.raises(SchemaError, match="The schema is a draft"):
        column(kind="boolean").require_confirmed()
    Schema.parse("{confirmed: true, columns: {x: {kind: boolean}}}").require_confirmed()


def test_there_and_back_through_json():
    schema = Schema.parse(
        """
        confirmed: true
        person: {id: who, rows: 2}
        leave_out: [name]
        csv: {delimiter: ";", encoding: latin-1}
        columns:
          a: {kind: categorical, values: [1, x], aliases: {y: x}, missing: {as: x}, outside: error}
          b: {kind: real, min: 0, max: 1, cuts: [0.5], outside: own}
          c: {kind: date, min: 2020-01-01, max: 2020-12-31, granularity: week, format: "%d/%m/%Y"}
        """
    )
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert Schema.parse(json.dumps(schema.to_dict())) == schema
    assert schema.columns["c"].min == date(2020, 1, 1)


def test_a_schema_does_not_change():
    with pytest.raises(ValueError, match="frozen"):
        column(kind="boolean").confirmed = True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expected a schema with the key 'columns'"),
        ("columns: {}", "Expected at least one in columns"),
        ("columns: {x: {kind: boolean}}\ncolour: red", "Unknown key 'colour' in the schema. It may have 'version', "),
        ("columns: {x: {kind: real, bin: 3}}", "Unknown key 'bin' in columns.x. It may have 'kind', 'min', 'max', "),
        ("columns: {x: {kind: boolean, missing: {az: 3}}}", "Unknown key 'az' in columns.x.missing. It may have 'as'"),
        ("{csv: {sep: ','}, columns: {x: {kind: boolean}}}", "Unknown key 'sep' in csv. It may have 'delimiter'"),
        ("{person: {id: x}, columns: {x: {kind: boolean}}}", "Missing key 'rows' in person"),
        ("{person: all, columns: {x: {kind: boolean}}}", "Expected `row` or `{id: COLUMN, rows: K}` in person"),
        ("columns: {x: {min: 3}}", "Missing key 'kind' in columns.x. It is one of boolean, "),
        ("columns: {x: {kind: number}}", "Unknown kind 'number' in columns.x"),
        ("columns: {real: {kind: real, min: 0}}", "Missing key 'max' in columns.real"),
        ("columns: {x: {kind: integer, min: a, max: 2}}", "Expected a whole number in columns.x.min, got 'a'"),
        ("columns: {x: {kind: integer, min: 3, max: 2}}", "Expected min < max, got 3 and 2. Look at columns.x"),
        ("columns: {x: {kind: integer, min: 0, max: 2, bins: 9}}", "Expected at most 3 bins"),
        ("columns: {x: {kind: real, min: 0, max: 1, bins: 9999}}", "Expected a smaller number in columns.x.bins"),
        ("columns: {x: {kind: integer, min: 0, max: 99999999}}", "got 100,000,000. Give it `bins` or `cuts`"),
        ("columns: {x: {kind: real, min: 0, max: 2}}", "real numbers need one of them"),
        ("columns: {x: {kind: real, min: 0, max: nan, bins: 2}}", "Expected a finite number in columns.x.max"),
        ("columns: {x: {kind: real, min: -1e308, max: 1e308, bins: 2}}", "less far apart"),
        ("columns: {x: {kind: real, min: 1, max: 1.0000000000000002, bins: 9}}", "too close to one another"),
        ("columns: {x: {kind: real, min: 0, max: 2, bins: 2, cuts: [1]}}", "got both"),
        ("columns: {x: {kind: real, min: 0, max: 2, cuts: [0, 1]}}", "ascending cuts between 0 and 2"),
        ("columns: {x: {kind: boolean, missing: clamp}}", "Expected `own`, `error` or `{as: NAME}`, got 'clamp'"),
        ("columns: {x: {kind: boolean, outside: clamp}}", "Look at columns.x.outside"),
        ("columns: {x: {kind: categorical, values: [a, a]}}", "The value 'a' is listed twice"),
        ("columns: {x: {kind: categorical, values: [1, 1.0]}}", "'1' and '1.0' are the same number"),
        ("columns: {x: {kind: categorical, values: [a], aliases: {b: c}}}", "'b' stands for 'c', which is not one"),
        ("columns: {x: {kind: categorical, values: [a, b], aliases: {b: a}}}", "alias 'b' is one of the values"),
        ("columns: {x: {kind: categorical, values: [' a', b]}}", "' a' of column 'x' has spaces around it"),
        ("columns: {x: {kind: categorical, values: [a], missing: {as: a}}}", "'x' can take one value only"),
        ("columns: {x: {kind: date, min: 2020-02-30, max: 2021-01-01, granularity: day}}", "Expected a day such as"),
        ("columns: {x: {kind: time, granularity: second}}", "Expected `hour`, `half-hour`"),
        ("columns: {x: {kind: time, granularity: hour, format: '%Q'}}", "Expected a form such as"),
        ("{leave_out: [x], columns: {x: {kind: boolean}}}", "both under `columns` and `leave_out`"),
        ("{person: {id: x, rows: 2}, columns: {x: {kind: boolean}}}", "Column 'x' tells whose a row is"),
        ("{csv: {delimiter: ab}, columns: {x: {kind: boolean}}}", "Expected one character in csv.delimiter"),
        ("{version: 2, columns: {x: {kind: boolean}}}", "Expected version 1, got '2'"),
        ("columns: {x: {kind: boolean}}\ncolumns: {}", "not valid YAML in line 2: the key 'columns' is given twice"),
        ("columns: &a {x: *a}", "not valid YAML in line 1: references"),
        ("[" * 5000, "nested too deeply"),
    ],
)
def test_bad_schemas(text, message):
    with pytest.raises(SchemaError) as error:
        Schema.parse(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_files(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_bytes(b"\xef\xbb\xbfcolumns: {x: {kind: boolean}}")
    assert Schema.load(path) == column(kind="boolean")
    path.write_bytes(b"\xff\xfe")
    for bad in (path, tmp_path):
        with pytest.raises(SchemaError, match="must be a text file in UTF-8"):
            Schema.load(bad)


def test_editors_can_check_a_schema():
    schema = json_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert schema["additionalProperties"] is False
    kinds = {part["properties"]["kind"]["const"] for part in schema["$defs"].values() if "kind" in part["properties"]}
    assert kinds == {"boolean", "categorical", "date", "integer", "real", "time"}


KEYS = st.from_regex(
    r"columns|confirmed|person|csv|kind|values|aliases|min|max|bins|cuts|missing|as|outside|granularity|format|leave_out|"
    r"missing_tokens|strip|id|rows|x|version",
    fullmatch=True,
)
WORDS = st.from_regex(
    r"boolean|categorical|integer|real|date|time|own|error|clamp|row|hour|day|true|0|1|-5|9|1e308|nan|inf|2020-01-01|"
    r"2021-12-31|0001-01-01|9999-12-31|%d",
    fullmatch=True,
)
SCALARS = WORDS | st.text(max_size=5) | st.integers() | st.floats() | st.booleans() | st.none()
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=20
)
COLUMNS = st.dictionaries(KEYS, SCALARS | st.lists(SCALARS, max_size=3) | TREES, max_size=6)


@given(st.dictionaries(KEYS, TREES) | st.fixed_dictionaries({"columns": st.dictionaries(st.text(max_size=3), COLUMNS)}))
def test_any_tree_is_a_schema_or_refused(tree):
    try:
        schema = Schema.from_dict(tree)
    except ResiduumError:
        return
    assert min(schema.domain.sizes) >= 2
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


@given(st.text(max_size=60) | st.text(alphabet="{}[]:,-?*&!|>'\"#%@ \nabx01~", max_size=60))
def test_any_text_is_a_schema_or_refused(text):
    try:
        Schema.parse(text)
    except ResiduumError:
        return
