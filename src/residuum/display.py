"""A bar on a terminal, for work that takes long."""

import sys
import time
from typing import Any

from residuum.errors import ResiduumError


class Bar:
    """Shows which share of something is done, ten times a second at most. Nothing happens where it is not shown.

    `shown=None` shows it where standard error is a terminal, True always, False never.

    >>> with Bar("Fitting", shown=False) as bar:
    ...     bar.tell(0.5, "of the fits")
    """

    def __init__(self, title: str, shown: bool | None) -> None:
        if not (shown is None or isinstance(shown, bool)):
            raise ResiduumError(f"Expected `progress` to be True, False, None or a function, got {shown!r}.")
        self._bars: Any = None
        self._next, self._of = 0.0, ""
        if shown or (shown is None and sys.stderr.isatty()):
            self._bars = _bars(title)

    def __enter__(self) -> "Bar":
        if self._bars is not None:
            self._bars.start()
            self._task = self._bars.add_task("", total=1.0, of="", details="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def tell(self, share: float, of: str, details: str = "") -> None:
        """Show a share of something; of something else than before, the time it takes counts anew. From any thread."""
        now = time.monotonic()
        if self._bars is None or (now < self._next and of == self._of):
            return
        if of != self._of:
            self._bars.reset(self._task)
        self._next, self._of = now + 0.1, of
        self._bars.update(self._task, completed=share, of=of, details=details)


def _bars(title: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn(title),
        BarColumn(),
        TaskProgressColumn("{task.percentage:>3.0f}% {task.fields[of]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[details]}"),
        console=Console(stderr=True),
        transient=True,
    )
