"""Tables read from files, databases and frames. The engines are imported in this room and nowhere else."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residuum.data.encode import Field, codes
from residuum.data.origin import Origin
from residuum.data.schema import Csv, Person, Schema
from residuum.data.sources import databases, files, frames
from residuum.data.sources.engine import Engine, Relation, arrays, started
from residuum.data.table import Table
from residuum.errors import DomainError, SchemaError, SourceError


def read(source: Any, schema: Schema, *, query: str | None = None) -> Table:
    """The table in a source, as codes.

    A source is the path of a CSV, Parquet or JSON lines file; the path of a DuckDB or SQLite database, with a `query`;
    or a frame of pandas, Polars, PyArrow or another library that narwhals knows. Files may be larger than memory.

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
        domain, columns = schema.domain, _read(engine, relation, schema)
    path = str(Path(source).absolute()) if isinstance(source, str | PathLike) else None
    return Table(domain, columns, Origin(schema.to_dict(), path, query))


def check(source: Any, schema: Schema, *, query: str | None = None) -> None:
    """Make sure that a source has the columns of a schema, and no others that the schema does not leave out.

    >>> check("nowhere.csv", Schema.parse("columns: {sex: {kind: boolean}}"))
    Traceback (most recent call last):
    ...
    residuum.errors.SourceError: No file at 'nowhere.csv'.
    """
    with opened(source, schema.csv, query) as (_, relation):
        _fields(relation, schema)


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


def _read(engine: Engine, relation: Relation, schema: Schema) -> NDArray[np.unsignedinteger]:
    """The codes, of shape (attributes, rows)."""
    fields = _fields(relation, schema)
    found = arrays(engine, relation, lambda sql: codes(schema, fields, sql))
    domain, rows = schema.domain, len(found["c0"])
    if rows >= 2**31:
        raise DomainError("A table may have up to 2,147,483,647 rows. Release parts of it, or sample it first.")
    largest = max(domain.sizes)
    dtype = np.uint8 if largest <= 2**8 else np.uint16 if largest <= 2**16 else np.uint32
    columns = np.empty((len(domain), rows), dtype=dtype)
    for i, (name, size) in enumerate(zip(domain.names, domain.sizes, strict=True)):
        array = found.pop(f"c{i}")
        if array.max(initial=0) >= size:
            kind, key = ("missing", "missing") if (array == size).any() else ("outside its domain", "outside")
            raise SourceError(
                f"A value of column {name!r} is {kind}, and the schema says `{key}: error`. "
                "Repair the data, or let such values become a category."
            )
        columns[i] = array
    return columns


def _fields(relation: Relation, schema: Schema) -> dict[str, Field]:
    """The columns of a source that a schema needs."""
    names, place = list(relation.names), relation.place
    needed = [*schema.columns, *([schema.person.id] if isinstance(schema.person, Person) else [])]
    for name in needed:
        if name not in names:
            alike = [other for other in names if other.strip().casefold() == name.strip().casefold()]
            hint = f"Did you mean {alike[0]!r}?" if alike else "Look at its spelling, or take it out of the schema."
            raise SourceError(f"Column {name!r} of the schema is not in {place}. {hint}")
        if names.count(name) > 1:
            raise SourceError(f"Column {name!r} occurs twice in {place}. Rename one of the two.")
    for name in names if relation.complete else ():
        if name not in needed and name not in schema.leave_out:
            raise SourceError(f"Column {name!r} of {place} is not in the schema. Put it in `columns` or `leave_out`.")
    at = {name: names.index(name) for name in needed}
    return {name: Field(relation.columns[i], relation.types[i], schema.strip) for name, i in at.items()}
