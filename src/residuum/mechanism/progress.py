"""Tell a person at a terminal how far a long run is. Only public quantities are shown."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from residuum.errors import ResiduumError


@dataclass(frozen=True, slots=True)
class Report:
    """How far a run is: the share of the budget spent, rounds done, and what was measured last."""

    spent: float
    rounds: int
    measured: tuple[str, ...]


Listener = Callable[[Report], None]


class Progress:
    """Passes reports on: each to the caller's function, ten a second to a display.

    `progress=None` shows a display where standard error is a terminal, True always, False never; a function is called
    with each `Report`.
    """

    def __init__(self, progress: bool | Listener | None, title: str) -> None:
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise ResiduumError(f"Expected `progress` to be True, False, None or a function, got {progress!r}.")
        self._listener = progress if callable(progress) else None
        self._display: Any = None
        self._next = 0.0
        self._counting = True
        if progress is True or (progress is None and sys.stderr.isatty()):
            self._display = _display(title)

    def __enter__(self) -> "Progress":
        if self._display is not None:
            self._display.start()
            self._task = self._display.add_task("", total=1.0, of="counted", rounds="", measured="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._display is not None:
            self._display.stop()

    def counting(self, share: float) -> None:
        """Show which share of the counting is done. May be called from any thread."""
        if self._display is not None and self._due():
            self._display.update(self._task, completed=share)

    def __call__(self, report: Report) -> None:
        """Pass a report on. From the first one on the display is about the budget, no longer about counting."""
        if self._listener is not None:
            self._listener(report)
        if self._display is None:
            return
        if self._counting:
            self._counting = False
            self._display.reset(self._task, of="of the budget", rounds="", measured="")
        if self._due():
            rounds, measured = f"{report.rounds} rounds", " × ".join(report.measured)
            self._display.update(self._task, completed=report.spent, rounds=rounds, measured=measured)

    def _due(self) -> bool:
        """Whether a tenth of a second has passed since this was last so."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + 0.1
        return True


def _display(title: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    return Bars(
        TextColumn(title),
        BarColumn(),
        TaskProgressColumn("{task.percentage:>3.0f}% {task.fields[of]}"),
        TextColumn("{task.fields[rounds]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[measured]}"),
        console=Console(stderr=True),
        transient=True,
    )
