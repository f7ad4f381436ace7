"""What tasks of Spark do, without Spark around them."""

import numpy as np
import pytest

from residuum import SourceError, Workload
from residuum.core.layout import Layout
from residuum.data.counts import Counts
from residuum.data.spark import blocks, tasks, told_in_one_line
from tests.data.sparks import PEOPLE, ROWS, people, same

TABLE = people(3000)


@pytest.mark.parametrize(("portion", "portions"), [(1, 4), (70, 2), (1 << 24, 1)])
@pytest.mark.parametrize("schema", [ROWS, PEOPLE])
def test_portions_and_parts_change_nothing(monkeypatch, portion, portions, schema):
    monkeypatch.setenv("RESIDUUM_THREADS", "1")
    monkeypatch.setattr(tasks, "_PORTION", portion)
    monkeypatch.setattr(tasks, "_PART", 2000)
    monkeypatch.setattr(tasks, "BLOCK", 700)
    monkeypatch.setattr(blocks, "BLOCK", 50)
    workload = Workload(schema.domain, [("age", "day", "flag"), ("sex", "score"), ("sex", "flag"), ("age", "sex")])
    layout = Layout(workload)
    plan = tasks.Plan.of(schema, layout)
    assert len(plan.portions) == portions
    names = [*schema.columns, *([] if schema is ROWS else ["who"])]
    batches = TABLE.select(names).to_batches(max_chunksize=300)
    if schema is ROWS:
        sent = [batch for half in (batches[:4], batches[4:]) for batch in tasks.count_rows(plan, iter(half))]
    else:
        sent = tasks.count_people(plan, tasks.identify(plan, iter(batches)))
    cells = np.zeros(layout.cells, dtype=np.int32)
    for start, width, counts in blocks.received(tasks.add_up(iter(sent))):
        block = blocks.block_of(width, counts)
        cells[start : start + block.size] = block
    same(Counts.from_maximal(layout, cells), TABLE, schema, workload)


@pytest.mark.parametrize("largest", [1, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**40])
def test_blocks_of_every_width(largest):
    ((start, width, counts),) = blocks.blocks_of(3, np.array([0, largest]))
    assert start == 3
    assert width == next(w for w in (1, 2, 4, 8) if largest < 2 ** (8 * w - (w > 2)))
    assert blocks.block_of(width, counts).tolist() == [0, largest]


def test_what_failed_is_told_in_one_line():
    with pytest.raises(SourceError, match="not installed on Spark's executors"), told_in_one_line():
        raise RuntimeError("ModuleNotFoundError: No module named 'residuum'")
    with pytest.raises(SourceError, match=r"^The Spark job failed\.") as caught, told_in_one_line():
        raise RuntimeError("a row of somebody's")
    assert "somebody" not in str(caught.value)
