"""What several commands share: options, files that are never overwritten, and what to say when a run is stopped."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from tempfile import mkstemp
from typing import Annotated, Any

import typer

from residuum.errors import ReleaseError, ResiduumError
from residuum.marginal import Estimate
from residuum.store.folder import JOURNAL, MANIFEST, reason

Epsilon = Annotated[float | None, typer.Option(help="The privacy budget per person, together with --delta.")]
Delta = Annotated[float | None, typer.Option(help="The chance beside epsilon; well below one in the number of people.")]
Rho = Annotated[float | None, typer.Option(help="The budget in zero-concentrated privacy, in place of both.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file if it is there.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.", show_default=False)]
EstimateOption = Annotated[
    Estimate,
    typer.Option(
        "--estimate",
        help="best: least error; latent: agrees across marginals, as synthetic rows do; nonnegative: the measurements "
        "without negative counts; mle: the measurements as they are, unbiased where all was measured.",
    ),
]
Integers = Annotated[bool, typer.Option("--integers", help="Whole counts from 0 that add up to the noisy total.")]


_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""What ends a run: Ctrl-C, and what is like it."""


def new_app(**settings: Any) -> typer.Typer:
    """An app for one command, or for a group of them, that looks like the others."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,
    )


@contextmanager
def written(path: Path, *, force: bool = False) -> Iterator[Path]:
    """A place to write a file in, which is at `path` once it is whole; one that is there is kept, unless by `force`."""
    refuse_existing(path, force=force)
    if path.is_dir():
        raise ReleaseError(f"Expected a file to write to, but {str(path)!r} is a folder.")
    try:
        handle, name = mkstemp(prefix=".unfinished-", dir=path.parent)
    except OSError as error:
        raise ReleaseError(f"Cannot write {str(path)!r}: {reason(error)}.") from None
    os.close(handle)
    place = Path(name)
    try:
        yield place
        if force:
            place.replace(path)
        else:
            os.link(place, path)
    except FileExistsError:
        raise _in_the_way(path) from None
    finally:
        place.unlink(missing_ok=True)


def refuse_existing(path: Path, *, force: bool = False) -> None:
    """Refuse to write over a file, before the work is done that would go into it."""
    if os.path.lexists(path) and not force:
        raise _in_the_way(path)


def _in_the_way(path: Path) -> ReleaseError:
    return ReleaseError(f"There is a file {str(path)!r} already. Name another, or overwrite it with --force.")


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """A run that keeps a journal in a folder: whoever stops it, or whatever makes it fail, how it can go on is said."""
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:
        stopped.append(number)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Stopped. {_left(folder)}") from None
    except Exception as error:
        if stopped:  # while a library was imported, say, which took the interrupt for a fault of its own
            raise KeyboardInterrupt(f"Stopped. {_left(folder)}") from None
        if not isinstance(error, ResiduumError | OSError | MemoryError):
            raise
        if not (folder / JOURNAL).exists() or (folder / MANIFEST).exists():
            raise
        reason = str(error) if isinstance(error, ResiduumError) else "The system refused: memory, or the disk."
        raise ReleaseError(f"{reason} {_left(folder)}") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _left(folder: Path) -> str:
    """What a run that did not come to its end has left behind."""
    if (folder / MANIFEST).exists():
        return f"The release in {str(folder)!r} is complete."
    if (folder / JOURNAL).exists():
        return f"What was measured is kept. Go on with: residuum resume {shown_path(folder)}"
    return "Nothing was released, and nothing was spent."


def shown_path(path: Path) -> str:
    """A path as one types it in a shell."""
    return quote(str(path))
