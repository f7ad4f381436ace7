"""Tables read from files, databases and frames. The engines are imported in this room and nowhere else."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from residuum.data.origin import Origin
from residuum.data.schema import Csv, Schema
from residuum.data.sources import databases, files, frames
from residuum.data.sources.coded import fields_of, table_of
from residuum.data.sources.engine import Engine, Relation, started
from residuum.data.table import Table
from residuum.errors import SchemaError, SourceError


def read(source: Any, schema: Schema, *, query: str | None = None) -> Table:
    """The table in a source, as codes.

    A source is the path of a CSV, Parquet or JSON lines file; the path of a DuckDB or SQLite database, with a `query`;
    or a frame of pandas, Polars, PyArrow or another library that narwhals knows. A file may be larger than memory,
    but for SQLite; its codes, a byte or more a cell, have to fit.

    >>> import tempfile
    >>> schema = Schema.parse("columns: {age: {kind: integer, min: 0, max: 3}, sex: {kind: boolean}}")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("age, sex" + chr(10) + "2, yes" + chr(10) + "9, ?" + chr(10))
    ...     read(path, schema).columns.tolist()
    [[2, 3], [1, 2]]
    """
    if not isinstance(schema, Schema):
        raise SchemaError(f"Expected a Schema, got {type(schema).__name__}. Read one with Schema.load(path).")
    with opened(source, schema.csv, query) as (engine, relation):
        table = table_of(engine, relation, schema)
    path = str(Path(source).absolute()) if isinstance(source, str | PathLike) else None
    return replace(table, origin=Origin(schema.to_dict(), path, query))


def check(source: Any, schema: Schema, *, query: str | None = None) -> None:
    """Make sure that a source has the columns of a schema, and no others that the schema does not leave out.

    >>> check("nowhere.csv", Schema.parse("columns: {sex: {kind: boolean}}"))
    Traceback (most recent call last):
    ...
    residuum.errors.SourceError: No file at 'nowhere.csv'.
    """
    with opened(source, schema.csv, query) as (_, relation):
        fields_of(relation, schema)


@contextmanager
def opened(source: Any, dialect: Csv | None = None, query: str | None = None) -> Iterator[tuple[Engine, Relation]]:
    """An engine and a source as a relation in it; `dialect` tells how a CSV file is written."""
    with started() as engine:
        if isinstance(source, str | PathLike):
            path = files.found(Path(source))
            if databases.is_database(path):
                yield engine, databases.relation(engine, path, query)
                return
            source = path
        if query is not None:
            raise SourceError("A query is for a database. Give the path of one, or leave the query out.")
        if isinstance(source, Path):
            yield engine, files.relation(engine, source, dialect or Csv())
        else:
            yield engine, frames.relation(engine, source)
