import gzip
import json
import os
import sqlite3
from itertools import chain
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residuum import Schema, SchemaError, SourceError, read
from residuum.data.columns import Boolean

SHARED = Path(os.environ.get("RESIDUUM_SHARED", "../shared")) / "data"

SCHEMA = Schema.parse(
    """
    columns:
      age: {kind: integer, min: 0, max: 99, bins: 5}
      score: {kind: real, min: 0, max: 1, cuts: [0.1, 0.7], outside: own}
      sex: {kind: categorical, values: [f, m, 3, true], aliases: {female: f}}
      day: {kind: date, min: 2020-01-01, max: 2020-12-31, granularity: month}
      hour: {kind: time, granularity: hour}
      flag: {kind: boolean}
    """
)
MESS = """age, score, sex, day, hour, flag
 12, 0.5, f, 2020-01-05, 13:30, yes
99,?, female, 2020-02-01T01:00:00+02:00, 24:00, 1.0
100, 3.5, 3.0, x, 2020-01-01 05:00, 0
x, nan, True, 1999-01-01, , maybe
5.5, inf, zz, 2020-12-31 23:59:59, 23:59:59.9, F
,,,,,
"""
CODES = [
    [0, 4, 4, 5, 5, 5],
    [1, 3, 4, 3, 4, 3],
    [0, 0, 2, 3, 4, 4],
    [0, 0, 12, 0, 11, 12],
    [13, 24, 5, 24, 23, 24],
    [1, 1, 0, 2, 0, 2],
]


def one(text, **keys):
    """A schema of one column x, or the codes of x in a CSV text."""
    return Schema.from_dict({"columns": {"x": keys}, "leave_out": ["y"], **text})


def codes(tmp_path, cells, **keys):
    path = tmp_path / "x.csv"
    path.write_text("x,y\n" + "".join(f"{cell},0\n" for cell in cells))
    return read(path, one({}, **keys)).columns[0].tolist()


@pytest.fixture
def mess(tmp_path):
    path = tmp_path / "mess.csv"
    path.write_text(MESS)
    return path


def test_a_messy_file(mess):
    table = read(mess, SCHEMA)
    assert table.columns.tolist() == CODES
    assert table.columns.dtype == np.uint8
    assert table.domain == SCHEMA.domain
    assert all(column.flags.c_contiguous for column in table.columns)


def test_every_source_has_the_same_codes(mess, tmp_path):
    frame = pd.read_csv(mess, dtype=str, skipinitialspace=True, keep_default_na=False)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_parquet(tmp_path / "without-an-ending")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(mess.read_bytes()))
    (tmp_path / "it's [1]*?.csv").write_bytes(mess.read_bytes())
    (tmp_path / "windows.csv").write_text("\ufeff" + MESS.replace("\n", "\r\n").replace(",", ";"), newline="")
    with sqlite3.connect(tmp_path / "a.sqlite") as base:
        frame.to_sql("people", base, index=False)
    base.close()
    with duckdb.connect(tmp_path / "a.duckdb") as base:
        base.execute("CREATE TABLE people AS SELECT * FROM frame").fetchall()
    files = ["a.parquet", "without-an-ending", "a.jsonl", "a.csv.gz", "it's [1]*?.csv", "windows.csv"]
    for name in files:
        assert read(tmp_path / name, SCHEMA).columns.tolist() == CODES, name
        assert read(str(tmp_path / name), SCHEMA).columns.tolist() == CODES, name
    for name in ("a.sqlite", "a.duckdb"):
        query = "WITH p AS (SELECT * FROM people) SELECT * FROM p -- all of them"
        assert read(tmp_path / name, SCHEMA, query=query).columns.tolist() == CODES, name
    polars = pl.from_pandas(frame)
    relation = duckdb.sql("SELECT * FROM frame")
    frames = [frame, frame.astype(object), polars, polars.lazy(), pa.Table.from_pandas(frame), relation]
    for frame in (*frames, polars.with_columns(pl.col("sex").cast(pl.Categorical))):
        assert read(frame, SCHEMA).columns.tolist() == CODES, type(frame)


