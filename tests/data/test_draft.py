import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residuum import ResiduumError, Schema, SourceError, read
from residuum.data.draft import MARK, draft

SHARED = Path(os.environ.get("RESIDUUM_SHARED", "../shared")) / "data"

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "id": np.arange(500) + 1000,
        "name": [f"person {k}" for k in range(500)],
        "age": RNG.integers(17, 91, 500),
        "children": RNG.integers(0, 5, 500),
        "income": RNG.lognormal(10, 1, 500).round(2),
        "sex": RNG.choice(["female", "Female", "male", " ", "?"], 500),
        "married": RNG.choice(["yes", "no"], 500),
        "born": pd.to_datetime("1990-01-01") + pd.to_timedelta(RNG.integers(0, 3000, 500), unit="D"),
        "code": RNG.choice(["001", "002", "no: #1"], 500),
        "constant": "x",
        "nothing": None,
        "unit": RNG.choice([0.5, 1.25, 100.0], 500),
    }
)


@pytest.fixture
def path(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv")
    return tmp_path / "people.csv"


def test_sensible_guesses(path):
    schema = Schema.parse(draft(path))
    kinds = {name: column.kind for name, column in schema.columns.items()}
    assert kinds == {
        "age": "integer",
        "children": "integer",
        "income": "real",
        "sex": "categorical",
        "married": "boolean",
        "born": "date",
        "code": "categorical",
        "unit": "categorical",
    }
    assert set(schema.leave_out) == {"Unnamed: 0", "id", "name", "constant", "nothing"}
    columns = schema.to_dict()["columns"]
    assert columns["age"] | {"min": 15, "max": 94, "bins": 16} == columns["age"]
    assert columns["children"] | {"min": 0, "max": 4} == columns["children"]
    assert 12 <= columns["income"]["bins"] <= 33
    assert columns["sex"]["values"] == ["Female", "male"]
    assert columns["sex"]["aliases"] == {"female": "Female"}
    assert columns["code"]["values"] == ["001", "002", "no: #1"]
    assert columns["unit"]["values"] == ["0.5", "1.25", "100"]


def test_a_draft_must_be_confirmed(path):
    with pytest.raises(ResiduumError, match="is a draft"):
        Schema.parse(draft(path)).require_confirmed()


def test_every_line_that_tells_about_the_rows_is_marked(path):
    """Whatever is not marked is the same for any rows with these columns."""
    lines = draft(path).splitlines()
    bare = [line.strip() for line in lines if MARK not in line and not line.startswith("#")]
    keys = {
        "columns:",
        "leave_out:",
        "values:",
        "aliases:",
        "version: 1",
        "confirmed: false",
        *(f"{c}:" for c in FRAME),
    }
    assert [line for line in bare if line not in keys] == [
        "person: row # or {id: COLUMN, rows: K}, where one person can have several rows"
    ]


def test_what_is_drafted_can_be_read(path):
    schema = Schema.parse(draft(path))
    table = read(path, schema)
    for name, column in zip(schema.domain.names, table.columns, strict=True):
        missing = schema.domain.labels[schema.domain.names.index(name)].index("(missing)")
        assert ((column == missing) == (FRAME[name].isin([" ", "?"]))).all(), name


def test_frames_and_databases(path):
    assert draft(FRAME.reset_index(names="Unnamed: 0")) == draft(path)
    assert "csv: {encoding: latin-1}" in draft(path, encoding="latin-1")


def test_nothing_to_draft_from(tmp_path):
    for text in ("a,b\n", "a\nx\n"):
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(SourceError, match="No column has values"):
            draft(tmp_path / "x.csv")
    with pytest.raises(SourceError, match="No file at"):
        draft(tmp_path / "nowhere.csv")
    with pytest.raises(SourceError, match="Unknown encoding 'ebcdic'"):
        draft(tmp_path / "x.csv", encoding="ebcdic")
    (tmp_path / "x.csv").write_text("a,a\n1,2\n")
    with pytest.raises(SourceError, match="Column 'a' occurs twice"):
        draft(tmp_path / "x.csv")


def test_one_number_in_two_spellings_is_one_value():
    frame = pl.DataFrame({"kept": ["a", "b"], "whole": ["0", "00"], "broken": ["0.10", "0.1"]})
    schema = Schema.parse(draft(frame))
    assert list(schema.columns) == ["kept"]
    assert set(schema.leave_out) == {"whole", "broken"}


CELLS = (
    st.none() | st.text(max_size=4) | st.sampled_from(["1", "2.5", "-1e300", "nan", "2020-01-01", "yes", "no", "0001"])
)


@settings(max_examples=60)
@given(st.lists(CELLS, max_size=40), st.lists(st.floats() | st.none(), max_size=40))
def test_any_column_can_be_drafted(texts, numbers):
    for frame in (
        pl.DataFrame({"a b: #": texts}, {"a b: #": pl.String}),
        pl.DataFrame({"x": numbers}, {"x": pl.Float64}),
    ):
        try:
            text = draft(frame)
        except SourceError:
            continue
        read(frame, Schema.parse(text))


@pytest.mark.skipif(not (SHARED / "titanic-raw.csv").exists(), reason="no titanic-raw.csv: set RESIDUUM_SHARED")
@pytest.mark.parametrize("name", ["adult-raw.csv", "titanic-raw.csv"])
def test_real_files(name):
    text = draft(SHARED / name)
    schema = Schema.parse(text)
    assert read(SHARED / name, schema).columns.shape[1] > 1000
    if name == "adult-raw.csv":
        assert schema.to_dict()["columns"]["income"]["aliases"] == {"<=50K.": "<=50K", ">50K.": ">50K"}
    else:
        assert schema.leave_out == ("Unnamed: 0",)
