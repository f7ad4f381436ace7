"""Work shared between the cores: plain threads around kernels that let go of the interpreter lock.

No parallel runtime is involved, so kernels may be called from any thread of the caller's, and after a fork.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from residuum.errors import ResiduumError

Piece = TypeVar("Piece")
Result = TypeVar("Result")

WORTHWHILE = 1 << 19
"""Arrays with fewer cells than this are done before a second thread has woken up."""


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

    job = _Job(work)
    try:
        for _ in range(min(count(), len(pieces)) - 1):
            _hand_out(job)
        work()
    except BaseException:
        for _ in turns:  # leave nothing for the others to take
            pass
        raise
    finally:
        job.close()
    return results


def split(start: int, stop: int, parts: int) -> list[tuple[int, int]]:
    """Cut a range into at most `parts` pieces of nearly equal length.

    >>> split(1, 8, 2)
    [(1, 4), (4, 8)]
    """
    parts = max(1, min(parts, stop - start))
    cuts = [start + (stop - start) * part // parts for part in range(parts + 1)]
    return list(pairwise(cuts))


_limiting = Lock()
_limited = 0
_unlimited: Any = None
"""What knows the limits from before the first of those who asked for one."""


@contextmanager
def one_for_blas() -> Iterator[None]:
    """Matrix products take one thread each, for work that has threads of its own: twice as many would wait in turns.

    The limit is one of the process, where several threads may ask for it. Whoever leaves lifts it, because the last one
    may be a thread that BLAS does not listen to; the others then are slower.

    >>> with one_for_blas():
    ...     pass
    """
    global _limited, _unlimited
    from threadpoolctl import threadpool_limits

    with _limiting:
        limit = threadpool_limits(limits=1, user_api="blas")
        _unlimited = _unlimited if _limited else limit
        _limited += 1
    try:
        yield
    finally:
        with _limiting:
            _limited -= 1
            _unlimited.restore_original_limits()


class _Job:
    """Work that other threads may join while it is open. Who asked for it waits for those who joined, no others."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._lock = Lock()
        self._open = True
        self._joined = 0
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def join(self) -> None:
        with self._lock:
            if not self._open:
                return
            self._joined += 1
        try:
            self._work()
        except BaseException as error:
            self._ended.put(error)
        else:
            self._ended.put(None)

    def close(self) -> None:
        with self._lock:
            self._open = False
        errors = [self._ended.get() for _ in range(self._joined)]
        del self._work  # who takes this job from the queue too late must not keep its arrays alive
        for error in errors:
            if error is not None:
                raise error


_jobs: SimpleQueue[_Job] = SimpleQueue()
_started = 0


def _hand_out(job: _Job) -> None:
    """Offer a job to a thread of the pool, which grows to one less than the number of threads in use."""
    global _started
    if _started < count() - 1:
        _started += 1
        Thread(target=_serve, args=(_jobs,), name=f"residuum-{_started}", daemon=True).start()
    _jobs.put(job)


def _serve(jobs: SimpleQueue[_Job]) -> None:
    while True:
        jobs.get().join()


def _forget() -> None:
    """A child process inherits the queue and the lock but none of the threads."""
    global _jobs, _started, _limiting
    _jobs, _started, _limiting = SimpleQueue(), 0, Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
