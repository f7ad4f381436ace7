"""What a task of Spark does with its rows: code them, keep those that count, count them."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from residuum.core.domain import Clique
from residuum.core.layout import Layout
from residuum.core.workload import Workload
from residuum.data.schema import Person, Schema
from residuum.data.sources import parts
from residuum.data.spark.blocks import Sent, added, blocks_of, received, sent
from residuum.data.sweep import BLOCK, Sweep, blocks
from residuum.data.table import MOST_ROWS, Table, too_many_rows
from residuum.errors import ResiduumError, SourceError

Batches = Iterator[pa.RecordBatch]
Portion = tuple[tuple[Clique, int], ...]
"""Some marginals, and where each starts among all of them."""

PEOPLE = "person string, codes binary"
"""The columns of coded rows, in Spark's words. The text of an error is nobody's row."""

_PART = 1 << 23
"""How many cells of the source are coded at a time."""

_PORTION = 1 << 24
"""How many cells of marginals are counted at a time; only one that has more by itself takes more."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a task needs to know: the schema, and the marginals to count, in portions.

    >>> schema = Schema.parse("columns: {age: {kind: integer, min: 0, max: 3}, sex: {kind: boolean}}")
    >>> Plan.of(schema, Layout(Workload.all_kway(schema.domain, 1))).portions
    ((((0,), 1), ((1,), 6)),)
    """

    schema: dict[str, Any]
    portions: tuple[Portion, ...]

    @classmethod
    def of(cls, schema: Schema, layout: Layout) -> "Plan":
        """The plan to count the marginals that no other of a layout contains."""
        portions: list[list[tuple[Clique, int]]] = []
        room = 0
        for gamma in layout.maximal:
            place = layout.place(gamma)
            size = place.stop - place.start
            if not portions or size > room:
                portions.append([])
                room = max(size, _PORTION)
            portions[-1].append((gamma, place.start))
            room -= size
        return cls(schema.to_dict(), tuple(map(tuple, portions)))

    @property
    def by_rows(self) -> bool:
        """Whether each row is another person."""
        return self.schema["person"] == "row"


def count_rows(plan: Plan, batches: Batches) -> Batches:
    """The counts of rows that are each another person."""
    _share_cores()
    schema = Schema.from_dict(plan.schema)
    return sent(_count(plan, schema, parts.tables(gathered(batches, schema), schema)))


def identify(plan: Plan, batches: Batches) -> Batches:
    """The codes of rows, with whose they are."""
    _share_cores()
    schema = Schema.from_dict(plan.schema)
    try:
        yield from parts.identified(gathered(batches, schema), schema)
    except ResiduumError as error:
        text = pa.array([str(error).encode()], pa.binary())
        yield pa.RecordBatch.from_arrays([pa.array([None], pa.string()), text], names=["person", "codes"])


def count_people(plan: Plan, batches: Batches) -> Batches:
    """The counts of coded rows, of which these are all that some people have."""
    _share_cores()
    schema = Schema.from_dict(plan.schema)
    return sent(_count(plan, schema, parts.of_people(_somebodys(batches), schema)))


def add_up(batches: Batches) -> Batches:
    """The sums of counts of the same cells."""
    return sent(added(received(batches)))


def _share_cores() -> None:
    """Use the cores of this task; others run beside it."""
    if "RESIDUUM_THREADS" not in os.environ:
        from pyspark import TaskContext  # pyright: ignore[reportMissingImports]

        task = TaskContext.get()
        os.environ["RESIDUUM_THREADS"] = str(task.cpus() if task else 1)


def gathered(batches: Batches, schema: Schema) -> Iterator[pa.Table]:
    """Rows as Spark hands them over, put together so that coding them is worth its while, with their columns' names."""
    names = [*schema.columns, *([schema.person.id] if isinstance(schema.person, Person) else [])]
    waiting: list[pa.RecordBatch] = []
    cells = 0
    for batch in batches:
        waiting.append(batch)
        cells += batch.num_rows * batch.num_columns
        if cells >= _PART:
            yield pa.Table.from_batches(waiting).rename_columns(names)
            waiting, cells = [], 0
    if cells:
        yield pa.Table.from_batches(waiting).rename_columns(names)


def _somebodys(batches: Batches) -> Batches:
    for batch in batches:
        if batch["person"].null_count:
            texts = batch.filter(batch["person"].is_null())["codes"].to_pylist()
            raise SourceError(min(texts).decode())
        yield batch


def _count(plan: Plan, schema: Schema, tables: Iterable[Table]) -> Iterator[Sent]:
    """Count the marginals of one portion after another. The rows are kept only where there is another portion."""
    rows: Iterable[NDArray[np.unsignedinteger]] = _in_blocks(tables)
    if len(plan.portions) > 1:
        rows = list(rows)
    for portion in plan.portions:
        layout = Layout(Workload(schema.domain, [gamma for gamma, _ in portion]))
        sweep = Sweep(layout)
        for block in rows:
            sweep.add(block)
        cells = sweep.finish()
        for start, run in _runs(portion, schema):
            yield from blocks_of(start, np.concatenate([cells[layout.place(gamma)] for gamma in run]))


def _in_blocks(tables: Iterable[Table]) -> Iterator[NDArray[np.unsignedinteger]]:
    """The rows of tables in blocks of the size that is worth counting."""
    waiting: list[NDArray[np.unsignedinteger]] = []
    rows = total = 0
    for block in chain.from_iterable(map(blocks, tables)):
        waiting.append(block)
        rows += block.shape[1]
        total += block.shape[1]
        if total > MOST_ROWS:
            raise too_many_rows()
        if rows >= BLOCK:
            yield np.concatenate(waiting, axis=1)
            waiting, rows = [], 0
    if rows:
        yield np.concatenate(waiting, axis=1)


def _runs(portion: Portion, schema: Schema) -> Iterator[tuple[int, list[Clique]]]:
    """The marginals that lie side by side, with where the first starts."""
    run: list[Clique] = []
    first = end = 0
    for gamma, start in portion:
        if run and start != end:
            yield first, run
            run = []
        if not run:
            first = start
        run.append(gamma)
        end = start + schema.domain.size(gamma)
    yield first, run
