import json
import re

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import residuum
from residuum import Domain, Schema, SchemaError, SourceError, Workload, WorkloadError, aim
from tests.data import sparks
from tests.data.sparks import PEOPLE, ROWS, people, same

pytestmark = sparks.needs_spark
TABLE = people(3000)


@pytest.fixture(scope="module")
def spark():
    with sparks.session("local[2]", **{"spark.sql.shuffle.partitions": "3"}) as session:
        yield session


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(TABLE).repartition(5).cache()


@pytest.mark.parametrize("schema", [ROWS, PEOPLE])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_counts_are_those_in_memory(frame, schema, k):
    workload = Workload.all_kway(schema.domain, k)
    same(residuum.spark.count(frame, schema, workload), TABLE, schema, workload)


@pytest.mark.parametrize("tasks", [1, 7])
def test_the_number_of_tasks_changes_nothing(frame, tasks):
    workload = Workload.all_kway(PEOPLE.domain, 2)
    same(residuum.spark.count(frame, PEOPLE, workload, tasks=tasks), TABLE, PEOPLE, workload)


def test_a_workload_of_cliques_of_different_sizes(frame):
    workload = Workload(ROWS.domain, [("age", "day", "flag"), ("sex", "score"), ("sex", "flag"), ("age", "sex")])
    same(residuum.spark.count(frame, ROWS, workload), TABLE, ROWS, workload)


def test_an_empty_frame(frame):
    workload = Workload.all_kway(ROWS.domain, 2)
    for schema in (ROWS, PEOPLE):
        assert not residuum.spark.count(frame.limit(0), schema, workload).cells.any()


def test_a_release_from_counts(frame):
    workload = Workload.all_kway(PEOPLE.domain, 2)
    counts = residuum.spark.count(frame, PEOPLE, workload)
    release, expected = (
        aim(source, workload, rho=1.0, rows_per_person=2, seed=1) for source in (counts, residuum.read(TABLE, PEOPLE))
    )
    np.testing.assert_array_equal(
        release.marginal(("age", "sex"), "mle").values, expected.marginal(("age", "sex"), "mle").values
    )


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("schema", [ROWS, PEOPLE])
@pytest.mark.usefixtures("spark")
def test_files(tmp_path, ending, schema):
    path = tmp_path / f"people.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(TABLE, path)
    elif ending == "csv":
        pyarrow.csv.write_csv(TABLE, path)
    else:
        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in TABLE.to_pylist()))
    workload = Workload.all_kway(schema.domain, 2)
    same(residuum.spark.read_and_count(path, schema, workload), path, schema, workload)


