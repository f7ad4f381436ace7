"""What a release would take, before anything is spent. All of it follows from the schema and the options."""

from pathlib import Path

from residuum.cli.page import Page, budget, counted, number
from residuum.core.workload import Workload
from residuum.core.zcdp import per_row
from residuum.mechanism import aim, batch
from residuum.mechanism.forecast import Forecast
from residuum.mechanism.terms import Terms
from residuum.privacy.budget import BudgetFile

_NAMES = {"aim": aim.MECHANISM, "residual-planner": batch.MECHANISM}


def show(mechanism: str, terms: Terms, workload: Workload, ledger: BudgetFile | None, folder: Path) -> None:
    """Print it."""
    ahead = Forecast.of(_NAMES[mechanism], terms, workload)
    closure = len(workload.closure) - 1
    cells = sum(workload.domain.size(gamma) for gamma in workload.closure)
    page = Page()
    page.text("A dry run: nothing is released and nothing is spent.")
    page.facts(
        [
            ("asked for", f"{counted(len(workload.targets), 'marginal')}, {counted(workload.cells, 'cell')}"),
            ("with those below", f"{counted(closure, 'marginal')}, {counted(cells, 'cell')}"),
            ("memory", f"{_bytes(ahead.memory)}, and a byte or more for every row and column"),
            ("budget", f"{budget(terms.epsilon, terms.delta, terms.rho)}, for each person"),
            *_rows(terms),
            *([] if ledger is None else [("ledger", _fits(ledger, terms))]),
            ("mechanism", _NAMES[mechanism]),
            *([] if terms.seed is None else [("caveat", "not private: seeded")]),
            ("would go to", str(folder)),
        ]
    )
    if ahead.first is None:
        page.text("\nStandard error of a count, as planned:")
    else:
        page.text(
            f"\nIts first measurements have a standard error of {number(ahead.first, ahead.first)} on a count. What it "
            "measures after that depends on noisy answers, and cannot be said beforehand. As a guide, the standard "
            "error of a count if all were measured evenly, by residual-planner:"
        )
    page.grid(["columns", "marginals", "least", "median", "largest"], _orders(workload, ahead))
    page.turn()


def _orders(workload: Workload, ahead: Forecast) -> list[list[str]]:
    """The planned standard errors for marginals over one column, two, and so on."""
    orders: dict[int, list[float]] = {}
    for gamma in workload.targets:
        orders.setdefault(len(gamma), []).append(ahead.planned[gamma])
    rows = []
    for order, stderrs in sorted(orders.items()):
        stderrs.sort()
        few = (number(stderrs[k], stderrs[k]) for k in (0, len(stderrs) // 2, -1))
        rows.append([str(order), f"{len(stderrs):,}", *few])
    return rows


def _rows(terms: Terms) -> list[tuple[str, str]]:
    if terms.rows_per_person == 1:
        return []
    row = per_row(terms.rho, terms.rows_per_person)
    return [("rows per person", f"up to {terms.rows_per_person:,}, which leaves rho = {row:.4g} for a row")]


def _fits(ledger: BudgetFile, terms: Terms) -> str:
    free = ledger.free
    verdict = "this fits" if terms.rho <= free else "TOO LITTLE for this release"
    if ledger.neighbours.relation != terms.neighbours:
        verdict = f"but it counts neighbours by {ledger.neighbours.relation}: this release would be REFUSED"
    return f"rho = {free:.4g} of {ledger.total:.4g} is free: {verdict}"


def _bytes(count: int) -> str:
    size, units = float(count), ["bytes", "KiB", "MiB"]
    while size >= 1024 and units:
        size /= 1024
        units.pop(0)
    return f"{size:,.0f} {units[0]}" if units else f"{size:,.1f} GiB"
