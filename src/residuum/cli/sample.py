"""Write synthetic rows drawn from a release to a file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from residuum import Release, load
from residuum.cli.common import Folder, Force, new_app, shown_path, written
from residuum.cli.page import counted, plain
from residuum.cli.tables import Format, by_ending, refuse_terminal, rows_to

app = new_app()


@app.command()
def sample(
    folder: Folder,
    n: Annotated[
        int | None, typer.Option("-n", "--rows", min=0, help="How many rows. [default: the noisy number of people]")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a file; its ending tells the format."),
    ] = None,
    form: Annotated[
        Format | None, typer.Option("--format", help="Write in this format; json is a line for each row.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Draw the same rows each time.")] = None,
    force: Force = False,
) -> None:
    """Write synthetic rows drawn from a release to a file, or to standard output.

    Rows have the columns of the table: labels as they were declared, numbers and days drawn evenly inside their bins,
    empty cells where values were missing. They are made from the release alone and cost no privacy, however many. What
    they show of more than the columns measured together is what latent classes make of it.

    \b
    Examples:
      residuum sample people-release -o synthetic.parquet
      residuum sample people-release -n 1000 -o synthetic.csv --seed 1
      residuum sample people-release -n 5 --format csv
    """
    release = load(folder)
    if output is None:
        form = form or "csv"
        refuse_terminal(form)
        sys.stdout.flush()
        rows_to(release.sample_batches(n, seed=seed), form, sys.stdout.buffer)
        _warn(release)
        return
    form = form or by_ending(output)
    with written(output, force=force) as place, place.open("wb") as file:
        total = rows_to(release.sample_batches(n, seed=seed), form, file)
    typer.echo(f"Wrote {counted(total, 'synthetic row')} of {counted(len(release.domain), 'column')} to "
               f"{shown_path(output)}.")  # fmt: skip
    _warn(release)


def _warn(release: Release) -> None:
    for caveat in release.provenance["caveats"]:
        typer.echo(f"Caveat: {plain(str(caveat))}.", err=True)
