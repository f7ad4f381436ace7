"""Release marginals of a table."""

import os
from pathlib import Path
from shlex import quote
from time import perf_counter
from typing import Annotated, Literal

import typer

from residuum import BudgetFile, Release, Schema, aim, read, residual_planner
from residuum.cli.common import Delta, Epsilon, Rho, new_app, resumable, shown_path
from residuum.cli.page import Page, budget, counted, spread
from residuum.cli.workload import WorkloadOption, chosen
from residuum.core.neighbours import Relation
from residuum.core.workload import Workload
from residuum.data.sources import check
from residuum.errors import ReleaseError, SourceError
from residuum.mechanism.terms import Sampler, Terms
from residuum.present.promise import asked_for, seeded
from residuum.store.folder import JOURNAL, MANIFEST

Mechanism = Literal["aim", "residual-planner"]
Engine = Literal["duckdb", "spark"]

app = new_app()


@app.command()
def release(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A CSV, Parquet or JSON lines file, or a database with --query.")
    ],
    schema: Annotated[Path, typer.Option(metavar="FILE", help="What the columns are, confirmed by their owner.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    workload: WorkloadOption = "2",
    mechanism: Annotated[
        Mechanism, typer.Option(help="aim measures what is worst known; residual-planner everything, as planned.")
    ] = "aim",
    neighbours: Annotated[
        Relation, typer.Option(help="What is hidden: that somebody is in the table, or only what their row says.")
    ] = "add-remove",
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The budget file to charge: see residuum ledger.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="A new folder for the release. [default: DATA-release, here]"
        ),
    ] = None,
    query: Annotated[str | None, typer.Option(help="What to select from a database.")] = None,
    engine: Annotated[
        Engine, typer.Option(help="Who reads and counts: this machine, or a Spark cluster (residuum[spark]).")
    ] = "duckdb",
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="With --engine spark: the cluster, such as spark://host:7077 or local[4]."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Make the run repeatable and NOT PRIVATE: for tests and research only.")
    ] = None,
    noise: Annotated[Sampler, typer.Option(help="Who draws the noise: residuum, or OpenDP.")] = "exact",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show size, memory and expected noise, and spend nothing.")
    ] = False,
) -> None:
    """Release differentially private marginals of a table.

    The release is a folder. It is never written over another one, and a run that is stopped can go on with `residuum
    resume`. How many rows one person has comes from the schema.

    \b
    Examples:
      residuum release people.csv --schema schema.yaml --epsilon 1 --delta 1e-9 --dry-run
      residuum release people.csv --schema schema.yaml --epsilon 1 --delta 1e-9
      residuum release people.csv --schema schema.yaml --rho 0.1 --workload 3 --ledger people.budget -o triples
      residuum release people.parquet --schema schema.yaml --rho 0.1 --engine spark --master spark://host:7077
      residuum release visits.db --query "SELECT * FROM visits" --schema schema.yaml --rho 0.1 --workload cliques.yaml
    """
    declared = Schema.load(schema)
    declared.require_confirmed()
    wanted = chosen(workload, declared.domain)
    terms = Terms.agree(
        epsilon,
        delta,
        rho,
        rows_per_person=declared.rows_per_person,
        neighbours=neighbours,
        seed=seed,
        noise=noise,
    )
    folder = output or Path(f"{Path(data).name.split('.')[0] or 'table'}-release")
    require_room(folder)
    charged = BudgetFile(ledger) if ledger else None
    if engine == "spark" and query is not None:
        raise SourceError("Spark counts files, not databases. Leave out --query, or --engine spark.")
    if engine != "spark" and master is not None:
        raise SourceError(f"A cluster such as {master!r} is for Spark. Add --engine spark.")
    if dry_run:
        from residuum.cli import dry_run as rehearsal

        if engine != "spark":
            check(data, declared, query=query)
        rehearsal.show(mechanism, terms, wanted, charged, folder)
        return
    if engine == "spark":
        from residuum.spark import read_and_count

        table = read_and_count(data, declared, wanted, master)
    else:
        table = read(data, declared, query=query)
    started = perf_counter()
    with resumable(folder):
        made = (aim if mechanism == "aim" else residual_planner)(
            table,
            wanted,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            rows_per_person=declared.rows_per_person,
            neighbours=neighbours,
            seed=seed,
            noise=noise,
            output=folder,
            ledger=charged,
        )
    page = Page()
    seconds = perf_counter() - started
    page.text(f"Released {sized(wanted)} to {shown_path(folder)} in {seconds:.1f} seconds.")
    summary(page, made, folder)
    page.turn()


def require_room(folder: Path) -> None:
    """Refuse a folder that holds something, before the data are read."""
    if folder.is_dir() and any(folder.iterdir()):
        if (folder / JOURNAL).exists() and not (folder / MANIFEST).exists():
            way = f"A run was begun there: go on with residuum resume {shown_path(folder)}, or name a new one with -o."
        else:
            way = "Name a new one with -o."
        raise ReleaseError(f"The folder {str(folder)!r} is not empty, and nothing is overwritten. {way}")
    if os.path.lexists(folder) and not folder.is_dir():
        raise ReleaseError(f"Expected a new folder for the release, but {str(folder)!r} is a file. Name one with -o.")


def sized(workload: Workload) -> str:
    """How much a workload asks for."""
    columns = counted(len({i for gamma in workload.targets for i in gamma}), "column")
    return f"{counted(len(workload.targets), 'marginal')} of {columns}, {counted(workload.cells, 'count')}"


def summary(page: Page, made: Release, folder: Path) -> None:
    """What a new release guarantees, how noisy it is, and what to do next."""
    page.facts([("guarantee", guarantee(made)), *noisiness(made), *caveats(made)])
    page.text("Next:")
    asked = " ".join(map(quote, made.domain.name(made.workload.targets[0])))
    page.commands(f"residuum info {shown_path(folder)}", f"residuum query {shown_path(folder)} {asked}")


def guarantee(made: Release) -> str:
    """What a release promises each person."""
    promised = budget(*asked_for(made), made.rho)
    return f"NONE, it is seeded; without a seed: {promised}" if seeded(made) else f"{promised}, for each person"


def caveats(made: Release) -> list[tuple[str, str]]:
    """What a release warns of."""
    return [("caveat", str(caveat)) for caveat in made.provenance["caveats"]]


def noisiness(made: Release) -> list[tuple[str, str]]:
    """The standard errors of the noise in the marginals asked for, and what was never measured.

    A marginal that lacks components has little noise and may still be far off: it is not among the former.
    """
    noise = [made.noise(gamma) for gamma in made.workload.targets]
    whole = [stderr for stderr, unmeasured in noise if not unmeasured]
    facts = [("noise", f"standard error of a count: {spread(whole)}")] if whole else []
    if len(whole) < len(noise):
        some = (
            f"{len(noise) - len(whole):,} of {counted(len(noise), 'marginal')} have components that were never measured"
        )
        facts.append(("unmeasured", f"{some} and are estimated from what was"))
    return facts
