"""Release marginals of a sample of made-up people and show some of them, as a user would on a table of real ones."""

from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from residuum import Release, Table, Workload, aim
from residuum.cli.common import new_app, shown_path
from residuum.cli.page import Page, factor
from residuum.core.zcdp import budget
from residuum.data.counts import Counts
from residuum.data.sample import people

DELTA = 1e-9
ORDER = 3
SHOWN = (("education",), ("age", "marital"), ("income", "housing"))
"""What to print of the release; the age and marital status of the sample are strongly tied."""

_COLUMNS = 5
"""How many columns of a synthetic row fit on the page."""

app = new_app()


@app.command()
def demo(
    epsilon: Annotated[float, typer.Option(help="The privacy budget, with delta = 1e-9.")] = 1.0,
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="DIR", help="Write people.csv and schema.yaml to a new folder instead."),
    ] = None,
) -> None:
    """Release statistics of made-up people, and show some of them.

    With --write it releases nothing. It writes a file of made-up people and the schema that their owner would have
    confirmed, to try the other commands with.

    \b
    Examples:
      residuum demo
      residuum demo --epsilon 0.5
      residuum demo --write tour
    """
    if write is None:
        show(epsilon=epsilon)
        return
    from residuum.cli import tour

    tour.write(write)
    csv, schema = (shown_path(write / name) for name in (tour.PEOPLE, tour.SCHEMA))
    page = Page()
    page.text(f"Wrote {csv}, made-up people, and {schema}, which declares their columns. Next:")
    page.commands(f"residuum release {csv} --schema {schema} --epsilon 1 --delta 1e-9")
    page.turn()


def show(console: Console | None = None, *, epsilon: float = 1.0, rows: int = 50_000) -> None:
    """Run the demonstration. Nothing of the release is printed before all of it is ready."""
    budget(epsilon, DELTA)  # a wrong epsilon is told before anything else is
    page = Page(console)
    table = people(rows)
    workload = Workload.all_kway(table.domain, ORDER)
    page.text(f"\n{rows:,} made-up people with {len(table.domain)} attributes stand in for a private table.")
    page.turn()
    started = perf_counter()
    release = aim(table, workload, epsilon=epsilon, delta=DELTA)
    seconds = perf_counter() - started
    release.fit()
    fitted = perf_counter() - started - seconds
    marginals = [release.marginal(attributes) for attributes in SHOWN]
    error = true_error(release, table)

    page.head("What was released")
    page.text(
        f"All {len(workload.targets):,} marginals over {ORDER} of the {len(table.domain)} attributes, "
        f"{workload.cells:,} counts, and every marginal below them. "
        f"{release.provenance['mechanism']} took {seconds:.2f} seconds, "
        f"and fitting latent classes to that {fitted:.1f}."
    )
    page.head("Guarantee, for each person")
    page.text(f"epsilon = {epsilon:g}, delta = {DELTA:g} (rho = {release.rho:.4g})", style="bold")
    page.text(
        "Whether any one person is in the table or not changes the probability of any result "
        f"by a factor of at most {factor(epsilon)}, give or take {DELTA:g}."
    )
    for caveat in release.provenance["caveats"]:
        page.text(f"Caveat: {caveat}.", style="yellow")
    page.head("Some of it")
    page.text(
        "Behind each count stands its 95% interval: one count in twenty is further from the truth, or fewer. What was "
        "never measured is estimated from what was, by latent classes fitted to the release."
    )
    for marginal in marginals:
        page.marginal(marginal)
    page.text("\nThree rows drawn from it, of people who do not exist:")
    drawn = release.sample(3).select(range(_COLUMNS))
    page.grid(drawn.column_names, [[*map(str, row.values())] for row in drawn.to_pylist()], left=_COLUMNS)
    page.head("What only made-up people can tell")
    page.text(
        f"The true average L1 error is {error:.3f}: what a marginal's counts are off by, added up and divided by "
        f"the {rows:,} people, on average over all {len(workload.targets)} marginals. "
        "On a real table this number would have to stay secret."
    )
    page.text("\nTo do the same with a file: residuum demo --write tour\n")
    try:
        page.turn()
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Stopped. The release was complete and may have been shown.") from None


def true_error(release: Release, table: Table) -> float:
    """The mean over the workload's marginals of |released - true| / rows: private, unless the people are made up."""
    counts = Counts(table, release.workload)
    errors = [
        np.abs(release.marginal(gamma).values - counts.marginal(gamma)).sum() for gamma in release.workload.targets
    ]
    return float(np.mean(errors)) / max(1, table.columns.shape[1])