@pytest.mark.usefixtures("spark")
def test_csv_with_quotes_lines_and_another_delimiter(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('who; a ;;b\n1;"x\ny";0;p\n2;"say ""a""";;q\n3;" x ";1;\n')
    kinds = {"a": ["x\ny", 'say "a"', "x"], "b": ["p", "q"]}
    columns = {name: {"kind": "categorical", "values": values} for name, values in kinds.items()}
    schema = Schema.from_dict({"leave_out": ["who", "Unnamed: 2"], "columns": columns})
    workload = Workload.all_kway(schema.domain, 2)
    counts = residuum.spark.read_and_count(path, schema, workload)
    same(counts, path, schema, workload)
    assert counts.marginal((0,)).tolist() == [1, 1, 1, 0]


@pytest.mark.usefixtures("spark")
def test_csv_rows_of_another_length_are_refused_without_a_word_of_them(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,secret,3\n")
    schema = Schema.parse("{leave_out: [b], columns: {a: {kind: boolean}}}")
    with pytest.raises(SourceError, match=r"^The Spark job failed") as caught:
        residuum.spark.read_and_count(path, schema, Workload.all_kway(schema.domain, 1))
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("key", ["missing", "outside"])
@pytest.mark.parametrize("person", ["row", "{id: who, rows: 1}"])
def test_a_value_that_is_an_error(spark, key, person):
    text = f"{{person: {person}, leave_out: [who], columns: {{x: {{kind: integer, min: 0, max: 3, {key}: error}}}}}}"
    schema = Schema.parse(text)
    frame = spark.createDataFrame(
        [(k, 99 if k == 50 else None if k == 60 else 1) for k in range(20000)], "who int, x int"
    )
    with pytest.raises(SourceError, match=f"A value of column 'x' is .*the schema says `{key}: error`"):
        residuum.spark.count(frame, schema, Workload.all_kway(schema.domain, 1))


def test_a_column_that_has_no_place_in_a_table(spark):
    for person in ("row", "{id: who, rows: 1}"):
        schema = Schema.parse(
            f"{{person: {person}, leave_out: [who], columns: {{x: {{kind: integer, min: 0, max: 3}}}}}}"
        )
        frame = spark.sql("SELECT 1 AS who, INTERVAL '1' MONTH AS x")
        with pytest.raises(SourceError, match=r"^(The Spark job failed|The frame cannot be read)"):
            residuum.spark.count(frame, schema, Workload.all_kway(schema.domain, 1))


def test_names_are_checked_before_anything_runs(spark):
    schema = Schema.parse("columns: {a: {kind: boolean}}")
    workload = Workload.all_kway(schema.domain, 1)
    for names, problem in (
        (["A"], "Column 'a' of the schema is not in the DataFrame. Did you mean 'A'?"),
        (["a", "a"], "Column 'a' occurs twice in the DataFrame. Rename one of the two."),
        (["a", "b.c"], "Column 'b.c' of the DataFrame is not in the schema. Put it in `columns` or `leave_out`."),
    ):
        frame = spark.createDataFrame([(True,) * len(names)], [f"x{i}" for i in range(len(names))]).toDF(*names)
        with pytest.raises(SourceError, match=re.escape(problem)):
            residuum.spark.count(frame, schema, workload)
    frame = spark.createDataFrame([(True, False)], ["x", "y"]).toDF("a", "A")
    left_out = Schema.parse("{leave_out: [A], columns: {a: {kind: boolean}}}")
    assert residuum.spark.count(frame, left_out, workload).cells.tolist() == [1, 0, 1, 0]


def test_what_makes_no_sense(frame):
    workload = Workload.all_kway(ROWS.domain, 1)
    other = Workload.all_kway(Domain({"a": 2}), 1)
    for arguments, kind, problem in (
        ((frame, {}, workload), SchemaError, "Expected a Schema, got dict"),
        ((frame, ROWS, []), WorkloadError, "Expected a Workload, got list"),
        ((frame, ROWS, other), WorkloadError, "different domains"),
        ((TABLE, ROWS, workload), SourceError, "Expected a DataFrame of Spark, got Table."),
    ):
        with pytest.raises(kind, match=problem):
            residuum.spark.count(*arguments)
    with pytest.raises(SourceError, match="Expected tasks to be a whole number above 0, got 0"):
        residuum.spark.count(frame, ROWS, workload, tasks=0)


@pytest.mark.usefixtures("spark")
def test_files_that_make_no_sense(tmp_path):
    workload = Workload.all_kway(ROWS.domain, 1)
    for name in ("none.csv", "none.parquet", "none.jsonl"):
        with pytest.raises(SourceError, match=r"^Spark cannot read '.*none"):
            residuum.spark.read_and_count(tmp_path / name, ROWS, workload)
    (tmp_path / "empty.csv").touch()
    with pytest.raises(SourceError, match=r"^The first line of '.*' is empty"):
        residuum.spark.read_and_count(tmp_path / "empty.csv", ROWS, workload)
    with pytest.raises(SourceError, match="Expected the form"):
        residuum.spark.read_and_count("x", ROWS, workload, form="xml")
    with pytest.raises(SourceError, match="Expected the path"):
        residuum.spark.read_and_count(3, ROWS, workload)
    with pytest.raises(SchemaError, match="Expected a Schema"):
        residuum.spark.read_and_count("x", None, workload)


@pytest.mark.skipif(not (sparks.SHARED / "adult-raw.csv").exists(), reason="no adult-raw.csv: set RESIDUUM_SHARED")
@pytest.mark.usefixtures("spark")
def test_adult():
    from residuum.data.draft import draft

    schema = Schema.parse(draft(sparks.SHARED / "adult-raw.csv"))
    workload = Workload.all_kway(schema.domain, 2)
    counts = residuum.spark.read_and_count(sparks.SHARED / "adult-raw.csv", schema, workload)
    same(counts, sparks.SHARED / "adult-raw.csv", schema, workload)
