"""Files that Spark reads: Parquet, CSV and JSON lines, on any file system that the cluster knows."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, get_args

from residuum.core.workload import Workload
from residuum.data.counts import Counts
from residuum.data.schema import Schema
from residuum.data.sources.coded import places
from residuum.data.sources.files import JSON_RECORDS, header
from residuum.data.spark import count, told_in_one_line
from residuum.errors import SchemaError, SourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession  # pyright: ignore[reportMissingImports]

Format = Literal["parquet", "csv", "json"]


def read_and_count(
    source: str | os.PathLike[str],
    schema: Schema,
    workload: Workload,
    master: str | None = None,
    *,
    form: Format | None = None,
    tasks: int | None = None,
) -> Counts:
    """The counts of files that a Spark cluster reads: Parquet, CSV or JSON lines, a file or a folder of them.

    `master` is the address of the cluster, such as `spark://host:7077` or `local[4]`; without one it is what Spark is
    configured with. A session that runs already is used as it is. What the files are is told by the ending of the
    source's name, or by `form`. `tasks` is that of `count`.
    """
    if not isinstance(schema, Schema):
        raise SchemaError(f"Expected a Schema, got {type(schema).__name__}. Read one with Schema.load(path).")
    if not isinstance(source, str | os.PathLike) or not os.fspath(source):
        raise SourceError(f"Expected the path or the address of files, got {source!r}.")
    path = os.fspath(source)
    form = form or _form(path)
    if form not in get_args(Format):
        raise SourceError(f"Expected the form 'parquet', 'csv' or 'json', got {form!r}.")
    with session(master) as spark:
        with told_in_one_line(path):
            frame = {"parquet": _parquet, "csv": _csv, "json": _json}[form](spark, path, schema)
        return count(frame, schema, workload, tasks=tasks)


@contextmanager
def session(master: str | None = None) -> Iterator["SparkSession"]:
    """The session that runs already, or one of its own, which says nothing of what it does and ends afterwards."""
    try:
        from pyspark.sql import SparkSession  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise SourceError("Counting on Spark needs PySpark. Install it: pip install 'residuum[spark]'.") from None
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    if (master or "").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        builder = SparkSession.builder.appName("residuum")
        spark = (builder.master(master) if master else builder).getOrCreate()
    except Exception:
        where = f" at {master!r}" if master else ""
        raise SourceError(f"Cannot start a Spark session{where}. Is the address right, and is Java there?") from None
    try:
        spark.sparkContext.setLogLevel("OFF")  # its warnings about a row would quote it
        yield spark
    finally:
        spark.stop()


def _form(path: str) -> Format:
    """What the files are, by the ending of their name; anything unknown is CSV."""
    name = path.lower().rstrip("/").removesuffix(".gz")
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    return "json" if name.endswith((".jsonl", ".ndjson", ".json")) else "csv"


def _parquet(spark: "SparkSession", path: str, _: Schema) -> "DataFrame":
    return spark.read.parquet(path)


def _csv(spark: "SparkSession", path: str, schema: Schema) -> "DataFrame":
    """All cells as texts. A row that is longer or shorter than the header stops the job."""
    first = spark.read.option("encoding", schema.csv.encoding).text(path).head()
    names, delimiter = header(first[0] if first else "", schema.csv, path)
    return (
        spark.read.options(
            sep=delimiter,
            quote=schema.csv.quote,
            escape=schema.csv.quote,
            encoding=schema.csv.encoding,
            header=True,
            multiLine=True,
            mode="FAILFAST",
        )
        .schema(", ".join(f"f{i} string" for i in range(len(names))))
        .csv(path)
        .toDF(*names)
    )


def _json(spark: "SparkSession", path: str, schema: Schema) -> "DataFrame":
    """The values of the keys that the schema needs, as texts. The keys of the first records tell which there are."""
    lines = spark.read.text(path).limit(JSON_RECORDS)
    keys = sorted(row[0] for row in lines.selectExpr("explode(json_object_keys(value))").distinct().collect())
    needed = places(keys, schema, repr(path), complete=False)
    columns = ", ".join(f"`{name.replace('`', '``')}` string" for name in needed)
    return spark.read.schema(columns).json(path, mode="FAILFAST")
