"""Show a marginal of a release, or write it to a file."""

from pathlib import Path
from typing import Annotated

import typer

from residuum import Marginal, Release, load
from residuum.cli.common import EstimateOption, Folder, Force, Integers, new_app, refuse_existing, shown_path, written
from residuum.cli.page import Page
from residuum.cli.tables import Format, by_ending, save, to_stdout

app = new_app()


@app.command()
def query(
    folder: Folder,
    columns: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COLUMN]...", help="The columns of the marginal. None: the total.", show_default=False),
    ] = None,
    form: Annotated[
        Format | None, typer.Option("--format", help="Write the counts in this format, not as a table.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a file; its ending tells the format."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a plot of it to an .html, .svg or .png file (residuum[plots])."),
    ] = None,
    grouped: Annotated[
        bool, typer.Option("--grouped", help="With --plot: two columns as bars with intervals, not as a heat map.")
    ] = False,
    rows: Annotated[int, typer.Option(min=0, help="Rows to show at most; 0 for all.")] = 40,
    estimate: EstimateOption = "best",
    integers: Integers = False,
    force: Force = False,
) -> None:
    """Show a marginal of a release with its error bars, or write it to a file.

    Behind each count stands its 95% interval, where one is known. What was never measured is estimated from what was,
    and said. The first query of a release fits latent classes to it, which takes some seconds and is kept.

    \b
    Examples:
      residuum query people-release age sex
      residuum query people-release age sex income --format csv | head
      residuum query people-release age sex -o age-sex.parquet
      residuum query people-release age sex --estimate mle
      residuum query people-release age income --plot age-income.html
    """
    for path in filter(None, (plot, output)):
        refuse_existing(path, force=force)
    release = load(folder)
    if plot is not None:
        _check_plot(plot, columns or [])
    marginal = release.marginal(columns or [], estimate)
    if integers:
        marginal = marginal.to_integers()
    if plot is not None:
        _draw(marginal, release, plot, grouped=grouped, force=force)
        if output is None and form is None:
            return
    if output is not None:
        form = form or by_ending(output)
        with written(output, force=force) as place, place.open("wb") as file:
            save(marginal, release, form, file)
    elif form is not None:
        to_stdout(marginal, release, form)
    else:
        page = Page()
        for caveat in release.provenance["caveats"]:
            page.text(f"Caveat: {caveat}.", style="yellow")
        page.marginal(marginal, rows or None)
        page.turn()


def _check_plot(path: Path, columns: list[str]) -> None:
    """Refuse what cannot be drawn, before the marginal is estimated."""
    from residuum.present import plots

    plots.by_ending(path)
    plots.check_order(columns)


def _draw(marginal: Marginal, release: Release, path: Path, *, grouped: bool, force: bool) -> None:
    """Write a plot of a marginal, with what there is to say of it."""
    from residuum.present import plots

    entries = plots.spec(marginal, grouped=grouped, caveats=release.provenance["caveats"])
    content = plots.rendered(entries, plots.by_ending(path))
    with written(path, force=force) as place:
        place.write_bytes(content)
    typer.echo(f"Wrote a plot to {shown_path(path)}.", err=True)
