"""Counts made on a Spark cluster, where one machine would take too long.

Each task codes and counts its rows with the kernels used everywhere, a portion of the marginals at a time, and sends
the counts as blocks of cells; Spark adds up the blocks that are of the same cells; the driver puts them side by side.
So no executor holds more than a portion of the marginals, and nothing is counted twice: a task that is run again takes
the place of the one that was lost.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from residuum.core.layout import Layout
from residuum.core.workload import Workload
from residuum.data.counts import Counts
from residuum.data.memory import cells_of, check_memory
from residuum.data.origin import Origin
from residuum.data.schema import Schema
from residuum.data.sources.coded import places
from residuum.data.spark import tasks as work
from residuum.data.spark.blocks import BLOCK, SENT, block_of, is_error
from residuum.data.table import too_many_rows
from residuum.errors import ResiduumError, SchemaError, SourceError, WorkloadError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame  # pyright: ignore[reportMissingImports]

_SENT_AT_MOST = 1 << 32
"""How many cells the tasks may send in all, where fewer tasks would still use every core."""

_MOST_TASKS = 1000

_ADDED = 1 << 22
"""How many cells are added up in one task, and how many the driver fetches at a time."""


def count(dataframe: "DataFrame", schema: Schema, workload: Workload, *, tasks: int | None = None) -> Counts:
    """The counts of a Spark DataFrame, made where its rows are; `aim` and `residual_planner` take them for a table.

    They are those of `residuum.read` on the same rows. `tasks` is how many parts the rows are counted in at most: more
    of them take less memory each, and send more. The DataFrame must have the same rows whenever Spark computes it
    anew: no sample without a seed, and no time of day. The executors need residuum too.
    """
    if not isinstance(schema, Schema):
        raise SchemaError(f"Expected a Schema, got {type(schema).__name__}. Read one with Schema.load(path).")
    if not isinstance(workload, Workload):
        raise WorkloadError(f"Expected a Workload, got {type(workload).__name__}.")
    if schema.domain != workload.domain:
        raise WorkloadError("The schema and the workload have different domains. Build the workload on schema.domain.")
    if not hasattr(dataframe, "mapInArrow"):
        raise SourceError(f"Expected a DataFrame of Spark, got {type(dataframe).__name__}.")
    if tasks is not None and (isinstance(tasks, bool) or not isinstance(tasks, int) or tasks < 1):
        raise SourceError(f"Expected tasks to be a whole number above 0, got {tasks!r}.")
    check_memory(workload, 4 * cells_of(workload))
    layout = Layout(workload)
    with told_in_one_line():
        at = places(dataframe.columns, schema, "the DataFrame")
        frame = dataframe.toDF(*(f"f{i}" for i in range(len(dataframe.columns))))
        frame = frame.select(*(f"f{i}" for i in at.values()))
        counts = _assembled(_summed(frame, work.Plan.of(schema, layout), layout.cells, tasks), layout)
    counts.origin = Origin(schema.to_dict())
    return counts


@contextmanager
def told_in_one_line(path: str | None = None) -> Iterator[None]:
    """Say in one line that Spark failed. Its own words can quote rows, so they are not passed on."""
    try:
        yield
    except ResiduumError:
        raise
    except Exception as error:
        if "No module named 'residuum" in str(error):
            problem = "residuum is not installed on Spark's executors. Install it there, or ship it with the job."
        elif path is not None:
            problem = f"Spark cannot read {path!r}. Is it there, for all machines of the cluster, and what it is named?"
        else:
            problem = "The Spark job failed. Its logs say why, and may show rows of the data."
        raise SourceError(problem) from None


def _summed(frame: "DataFrame", plan: work.Plan, cells: int, tasks: int | None) -> "DataFrame":
    """The counts of all rows, in blocks.

    The first shuffle brings together blocks of the same cells. The second changes nothing: without it the driver, which
    fetches one part after another, would have them added up one after another.
    """
    cores = _cores(frame)
    many = tasks or max(2 * cores, min(_MOST_TASKS, _SENT_AT_MOST // cells))
    if plan.by_rows:
        sent = frame.coalesce(many).mapInArrow(partial(work.count_rows, plan), SENT)
    else:
        people = frame.mapInArrow(partial(work.identify, plan), work.PEOPLE)
        usual = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or cores)
        together = people.repartition(tasks or max(cores, min(many, usual)), "person")
        sent = together.mapInArrow(partial(work.count_people, plan), SENT)
    adders = min(max(cores, cells // _ADDED), cells // BLOCK) + 1
    return sent.repartition(adders, "start").mapInArrow(work.add_up, SENT).repartition(cells // _ADDED + 1, "start")


def _assembled(summed: "DataFrame", layout: Layout) -> Counts:
    cells = np.zeros(layout.cells, dtype=np.int32)
    errors = []
    for start, width, counts in summed.toLocalIterator(prefetchPartitions=True):
        if is_error(start):
            errors.append(bytes(counts).decode())
        elif width > cells.itemsize:
            raise too_many_rows()
        else:
            block = block_of(width, counts)
            cells[start : start + block.size] = block
    if errors:
        raise SourceError(min(errors))
    return Counts.from_maximal(layout, cells)


def _cores(frame: "DataFrame") -> int:
    """How many tasks run at a time; a guess where Spark does not tell, as over Spark Connect."""
    try:
        return frame.sparkSession.sparkContext.defaultParallelism
    except Exception:
        return 64
