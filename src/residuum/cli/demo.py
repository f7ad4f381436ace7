"""A table of counts taken apart and put back together, as tables in the terminal.

Paper: App. A.
"""

import numpy as np
from numpy.typing import NDArray
from rich.columns import Columns
from rich.console import Console
from rich.table import Table

from residuum import Domain, decompose_all, reconstruct

DOMAIN = Domain(
    {
        "age": ["18-24", "25-34", "35-50", "50+"],
        "education": ["no college", "some college", "degree"],
    }
)
COUNTS = np.array([[7, 5, 2], [3, 5, 11], [10, 2, 11], [9, 18, 17]])


def show(console: Console | None = None) -> None:
    """Print the example."""
    console = console or Console()
    gamma = DOMAIN.clique(["age", "education"])
    sizes = DOMAIN.shape(gamma)
    ages, degrees = ([str(label) for label in labels or ()] for labels in DOMAIN.labels)

    console.print("\n[bold]A marginal[/]: 100 people counted by age and education.\n")
    console.print(_table("age × education", ages, degrees, COUNTS))

    console.print(
        "\n[bold]Its residuals[/] (Decomp): the total, what each attribute adds, and what only both tell."
        "\nEach is a difference to the first value, so it has one row or column less.\n"
    )
    residuals = decompose_all(COUNTS, gamma)
    tables = []
    for tau, zeta in residuals.items():
        rows = ages[1:] if 0 in tau else [""]
        columns = degrees[1:] if 1 in tau else [""]
        tables.append(_table(_title(tau), rows, columns, zeta.reshape(len(rows), len(columns))))
    console.print(Columns(tables, padding=(0, 3)))

    console.print("\n[bold]Its components[/] (Recon): each residual spread over the cells of the whole table.\n")
    components = {tau: reconstruct(zeta, tau, gamma, sizes) for tau, zeta in residuals.items()}
    console.print(
        Columns([_table(_title(tau), ages, degrees, part) for tau, part in components.items()], padding=(0, 3))
    )

    total = sum(components.values(), np.zeros(sizes))
    console.print("\n[bold]Put back together[/]: the sum of the four components.\n")
    console.print(_table("age × education", ages, degrees, total))
    console.print(f"\nLargest difference to the counts: {np.abs(total - COUNTS).max():.1e}")
    console.print("Residuals tell nothing twice: what one of them cost serves every table above it.\n")


def _title(tau: tuple[int, ...]) -> str:
    return " × ".join(DOMAIN.name(tau)) or "total"


def _table(title: str, rows: list[str], columns: list[str], values: NDArray) -> Table:
    table = Table(title=title, title_justify="left", title_style="italic")
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    for row, numbers in zip(rows, values, strict=True):
        table.add_row(row, *(f"{number:.2f}".rstrip("0").rstrip(".") for number in numbers))
    return table
