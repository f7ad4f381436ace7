"""What is known of a run that has not come to its end."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from residuum.errors import ReleaseError
from residuum.mechanism.journal import Journal
from residuum.privacy.ledger import TOTAL


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A run that died, or was stopped. `answers` of the curator are kept, and a share of the budget is `charged`."""

    mechanism: str
    terms: dict[str, Any]
    answers: int
    charged: float

    @classmethod
    def at(cls, path: str | PathLike[str]) -> "Unfinished":
        """The run in a folder, which no process is at work on.

        >>> Unfinished.at("nowhere")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        residuum.errors.ReleaseError: There is no run to resume in '...nowhere'.
        """
        journal, start = Journal.open(Path(path))
        try:
            return cls(start["mechanism"], dict(start["terms"]), journal.answers, journal.reserved / TOTAL)
        except (KeyError, TypeError, ValueError):
            raise ReleaseError(f"The run in {str(path)!r} was started by another version of the program.") from None
        finally:
            journal.close()
