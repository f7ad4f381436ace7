"""Work shared between the cores: plain threads around kernels that let go of the interpreter lock.

No parallel runtime is involved, so kernels may be called from any thread of the caller's, and after a fork.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")

WORTHWHILE = 1 << 19
"""Arrays with fewer cells than this are done before a second thread has woken up."""

_pool: ThreadPoolExecutor | None = None


def count() -> int:
    """How many threads kernels use: `RESIDUUM_THREADS` where set, else every core this process may run on."""
    asked = os.environ.get("RESIDUUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(task: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
    """`[task(piece) for piece in pieces]`, on all threads; the calling thread takes the last piece itself.

    >>> run(abs, [-1, -2])
    [1, 2]
    """
    if count() == 1:
        return [task(piece) for piece in pieces]
    *handed_on, kept = pieces
    futures = [_workers().submit(task, piece) for piece in handed_on]
    last = task(kept)
    return [*(future.result() for future in futures), last]


def split(start: int, stop: int, parts: int) -> list[tuple[int, int]]:
    """Cut a range into at most `parts` pieces of nearly equal length.

    >>> split(1, 8, 2)
    [(1, 4), (4, 8)]
    """
    parts = max(1, min(parts, stop - start))
    cuts = [start + (stop - start) * part // parts for part in range(parts + 1)]
    return list(pairwise(cuts))


def _workers() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max(1, count() - 1), thread_name_prefix="residuum")
    return _pool


def _forget() -> None:
    """A child process inherits the pool but none of its threads."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
