"""Work shared between the cores: plain threads around kernels that let go of the interpreter lock.

No parallel runtime is involved, so kernels may be called from any thread of the caller's, and after a fork.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

from residuum.errors import ResiduumError

Piece = TypeVar("Piece")
Result = TypeVar("Result")

WORTHWHILE = 1 << 19
"""Arrays with fewer cells than this are done before a second thread has woken up."""

_pool: ThreadPoolExecutor | None = None


def count() -> int:
    """How many threads kernels use: `RESIDUUM_THREADS` where set, else every core this process may run on."""
    asked = os.environ.get("RESIDUUM_THREADS", "")
    if asked:
        if not (asked.isascii() and asked.isdigit() and int(asked) > 0):
            raise ResiduumError(f"Expected RESIDUUM_THREADS to be a whole number above 0, got {asked!r}.")
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(task: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
    """`[task(piece) for piece in pieces]`, on all threads: each takes the next piece when it is done with one.

    >>> run(abs, [-1, -2])
    [1, 2]
    """
    results: list[Any] = [None] * len(pieces)
    turns = iter(range(len(pieces)))

    def work() -> None:
        for turn in turns:
            results[turn] = task(pieces[turn])

    helpers = [_workers().submit(work) for _ in range(min(count(), len(pieces)) - 1)]
    try:
        work()
    except BaseException:
        for _ in turns:  # leave nothing for the others to take
            pass
        raise
    for helper in helpers:
        if not helper.cancel():  # one that has not started by now has nothing left to do
            helper.result()
    return results


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
