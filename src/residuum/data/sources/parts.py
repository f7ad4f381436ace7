"""A source that comes in parts, as frames: coded a part at a time, and the rows of a person kept once all are there.

Each part goes the way of a frame that `read` is given, so that a cell has the same code here and there.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from residuum.data.encode import kept, rows
from residuum.data.schema import Schema
from residuum.data.sources import frames
from residuum.data.sources.coded import code_type, fields_of, table_from
from residuum.data.sources.engine import Engine, Relation, arrays, started
from residuum.data.table import Table
from residuum.kernels import threads

_AGAIN = 4
"""Texts that occur so often on average are coded once each."""


def tables(parts: Iterable[Any], schema: Schema) -> Iterator[Table]:
    """The tables of parts in which each row is another person.

    >>> schema = Schema.parse("columns: {age: {kind: integer, min: 0, max: 3}}")
    >>> [table.columns.tolist() for table in tables([pa.table({"age": [2, 9]}), pa.table({"age": ["x"]})], schema)]
    [[[2, 3]], [[4]]]
    """
    with started(threads.count()) as engine:
        for part in parts:
            yield table_from(_codes(engine, part, schema), schema.domain)


def identified(parts: Iterable[Any], schema: Schema) -> Iterator[pa.RecordBatch]:
    """For each part, whose its rows are and their codes: a text and so many bytes each.

    >>> schema = Schema.parse("{person: {id: who, rows: 1}, columns: {age: {kind: integer, min: 0, max: 3}}}")
    >>> [part.to_pylist() for part in identified([pa.table({"age": [2, 9], "who": [7.0, None]})], schema)]
    [[{'person': '7', 'codes': b'\\x02'}]]
    """
    with started(threads.count()) as engine:
        for part in parts:
            relation = frames.relation(engine, part)
            fields = fields_of(relation, schema)
            found = arrays(engine, relation, lambda sql, fields=fields: rows(schema, fields, sql))
            columns = [found[f"c{i}"] for i in range(len(schema.columns))]
            packed = _pack(np.column_stack(columns).astype(code_type(schema.domain, errors=2)))
            people = pa.array(found["person"].tolist(), pa.string())
            yield pa.RecordBatch.from_arrays([people, packed], names=["person", "codes"])


def of_people(parts: Iterable[pa.RecordBatch], schema: Schema) -> Iterator[Table]:
    """The table of what `identified` made, with at most k rows of each person; all rows of a person must be in it.

    >>> schema = Schema.parse("{person: {id: who, rows: 1}, columns: {age: {kind: integer, min: 0, max: 3}}}")
    >>> parts = identified([pa.table({"age": [2, 1], "who": [7.0, 8]}), pa.table({"age": [2], "who": ["7"]})], schema)
    >>> [sorted(table.columns[0].tolist()) for table in of_people(parts, schema)]
    [[1, 2]]
    """
    found = list(parts)
    if not found:
        return
    width = len(schema.columns)
    codes = np.concatenate([_unpack(part["codes"], code_type(schema.domain, errors=2), width) for part in found])
    people = pa.chunked_array([part["person"].cast(pa.string()) for part in found])
    frame = pa.table({"person": people} | {f"c{i}": np.ascontiguousarray(codes[:, i]) for i in range(width)})
    del found, codes
    with started(threads.count()) as engine:
        engine.register("people", frame)
        relation = Relation("people", [], [], [], "the frame", lambda: "The codes of a part cannot be read.")
        yield table_from(arrays(engine, relation, lambda sql: kept(schema, sql)), schema.domain)


def _codes(engine: Engine, part: pa.Table, schema: Schema) -> dict[str, NDArray[Any]]:
    """The codes of each column. Of texts that occur again and again each is coded once: a code is its cell's alone."""
    texts: dict[str, pa.DictionaryArray] = {}
    for name in schema.columns:
        if pa.types.is_string(part[name].type) or pa.types.is_large_string(part[name].type):
            cells = part[name].combine_chunks().dictionary_encode()
            if len(cells.dictionary) * _AGAIN < len(cells):
                texts[name] = cells
    codes = _columns(engine, part.select([name for name in schema.columns if name not in texts]), schema)
    if texts:
        last = max(len(cells.dictionary) for cells in texts.values())
        gaps = pa.nulls(last + 1, pa.string())
        listed = {name: pa.concat_arrays([cells.dictionary.cast(pa.string()), gaps]) for name, cells in texts.items()}
        once = _columns(engine, pa.table({name: values[: last + 1] for name, values in listed.items()}), schema)
        for name, cells in texts.items():
            codes[name] = once[name][cells.indices.fill_null(last).to_numpy()]
    return {f"c{i}": codes[name] for i, name in enumerate(schema.columns)}


def _columns(engine: Engine, part: pa.Table, schema: Schema) -> dict[str, NDArray[Any]]:
    """The codes of those columns that a part has, by name."""
    if not part.num_columns:
        return {}
    names = part.column_names
    some = schema.model_copy(update={"columns": {name: schema.columns[name] for name in names}})
    relation = frames.relation(engine, part)
    fields = fields_of(relation, some)
    found = arrays(engine, relation, lambda sql: rows(some, fields, sql))
    return {name: found[f"c{i}"] for i, name in enumerate(names)}


def _pack(codes: NDArray[np.unsignedinteger]) -> pa.BinaryArray:
    """The bytes of each row."""
    offsets = np.arange(len(codes) + 1, dtype=np.int32) * (codes.shape[1] * codes.itemsize)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(codes))]
    return pa.BinaryArray.from_buffers(pa.binary(), len(codes), buffers)


def _unpack(packed: Any, dtype: type[np.unsignedinteger], width: int) -> NDArray[np.unsignedinteger]:
    binary = packed.cast(pa.binary())
    if not len(binary):
        return np.empty((0, width), dtype)
    offsets = np.frombuffer(binary.buffers()[1], np.int32)[binary.offset : binary.offset + len(binary) + 1]
    return np.frombuffer(binary.buffers()[2], np.uint8)[offsets[0] : offsets[-1]].view(dtype).reshape(-1, width)
