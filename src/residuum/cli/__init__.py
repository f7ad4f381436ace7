"""The `residuum` command. Each command imports what it needs when it runs, so that help comes at once."""

from typing import Annotated

import typer

app = typer.Typer(
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


@app.command()
def demo() -> None:
    """Take a small table of counts apart into residuals and put it back together.

    Example: residuum demo
    """
    from residuum.cli.demo import show

    show()
