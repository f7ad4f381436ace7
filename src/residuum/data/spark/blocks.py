"""Counts on their way between tasks: blocks of cells, each in as few bytes as hold it, with where it starts."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from residuum.errors import ResiduumError

Sent = tuple[int, int, bytes]
"""Where the block starts, how many bytes a cell has, and the bytes."""

BLOCK = 1 << 12
"""How many cells travel together. Spark hands over up to ten thousand blocks at once, so they are small."""

SENT = "start long, width int, counts binary"
"""The columns of a block, in Spark's words."""

_ARROW = pa.schema([("start", pa.int64()), ("width", pa.int32()), ("counts", pa.binary())])
_TOGETHER = 256
_ERROR = -1
"""Where an error starts: its text travels in place of counts, so that it is not tried again and not logged."""


def blocks_of(start: int, counts: NDArray[np.integer]) -> Iterator[Sent]:
    """The blocks of counts that begin at a place; those with zeros alone are left out.

    >>> list(blocks_of(7, np.array([0, 300])))
    [(7, 2, b'\\x00\\x00,\\x01')]
    """
    for first in range(0, counts.size, BLOCK):
        block = counts[first : first + BLOCK]
        if largest := int(block.max()):
            width = next(width for width in (1, 2, 4, 8) if largest < 1 << (8 * width - (width > 2)))
            yield start + first, width, block.astype(f"<u{width}").tobytes()


def block_of(width: int, counts: Any) -> NDArray[np.unsignedinteger]:
    """The cells of a block.

    >>> block_of(2, b"\\x00\\x00,\\x01").tolist()
    [0, 300]
    """
    return np.frombuffer(counts, dtype=f"<u{width}")


def is_error(start: int) -> bool:
    """Whether what came is the text of an error."""
    return start == _ERROR


def sent(blocks: Iterable[Sent]) -> Iterator[pa.RecordBatch]:
    """Blocks for Spark to take on; an error of residuum's own goes the same way.

    >>> [batch.num_rows for batch in sent(blocks_of(0, np.ones(3 * BLOCK)))]
    [3]
    """
    waiting = iter(blocks)
    try:
        while together := list(islice(waiting, _TOGETHER)):
            yield _batch(together)
    except ResiduumError as error:
        yield _batch([(_ERROR, 0, str(error).encode())])


def received(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, int, Any]]:
    """The blocks that Spark hands over.

    >>> [start for start, width, counts in received(sent(blocks_of(5, np.ones(3))))]
    [5]
    """
    for batch in batches:
        starts, widths = batch["start"].to_pylist(), batch["width"].to_pylist()
        yield from zip(starts, widths, (counts.as_buffer() for counts in batch["counts"]), strict=True)


def added(blocks: Iterable[tuple[int, int, Any]]) -> Iterator[Sent]:
    """The sums of blocks that start at the same place; of errors, one.

    >>> next(added([(0, 1, b"\\x01"), (0, 1, b"\\xff")]))
    (0, 2, b'\\x00\\x01')
    """
    sums: dict[int, NDArray[np.int64]] = {}
    errors: list[bytes] = []
    for start, width, counts in blocks:
        if is_error(start):
            errors.append(bytes(counts))
        elif start in sums:
            sums[start] += block_of(width, counts)
        else:
            sums[start] = block_of(width, counts).astype(np.int64)
    for start, block in sums.items():
        yield from blocks_of(start, block)
    if errors:
        yield _ERROR, 0, min(errors)


def _batch(blocks: list[Sent]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(column) for column in zip(*blocks, strict=True)], schema=_ARROW)
