"""Relations as tables of codes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residuum.core.domain import Domain
from residuum.data.encode import Field, codes
from residuum.data.schema import Person, Schema
from residuum.data.sources.engine import Engine, Relation, arrays
from residuum.data.table import MOST_ROWS, Table, too_many_rows
from residuum.errors import SourceError


def table_of(engine: Engine, relation: Relation, schema: Schema) -> Table:
    """The table in a relation."""
    fields = fields_of(relation, schema)
    return table_from(arrays(engine, relation, lambda sql: codes(schema, fields, sql)), schema.domain)


def table_from(found: dict[str, NDArray[Any]], domain: Domain) -> Table:
    """The table with these codes of each column, once none of them stands for an error. Takes them out of `found`."""
    rows = len(found["c0"])
    if rows > MOST_ROWS:
        raise too_many_rows()
    columns = np.empty((len(domain), rows), dtype=code_type(domain))
    for i, (name, size) in enumerate(zip(domain.names, domain.sizes, strict=True)):
        array = found.pop(f"c{i}")
        if array.max(initial=0) >= size:
            kind, key = ("missing", "missing") if (array == size).any() else ("outside its domain", "outside")
            raise SourceError(
                f"A value of column {name!r} is {kind}, and the schema says `{key}: error`. "
                "Repair the data, or let such values become a category."
            )
        columns[i] = array
    return Table(domain, columns)


def code_type(domain: Domain, errors: int = 0) -> type[np.unsignedinteger]:
    """The smallest type for the codes of all columns, and some more that stand for errors.

    >>> code_type(Domain({"age": 255, "sex": 2})), code_type(Domain({"age": 255, "sex": 2}), errors=2)
    (<class 'numpy.uint8'>, <class 'numpy.uint16'>)
    """
    largest = max(domain.sizes) + errors
    return np.uint8 if largest <= 2**8 else np.uint16 if largest <= 2**16 else np.uint32


def fields_of(relation: Relation, schema: Schema) -> Mapping[str, Field]:
    """The columns of a source that a schema needs."""
    at = places(relation.names, schema, relation.place, complete=relation.complete)
    return {name: Field(relation.columns[i], relation.types[i], schema.strip) for name, i in at.items()}


def places(given: Any, schema: Schema, place: str, *, complete: bool = True) -> dict[str, int]:
    """Where the columns that a schema needs are among the names of a source, which `place` names in messages.

    >>> places(["sex", "age"], Schema.parse("{columns: {age: {kind: boolean}}, leave_out: [sex]}"), "the frame")
    {'age': 1}
    """
    names = list(given)
    needed = [*schema.columns, *([schema.person.id] if isinstance(schema.person, Person) else [])]
    for name in needed:
        if name not in names:
            alike = [other for other in names if other.strip().casefold() == name.strip().casefold()]
            hint = f"Did you mean {alike[0]!r}?" if alike else "Look at its spelling, or take it out of the schema."
            raise SourceError(f"Column {name!r} of the schema is not in {place}. {hint}")
        if names.count(name) > 1:
            raise SourceError(f"Column {name!r} occurs twice in {place}. Rename one of the two.")
    for name in names if complete else ():
        if name not in needed and name not in schema.leave_out:
            raise SourceError(f"Column {name!r} of {place} is not in the schema. Put it in `columns` or `leave_out`.")
    return {name: names.index(name) for name in needed}
