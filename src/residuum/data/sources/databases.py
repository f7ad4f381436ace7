"""DuckDB and SQLite databases as relations, by a query."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from residuum.data.encode import literal
from residuum.data.sources.engine import Engine, Relation, ask, describe
from residuum.errors import SourceError

_BATCH = 50_000
"""Rows of a SQLite database that are in Python's hands at a time."""


def is_database(path: Path) -> bool:
    """Whether a file is a database, by its first bytes."""
    with path.open("rb") as file:
        head = file.read(16)
    return head == b"SQLite format 3\0" or head[8:12] == b"DUCK"


def relation(engine: Engine, path: Path, query: str | None) -> Relation:
    """The relation of what a query selects from a database, which is opened for reading only."""
    if query is None or not query.strip():
        raise SourceError(f"{str(path)!r} is a database. Give a query too, such as `SELECT * FROM people`.")
    query = query.strip().rstrip(";")
    with path.open("rb") as file:
        sqlite = file.read(6) == b"SQLite"
    return _sqlite(engine, path, query) if sqlite else _duckdb(engine, path, query)


def _duckdb(engine: Engine, path: Path, query: str) -> Relation:
    locked = f"Cannot open the database {str(path)!r}. Another program may be writing to it."
    ask(engine, f"ATTACH {literal(str(path.absolute()))} AS source (READ_ONLY)", locked)
    ask(engine, "USE source", locked)
    problem = f"The query cannot be run on {str(path)!r}. Try it in another program, which may show rows."
    try:
        statements = duckdb.extract_statements(query)
    except duckdb.Error:
        statements = []
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise SourceError(f"Expected one SELECT statement as the query on {str(path)!r}.")
    names, types = describe(engine, f"(\n{query}\n)", problem)
    columns = [f"f{i}" for i in range(len(names))]
    sql = f"(\n{query}\n) AS source({', '.join(columns)})"
    return Relation(sql, names, columns, types, f"the query on {path.name!r}", lambda: problem)


def _sqlite(engine: Engine, path: Path, query: str) -> Relation:
    """The rows as texts, staged in the engine. A cell of SQLite has a type of its own, whatever its column says."""
    problem = f"The query cannot be run on {str(path)!r}. Expected one SELECT statement on tables that are there."
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as base:
            base.text_factory = lambda cell: cell.decode(errors="replace")
            found = base.execute(f"SELECT * FROM (\n{query}\n) LIMIT 0").description
            names = [str(column[0]) for column in found]
            columns = [f"f{i}" for i in range(len(names))]
            cells = ", ".join(f"CAST({column} AS TEXT)" for column in columns)
            listing = ", ".join(columns)
            ask(engine, f"CREATE TEMP TABLE staged ({', '.join(f'{c} VARCHAR' for c in columns)})", problem)
            rows = base.execute(f"WITH source({listing}) AS (\n{query}\n) SELECT {cells} FROM source")
            while batch := rows.fetchmany(_BATCH):
                _stage(engine, columns, batch, problem)
    except (sqlite3.Error, sqlite3.Warning):
        raise SourceError(problem) from None
    types = ["VARCHAR"] * len(names)
    return Relation("staged", names, columns, types, f"the query on {path.name!r}", lambda: problem)


def _stage(engine: Engine, columns: list[str], batch: list[Any], problem: str) -> None:
    arrays = {}
    for column, cells in zip(columns, zip(*batch, strict=True), strict=True):
        arrays[column] = np.empty(len(cells), dtype=object)
        arrays[column][:] = cells
    engine.register("batch", arrays)
    ask(engine, "INSERT INTO staged SELECT * FROM batch", problem)
    engine.unregister("batch")
