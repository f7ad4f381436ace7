"""Keep the budget that all releases of a data set share."""

from pathlib import Path
from typing import Annotated

import typer

from residuum import BudgetFile
from residuum.cli.common import Delta, Epsilon, Rho, new_app, shown_path
from residuum.cli.page import Page, budget, counted
from residuum.core.neighbours import Relation

app = new_app(
    help="Keep the budget that all releases of a data set share, in a file.\n\n"
    "A release with --ledger FILE is entered with all of its budget before it starts, or refused.\n\n"
    "\b\nExamples:\n"
    "  residuum ledger create people.budget --epsilon 3 --delta 1e-9\n"
    "  residuum release people.csv --schema schema.yaml --epsilon 1 --delta 1e-9 --ledger people.budget\n"
    "  residuum ledger show people.budget\n",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The budget file.", show_default=False)]


@app.command()
def create(
    file: File,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    neighbours: Annotated[Relation, typer.Option(help="What all releases of the data set hide.")] = "add-remove",
) -> None:
    """Create a budget file, with what all releases together may spend.

    \b
    Example:
      residuum ledger create people.budget --epsilon 3 --delta 1e-9
    """
    made = BudgetFile.create(file, epsilon=epsilon, delta=delta, rho=rho, neighbours=neighbours)
    typer.echo(f"Created {shown_path(file)}: {budget(made.epsilon, made.delta, made.total)} for all releases together.")


@app.command()
def show(file: File) -> None:
    """Show what is spent, what is free, and every release that was charged.

    \b
    Example:
      residuum ledger show people.budget
    """
    ledger = BudgetFile(file)
    entries, free = ledger.releases(), ledger.free
    page = Page()
    page.facts(
        [
            ("budget", f"{budget(ledger.epsilon, ledger.delta, ledger.total)}, for each person"),
            ("neighbours", ledger.neighbours.relation),
            ("free", f"rho = {free:.4g}, {free / ledger.total:.1%} of all"),
            ("releases", counted(len(entries), "release")),
        ]
    )
    if entries:
        page.grid(
            ["release", "state", "folder", "started", "rho", "charged"],
            ([e.name, e.state, e.folder or "", e.started[:10], f"{e.rho:.4g}", f"{e.charged:.4g}"] for e in entries),
            left=4,
        )
    if any(entry.state == "running" for entry in entries):
        page.text(
            "\nOne that is running holds all of its rho. If it died, go on with it (residuum resume), or give it up "
            f"for good, which frees what it had not charged: residuum ledger abandon {shown_path(file)} RELEASE"
        )
    page.turn()


@app.command()
def abandon(
    file: File,
    name: Annotated[str, typer.Argument(metavar="RELEASE", help="Its name, as `ledger show` has it.")],
) -> None:
    """Give up a release that died and will not be resumed. What it had charged stays charged.

    \b
    Example:
      residuum ledger abandon people.budget 5f2c90aa17de4b30
    """
    ledger = BudgetFile(file)
    ledger.abandon(name)
    typer.echo(f"Abandoned {name}. Of {shown_path(file)}, rho = {ledger.free:.4g} is free.")
