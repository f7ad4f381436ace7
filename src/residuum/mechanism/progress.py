"""Tell a person at a terminal how far a long run is. Only public quantities are shown."""

from collections.abc import Callable
from dataclasses import dataclass

from residuum.display import Bar


@dataclass(frozen=True, slots=True)
class Report:
    """How far a run is: the share of the budget spent, rounds done, and what was measured last."""

    spent: float
    rounds: int
    measured: tuple[str, ...]


Listener = Callable[[Report], None]


class Progress:
    """Passes reports on: to the caller's function, or to a bar.

    `progress=None` shows a bar where standard error is a terminal, True always, False never; a function is called with
    each `Report`.
    """

    def __init__(self, progress: bool | Listener | None, title: str) -> None:
        self._listener = progress if callable(progress) else None
        self._bar = Bar(title, False if callable(progress) else progress)

    def __enter__(self) -> "Progress":
        self._bar.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.__exit__()

    def counting(self, share: float) -> None:
        """Show which share of the counting is done. May be called from any thread."""
        self._bar.tell(share, "counted")

    def __call__(self, report: Report) -> None:
        """Pass a report on."""
        if self._listener is not None:
            self._listener(report)
        measured = " × ".join(report.measured)
        self._bar.tell(report.spent, "of the budget", f"{report.rounds} rounds  {measured}")
