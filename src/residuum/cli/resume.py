"""Go on with a release that was stopped or died."""

from pathlib import Path
from typing import Annotated

import typer

from residuum import resume as go_on
from residuum.cli.common import Folder, new_app, resumable, shown_path
from residuum.cli.page import Page, counted
from residuum.cli.release import sized, summary
from residuum.mechanism.unfinished import Unfinished
from residuum.store.folder import MANIFEST

app = new_app()


@app.command()
def resume(
    folder: Folder,
    data: Annotated[
        Path | None, typer.Argument(metavar="[DATA]", help="Where the table is now, if it has moved.")
    ] = None,
    query: Annotated[str | None, typer.Option(help="What to select from a database, if that is not as before.")] = None,
) -> None:
    """Go on with a release that was stopped or died.

    What it had measured is kept and not drawn again. What it had charged beyond that is lost: half a percent of the
    budget or one measurement, at most. The table must be the same as before.

    \b
    Examples:
      residuum resume people-release
      residuum resume people-release /moved/people.csv
    """
    page = Page()
    if (folder / MANIFEST).exists():
        go_on(folder)
        page.text(f"The release in {shown_path(folder)} is complete. Nothing had to be done.")
        page.turn()
        return
    before = Unfinished.at(folder)
    with resumable(folder):
        made = go_on(folder, data, query=query)
    lost = sum(spend.units / 2**96 for spend in made.spends if spend.mechanism == "lost")
    page.text(f"Released {sized(made.workload)} to {shown_path(folder)}.")
    page.facts(
        [
            ("kept", f"{counted(before.answers, 'answer')} from before"),
            ("lost", f"{lost:.2%} of the budget, charged and not used when it died" if lost else "nothing"),
        ]
    )
    summary(page, made, folder)
    page.turn()
