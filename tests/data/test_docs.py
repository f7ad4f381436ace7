"""The schema that the documentation shows works."""

import re
from pathlib import Path

from residuum import Schema, read
from residuum.data.complaints import KEYS
from residuum.data.schema import TOKENS

PAGE = (Path(__file__).parents[2] / "docs" / "schema.md").read_text(encoding="utf-8")
VISITS = """patient,name,notes,age,children,income,sex,region,insured,admitted,arrived
1,Ann,"tall,
quiet",34,2,12500.50, F,north,yes,2020-03-31,09:15
1,Ann,,35,9,,female,mars,,2021-04-01 10:00,23:59
2,Bob,,unknown,0,1e9,M,east,0,1999-01-01,noon
"""


def test_the_example(tmp_path):
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    schema = Schema.parse(example)
    schema.require_confirmed()
    assert schema.rows_per_person == 3
    (tmp_path / "visits.csv").write_text(VISITS)
    table = read(tmp_path / "visits.csv", schema)
    people = {
        tuple(labels[code] for labels, code in zip(table.domain.labels, codes, strict=True) if labels)
        for codes in table.columns.T
    }
    assert people == {
        ("[30, 35)", "2", "[10000, 20000)", "female", "north", "true", "2020-Q1", "09:00"),
        ("[35, 40)", "6", "(missing)", "female", "abroad", "false", "2021-Q2", "23:00"),
        ("(missing)", "0", "[80000, 200000]", "male", "east", "false", "2020-Q1", "(missing)"),
    }


def test_every_key_and_every_token_is_documented():
    for key in {key for keys in KEYS.values() for key in keys} - {"kind", "id", "rows"}:
        assert f"`{key}`" in PAGE, key
    assert '`"" ' + " ".join(TOKENS[1:]) + "`" in PAGE


def test_complaints_know_every_key():
    from residuum.data.schema import Boolean, Categorical, Csv, Date, Integer, Person, Real, Time

    parts = {"": Schema, "person": Person, "csv": Csv, "boolean": Boolean, "categorical": Categorical, "date": Date}
    parts |= {"integer": Integer, "real": Real, "time": Time}
    for name, part in parts.items():
        assert set(KEYS[name]) == set(part.model_fields), name
