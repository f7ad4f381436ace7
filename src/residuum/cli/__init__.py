"""The `residuum` command. Each command imports what it needs when it runs, so that help comes at once."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from residuum.errors import BudgetExceeded, ResiduumError

STOPPED = 130
"""The exit code after Ctrl-C, as shells have it."""


class Commands(TyperGroup):
    """All commands end alike: one line on standard error, and no traceback, where the user can tell what is wrong.

    A command lets go of a release only once it is complete, so nothing is released when it is stopped before. From then
    on it raises Ctrl-C again with a line of its own: `KeyboardInterrupt("Stopped. ...")`.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            typer.echo(str(stop) or "Stopped. Nothing was released.", err=True)
            raise typer.Exit(STOPPED) from None
        except (ResiduumError, BudgetExceeded) as error:
            typer.echo(f"Error: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(2) from None


app = typer.Typer(
    cls=Commands,
    help="Release differentially private statistics of wide tables.",
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


@app.command("demo")
def _demo(
    epsilon: Annotated[float, typer.Option(help="The privacy budget, with delta = 1e-9.")] = 1.0,
) -> None:
    """Release statistics of made-up people and show some of them.

    Example: residuum demo --epsilon 0.5
    """
    from residuum.cli.demo import show

    show(epsilon=epsilon)
