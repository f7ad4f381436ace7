"""The `residuum` command. Each command is a module of this room, imported when it is run, so that help comes at once.

Exit codes: 0 done, 2 wrong input or too little budget, 130 stopped by Ctrl-C or kill. Anything else is a bug.
"""

import os
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from residuum.errors import BudgetExceeded, ResiduumError

WRONG, STOPPED = 2, 130

COMMANDS = {
    "demo": "Release statistics of made-up people, or write them to a file to try the rest with.",
    "schema": "Draft a schema for a table.",
    "release": "Release differentially private marginals of a table.",
    "resume": "Go on with a release that was stopped or died.",
    "info": "Show what a release is, what it guarantees and how noisy it is.",
    "query": "Show a marginal of a release with its error bars, or write it to a file.",
    "explore": "Look through a release in a browser.",
    "report": "Write a report on a release: one web page.",
    "sample": "Write synthetic rows drawn from a release to a file.",
    "export": "Write the marginals of a release to files.",
    "ledger": "Keep the budget that all releases of a data set share.",
}
"""What there is, in the order of a first visit."""

_UsageError: Any = typer.BadParameter.__base__
"""Typer has it from one version of click or another."""


class Commands(TyperGroup):
    """All commands end alike: one line on standard error, and no traceback, where the user can tell what is wrong.

    Whoever stops a command is told what became of the release, where the command knows it: it then raises
    `KeyboardInterrupt("Stopped. ...")`.
    """

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (the signature is click's)
        """The names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """A command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        return typer.main.get_command(import_module(f"residuum.cli.{cmd_name}").app)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is meant, or an error with those that may be."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            alike = get_close_matches(args[0], COMMANDS)
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {alike[0]!r}?" if alike else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """The list in the help, without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except KeyboardInterrupt as stop:
            _say(str(stop) or "Stopped. Nothing was released.")
            raise typer.Exit(STOPPED) from None
        except BrokenPipeError:  # whoever reads has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
            raise typer.Exit(0) from None
        except Exception as error:
            line = explained(error)
            if line is None:
                raise
            _say(f"Error: {line}")
            raise typer.Exit(WRONG) from None

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command line. What it cannot make sense of is one line too."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        try:
            code = super().main(*args, standalone_mode=False, **extra)
        except _UsageError as error:
            code = _misused(error)
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code


def explained(error: Exception) -> str | None:
    """What to tell the user of an error, or None where it is a fault of ours.

    The words of the system and of Python are passed on only where they cannot speak of the data.

    >>> explained(PermissionError(13, "Permission denied", "out.csv"))
    "Permission denied: 'out.csv'."
    >>> explained(UnicodeDecodeError("utf-8", b"secret", 0, 1, "invalid start byte"))
    'A file is not in the encoding it should be in, utf-8. Convert it first.'
    """
    if isinstance(error, ResiduumError | BudgetExceeded):
        return " ".join(str(error).split())
    if isinstance(error, UnicodeDecodeError):
        return f"A file is not in the encoding it should be in, {error.encoding}. Convert it first."
    if isinstance(error, MemoryError):
        return "There is too little memory. Ask for marginals over fewer columns, or give columns coarser bins."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename!r}." if error.filename else f"{error.strerror}."
    return None


def _misused(error: Any) -> int:
    """Say what is wrong with how a command was called."""
    if error.ctx is not None and type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.ctx.get_help(), err=True)
    else:
        path = error.ctx.command_path if error.ctx is not None else "residuum"
        _say(f"Error: {' '.join(error.format_message().split())} See: {path} --help")
    return WRONG


def _say(line: str) -> None:
    typer.echo(line, err=True)


app = typer.Typer(
    cls=Commands,
    help="Release differentially private statistics of wide tables.",
    epilog="A first visit: residuum demo. Exit codes: 0 done, 2 wrong input or too little budget, 130 stopped.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"residuum {version('residuum')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