def test_rows_keep_their_order(tmp_path):
    n = 300_000
    frame = pl.DataFrame(
        {"n": np.arange(n) % 1000, "text": ["a", "b", "?"] * (n // 3), "more": ["1", "2.0", "-9"] * (n // 3)}
    )
    frame.write_parquet(tmp_path / "n.parquet", row_group_size=10_000)
    frame.write_csv(tmp_path / "n.csv")
    values = {"kind": "categorical", "values": ["a", "b", "1", "2"], "aliases": {"c": "a"}}
    columns = {"n": {"kind": "integer", "min": 0, "max": 999}, "text": values, "more": values}
    schema = Schema.from_dict({"columns": columns, "missing_tokens": ["?", "-9"]})
    for source in (frame, frame.to_arrow(), tmp_path / "n.parquet", tmp_path / "n.csv"):
        table = read(source, schema)
        np.testing.assert_array_equal(table.columns[0], np.arange(n) % 1000)
        np.testing.assert_array_equal(table.columns[1:, :3], [[0, 1, 4], [2, 3, 4]])


def test_types_of_their_own():
    frame = pd.DataFrame(
        {
            "age": pd.array([12, None, 40], dtype="Int64"),
            "score": np.array([0.7, np.nan, 0.1], dtype=np.float32),
            "sex": ["f", 3.0, True],
            "day": pd.to_datetime(["2020-01-31 23:30:00+00:00", None, "2020-03-01 00:00:00+02:00"], utc=True),
            "hour": pd.to_datetime(["2020-01-31 23:30:00", None, "2020-03-01 01:00:00"]).time,
            "flag": [True, None, False],
        }
    )
    expected = [[0, 5, 2], [2, 3, 1], [0, 2, 3], [0, 12, 1], [23, 24, 1], [1, 2, 0]]
    assert read(frame, SCHEMA).columns.tolist() == expected
    assert read(pa.Table.from_pandas(frame.assign(sex=["f", "3", "true"])), SCHEMA).columns.tolist() == expected


TEXTS = st.sampled_from(
    ["", " ", "f", " m", "female ", "?", "true", "TRUE", "1", "01", "1.0", "3", "x,y", 'a"b', "a\nb"]
)
FLOATS = st.floats(-2, 2).map(lambda x: round(x, 1)) | st.sampled_from([float("inf"), 0.1, 0.7, 99.5, 1e300, 3.0])
CELLS = {
    "age": st.none() | st.integers(-5, 120),
    "score": st.none() | FLOATS,
    "sex": st.none() | TEXTS,
    "day": st.none() | st.datetimes().map(lambda d: d.replace(microsecond=0)),
    "hour": st.none() | st.times().map(lambda t: t.replace(microsecond=0)),
    "flag": st.none() | st.booleans(),
}


@settings(max_examples=25)
@given(st.lists(st.tuples(*CELLS.values()), min_size=1, max_size=8))
def test_frames_and_files_agree(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("agree")
    polars = pl.DataFrame(
        dict(zip(CELLS, zip(*rows, strict=True), strict=True)),
        schema=dict(zip(CELLS, [pl.Int64, pl.Float64, pl.String, pl.Datetime, pl.Time, pl.Boolean], strict=True)),
    )
    polars.write_parquet(folder / "a.parquet")
    polars.write_csv(folder / "a.csv")
    expected = read(polars, SCHEMA).columns.tolist()
    for source in (folder / "a.parquet", folder / "a.csv", polars.to_pandas(), polars.to_arrow()):
        assert read(source, SCHEMA).columns.tolist() == expected, source
    assert expected[0] == [5 if row[0] is None else min(max(row[0], 0), 99) // 20 for row in rows]
    cuts = [3 if x is None else sum(x >= cut for cut in (0.1, 0.7)) if 0 <= x <= 1 else 4 for _, x, *_ in rows]
    assert expected[1] == cuts


@given(st.lists(st.floats(allow_nan=False, width=64), max_size=30), st.integers(1, 40))
def test_codes_are_what_the_labels_say(numbers, bins):
    schema = one({}, kind="real", min=-3, max=11, bins=bins)
    edges = schema.edges["x"]
    assert edges is not None
    found = read(pl.DataFrame({"x": [*numbers, *edges]}, schema={"x": pl.Float64}), schema).columns[0]
    expected = np.searchsorted(edges[1:-1], np.clip([*numbers, *edges], -3, 11), side="right")
    np.testing.assert_array_equal(found, expected)


def test_values_that_look_like_numbers(tmp_path):
    values = {"kind": "categorical", "values": ["1", "2.5", "007", "-3"]}
    assert codes(tmp_path, ["1", "1.0", " 1 ", "2.50", "007", "7", "-3.0", "x"], **values) == [0, 0, 0, 1, 2, 4, 3, 4]
    for cells in ([1, 2.5, 7, -3], [1.0, 2.5, 7.0, -3.0]):
        assert read(pl.DataFrame({"x": cells}, strict=False), one({}, **values)).columns[0].tolist() == [0, 1, 4, 3]


def test_booleans(tmp_path):
    cells = [*Boolean.keys, "TRUE", "No", "1.0", "2", ""]
    assert codes(tmp_path, cells, kind="boolean") == [*Boolean.keys.values(), 1, 0, 1, 2, 2]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({}, [0, 0, 3, 3, 4, 4]),
        ({"outside": "own"}, [5, 0, 3, 5, 5, 4]),
        ({"outside": "missing"}, [4, 0, 3, 4, 4, 4]),
        ({"outside": {"as": "2"}, "missing": {"as": "none"}}, [2, 0, 3, 2, 2, 4]),
        ({"outside": {"as": "none"}, "missing": {"as": "none"}}, [4, 0, 3, 4, 4, 4]),
    ],
)
def test_what_becomes_of_the_rest(tmp_path, rules, expected):
    assert codes(tmp_path, ["-1", "0", "3", "7", "x", "?"], kind="integer", min=0, max=3, **rules) == expected


def test_errors_where_the_owner_asked_for_them(tmp_path):
    number = {"kind": "integer", "min": 0, "max": 3}
    with pytest.raises(SourceError, match="column 'x' is outside its domain, and the schema says `outside: error`"):
        codes(tmp_path, ["0", "7"], **number, outside="error")
    with pytest.raises(SourceError, match="column 'x' is missing, and the schema says `missing: error`"):
        codes(tmp_path, ["0", "?"], **number, missing="error")
    assert codes(tmp_path, ["0", "3"], **number, missing="error", outside="error") == [0, 3]
    letters = {"kind": "categorical", "values": [str(k) for k in range(256)]}
    assert codes(tmp_path, ["0", "255"], **letters, missing="error", outside="error") == [0, 255]
    with pytest.raises(SourceError):
        codes(tmp_path, ["0", "256"], **letters, missing="error", outside="error")


def test_tokens_for_missing_values(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("x\n-9\n-9.0\nNA\n1\n")
    for keys in ({"kind": "integer", "min": -10, "max": 3}, {"kind": "categorical", "values": ["1", "NA"]}):
        schema = one({"missing_tokens": ["-9", "NA"]}, **keys)
        missing = schema.domain.labels[0].index("(missing)")
        second = schema.domain.labels[0].index("NA") if keys["kind"] == "categorical" else missing
        one_ = schema.domain.labels[0].index("1")
        assert read(path, schema).columns[0].tolist() == [missing, missing, second, one_]
        floats = read(pl.DataFrame({"x": [-9.0, 1.0, None]}), schema).columns[0].tolist()
        assert floats == [missing, one_, missing]


def test_white_space_can_be_kept(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("x\n a\na\n")
    kept = one({"strip": False}, kind="categorical", values=["a", " a"])
    assert read(path, kept).columns[0].tolist() == [1, 0]


@pytest.mark.parametrize("granularity", ["year", "quarter", "month", "week", "day", "hour"])
def test_dates_in_every_granularity(granularity):
    schema = one({}, kind="date", min="2019-02-13", max="2021-11-03", granularity=granularity)
    edges = np.array(schema.edges["x"], dtype="datetime64[m]")
    moments = np.random.default_rng(0).integers(edges[0].astype(int), edges[-1].astype(int), 2000)
    moments = np.clip(moments.astype("datetime64[m]"), np.datetime64("2019-02-13"), np.datetime64("2021-11-03T23:59"))
    expected = np.searchsorted(edges, moments, side="right") - 1
    found = read(pl.DataFrame({"x": moments.astype("datetime64[us]")}), schema).columns[0]
    np.testing.assert_array_equal(found, expected)
    texts = pl.DataFrame({"x": [str(moment) for moment in moments]})
    np.testing.assert_array_equal(read(texts, schema).columns[0], expected)


def test_dates_in_other_forms(tmp_path):
    keys = {"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "granularity": "month"}
    assert codes(tmp_path, ["05/02/2020", "2020-02-05", "31/31/2020"], **keys, format="%d/%m/%Y") == [1, 12, 12]
    assert codes(tmp_path, ["11:15 PM", "23:15"], kind="time", granularity="hour", format="%I:%M %p") == [23, 24]


PEOPLE = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.booleans()), max_size=30)


def rows(people, k=2):
    schema = Schema.parse(
        f"{{person: {{id: who, rows: {k}}}, columns: {{n: {{kind: integer, min: 0, max: 5}}, b: {{kind: boolean}}}}}}"
    )
    frame = pl.DataFrame(people, schema={"who": pl.String, "n": pl.Int64, "b": pl.Boolean}, orient="row")
    return sorted(map(tuple, read(frame, schema).columns.T.tolist()))


@settings(max_examples=25)
@given(PEOPLE, st.randoms())
def test_the_rows_kept_depend_on_that_person_alone(people, random):
    shuffled = people.copy()
    random.shuffle(shuffled)
    alone = [rows([row for row in people if row[0] == who]) for who in "abc"]
    assert rows(shuffled) == sorted(chain(*alone))
    assert [len(kept) for kept in alone] == [min(2, sum(row[0] == who for row in people)) for who in "abc"]


def test_ids_of_any_type_and_missing_ones(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("who,x\n1,yes\n1.0,no\n 1,yes\n2,no\n,yes\nNA,yes\n")
    schema = one({"person": {"id": "who", "rows": 1}}, kind="boolean")
    assert read(path, schema).columns.shape == (1, 2)
    frame = pd.DataFrame({"who": [1.0, 1.0, 1.0, 2.0, None], "x": [True, False, True, False, True]})
    assert sorted(read(frame, schema).columns[0]) == sorted(read(path, schema).columns[0])


def test_no_rows_are_fine(tmp_path):
    for text in ("x,y\n", "x,y"):
        (tmp_path / "x.csv").write_text(text)
        assert read(tmp_path / "x.csv", one({}, kind="boolean")).columns.shape == (1, 0)
    assert read(pd.DataFrame({"x": []}), one({}, kind="boolean")).columns.shape == (1, 0)
    assert read(pl.DataFrame({"x": []}), one({}, kind="boolean")).columns.shape == (1, 0)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_files_that_are_not_there_or_not_what_they_say(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    with pytest.raises(SourceError, match="No file at"):
        read(path, SCHEMA)
    path.write_bytes(b"")
    with pytest.raises(SourceError, match="is empty"):
        read(path, SCHEMA)
    with pytest.raises(SourceError, match="got the folder"):
        read(tmp_path, SCHEMA)
    path.write_bytes(b"SECRET42\x00\xff\xfe\n\xff")
    with pytest.raises(SourceError) as error:
        read(path, SCHEMA)
    assert "SECRET42" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,y\ncaf\xe9,SECRET42\n".encode("latin-1"), "is not in UTF-8. Convert it, or name its encoding"),
        (b"x,y\nyes,SECRET42,3\n", "not well-formed CSV: a row has more cells"),
        (b'x,y\nyes,"SECRET42\nno,1\n', "a quote is not closed"),
        (b"x,y\r\nyes,SECRET42\nno,1\r\n", "lines end in different ways"),
        (b"\n\nx,y\n", "first line of .* is empty"),
        (b"y,z\nyes,SECRET42\n", "Column 'x' of the schema is not in 'x.csv'"),
        (b"X ,y\nyes,SECRET42\n", "Did you mean 'X'?"),
        (b"x,x\nyes,SECRET42\n", "Column 'x' occurs twice in 'x.csv'"),
        (b"x,y,z\nyes,SECRET42,1\n", "Column 'z' of 'x.csv' is not in the schema"),
        (b"x,\nyes,SECRET42\n", "Column 'Unnamed: 1' of 'x.csv' is not in the schema"),
    ],
)
def test_bad_csv(tmp_path, content, message):
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=message) as error:
        read(path, one({}, kind="boolean"))
    assert "SECRET42" not in str(error.value).replace(str(path), "")
    assert error.value.__cause__ is None
    assert error.value.__context__ is None or error.value.__suppress_context__


def test_odd_but_readable_csv(tmp_path):
    path = tmp_path / "x.csv"
    for content in (
        b'x,y\nyes,"a\nb, c"\nno,"say ""a"""\n',
        b"x,y\nyes\nno,1\n",
        b"x,y\nyes,1\n\nno,2\n\n",
        b"y,x,y\n1,yes,2\n3,no,4\n",
    ):
        path.write_bytes(content)
        assert read(path, one({}, kind="boolean")).columns[0].tolist() == [1, 0], content
    path.write_bytes("x,y\nyes,caf\xe9\nno,\xe9\n".encode("latin-1"))
    latin = one({"csv": {"encoding": "latin-1"}}, kind="categorical", values=["yes", "no"])
    assert read(path, latin).columns[0].tolist() == [0, 1]


def test_bad_queries_and_databases(tmp_path):
    with sqlite3.connect(tmp_path / "a.sqlite") as base:
        base.execute("CREATE TABLE t (x, y)")
        base.execute("INSERT INTO t VALUES ('SECRET42', x'ff00')")
    base.close()
    with duckdb.connect(tmp_path / "a.duckdb") as base:
        base.execute("CREATE TABLE t AS SELECT 'SECRET42' AS x, 1 AS y").fetchall()
    queries = ["SELECT", "DROP TABLE t", "SELECT 1; SELECT 2", "SELECT z FROM t", "SELECT * FROM nowhere", ") SELECT 1"]
    for name in ("a.sqlite", "a.duckdb"):
        for query in [*queries, "SELECT CAST(x AS INTEGER) AS x, 1 / 0 AS y FROM t WHERE json_extract(x, '$') = 1"]:
            with pytest.raises(SourceError) as error:
                read(tmp_path / name, one({}, kind="boolean"), query=query)
            assert "SECRET42" not in str(error.value)
        with pytest.raises(SourceError, match="Give a query too"):
            read(tmp_path / name, SCHEMA)
        assert read(tmp_path / name, one({}, kind="boolean"), query="SELECT * FROM t").columns.tolist() == [[2]]
    (tmp_path / "b.duckdb").write_bytes((tmp_path / "a.duckdb").read_bytes()[:5000])
    with pytest.raises(SourceError, match="Cannot open the database"):
        read(tmp_path / "b.duckdb", SCHEMA, query="SELECT 1")


def test_what_is_no_source(tmp_path):
    for source in (None, 3, [[1, 2]], {"x": [1]}):
        with pytest.raises(SourceError, match="Expected a path or a frame, got"):
            read(source, SCHEMA)
    with pytest.raises(SourceError, match="A query is for a database"):
        read(pd.DataFrame({"x": [1]}), SCHEMA, query="SELECT 1")
    with pytest.raises(SourceError, match="Column 'x' occurs twice in the frame"):
        read(pd.DataFrame([[1, 2]], columns=["x", "x"]), one({}, kind="boolean"))
    with pytest.raises(SchemaError, match="Expected a Schema, got str"):
        read(tmp_path, "schema.yaml")


def test_json_lines_without_a_key(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in ({"x": True}, {"y": 3}, {"x": None}, {"x": {"a": [1]}})))
    assert read(path, one({}, kind="boolean")).columns[0].tolist() == [1, 2, 2, 2]
    path.write_text('{"x": 1}\nSECRET42\n')
    with pytest.raises(SourceError, match="is not JSON lines"):
        read(path, one({}, kind="boolean"))


@settings(max_examples=100)
@given(
    st.binary(max_size=60) | st.text(alphabet="x,y;\n\r\"' 01é\t|", max_size=60).map(str.encode),
    st.sampled_from([None, ",", ";", "\t", "x", "'"]),
    st.sampled_from(['"', "'", "y"]),
    st.sampled_from(["utf-8", "latin-1", "utf-16"]),
    st.sampled_from(["x.csv", "x.csv.gz", "x.jsonl", "x.parquet", "x.db"]),
)
def test_any_file_is_read_or_refused(tmp_path_factory, content, delimiter, quote, encoding, name):
    path = tmp_path_factory.mktemp("fuzz") / name
    path.write_bytes(b"x,y\n" + content if name == "x.csv" else content)
    csv = {"quote": quote, "encoding": encoding} | ({"delimiter": delimiter} if delimiter else {})
    try:
        read(path, one({"csv": csv}, kind="integer", min=0, max=1))
    except (SourceError, SchemaError):
        return


@pytest.mark.skipif(not (SHARED / "adult-raw.csv").exists(), reason="no adult-raw.csv: set RESIDUUM_SHARED")
def test_adult_as_it_is():
    schema = Schema.parse(
        """
        leave_out: [fnlwgt, workclass, education, education-num, marital-status, relationship, race, capital-gain,
                    capital-loss, hours-per-week, native-country]
        columns:
          age: {kind: integer, min: 0, max: 99, bins: 10}
          sex: {kind: categorical, values: [Female, Male]}
          occupation: {kind: categorical, values: [Sales, Adm-clerical], outside: {as: another}}
          income: {kind: categorical, values: ["<=50K", ">50K"], aliases: {"<=50K.": "<=50K", ">50K.": ">50K"}}
        """
    )
    table = read(SHARED / "adult-raw.csv", schema)
    frame = pd.read_csv(SHARED / "adult-raw.csv", skipinitialspace=True)
    np.testing.assert_array_equal(table.columns, read(frame, schema).columns)
    np.testing.assert_array_equal(table.columns[0], frame["age"] // 10)
    np.testing.assert_array_equal(table.columns[3], frame["income"].str.startswith(">"))
    np.testing.assert_array_equal(table.columns[2] == 2, frame["occupation"] == "?")
