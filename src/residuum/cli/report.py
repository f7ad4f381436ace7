"""Write a report on a release: one web page."""

from pathlib import Path
from typing import Annotated

import typer

from residuum import Schema, load
from residuum.cli.common import Folder, Force, new_app, refuse_existing, shown_path, written
from residuum.errors import ReleaseError
from residuum.present.shown import plain

app = new_app()


@app.command()
def report(
    folder: Folder,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The file to write, which ends in .html. [default: report.html, or report-not-private.html]",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="The true data: adds the true errors. NOT PRIVATE, for their owner only."),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --against: what the columns of the data are.")
    ] = None,
    query: Annotated[str | None, typer.Option(help="With --against: what to select from a database.")] = None,
    force: Force = False,
) -> None:
    """Write a report on a release: one web page that needs no network.

    It says what was released and what is guaranteed, how the budget was spent, what was measured and how noisy that is,
    and shows the marginals most worth looking at. It is made from the release alone and costs no privacy. The first
    report of a release fits latent classes to it, which takes some seconds and is kept.

    With --against it reads the true data and adds how wrong the release is. Such a page protects nobody. It says so.

    \b
    Examples:
      residuum report people-release
      residuum report people-release -o people.html --force
      residuum report people-release -o errors.html --against people.csv --schema schema.yaml
    """
    output = output or Path("report.html" if against is None else "report-not-private.html")
    if output.suffix.lower() not in (".html", ".htm"):
        raise ReleaseError(f"Expected a file that ends in .html, got {str(output)!r}.")
    if (against is None) != (schema is None) or (query is not None and against is None):
        raise ReleaseError("To compare with the true data, give both --against DATA and --schema FILE.")
    refuse_existing(output, force=force)
    from residuum.present.report import report as page

    release = load(folder)
    truth = None
    if against is not None and schema is not None:
        from residuum.cli.truth import compared

        truth = compared(release, against, Schema.load(schema), query)
    text = page(release, truth)
    with written(output, force=force) as place:
        place.write_text(text, encoding="utf-8")
    typer.echo(f"Wrote a report to {shown_path(output)}.")
    if truth is not None:
        typer.echo("It shows the true data: NOT PRIVATE, for their owner only.", err=True)
    for caveat in release.provenance["caveats"]:
        typer.echo(f"Caveat: {plain(str(caveat))}.", err=True)
