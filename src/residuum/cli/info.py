"""Show what a release is."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from residuum import Release, Workload, load
from residuum.cli.common import Folder, new_app, shown_path
from residuum.cli.page import Page, budget, counted, factor, plain
from residuum.cli.release import caveats, guarantee, noisiness
from residuum.mechanism.unfinished import Unfinished
from residuum.present.promise import asked_for, seeded
from residuum.store.folder import JOURNAL, MANIFEST

_SHOWN = 6
"""How many values of a column are listed."""

_RELATIONS = {
    "add-remove": "whether somebody is in the table is hidden",
    "replace": "what somebody's row says is hidden; the number of rows is public",
}

app = new_app()


@app.command()
def info(folder: Folder) -> None:
    """Show what a release is, what it guarantees and how noisy it is.

    \b
    Example:
      residuum info people-release
    """
    page = Page()
    if (folder / JOURNAL).exists() and not (folder / MANIFEST).exists():
        _unfinished(page, folder)
    else:
        _show(page, load(folder))
    page.turn()


def _unfinished(page: Page, folder: Path) -> None:
    run = Unfinished.at(folder)
    page.text("A run that has not come to its end: there is no release yet.")
    terms = run.terms
    page.facts(
        [
            ("mechanism", run.mechanism),
            ("budget", f"{budget(terms['epsilon'], terms['delta'], terms['rho'])}, for each person"),
            ("charged", f"{run.charged:.1%} of it"),
            ("kept", counted(run.answers, "answer")),
        ]
    )
    page.text("Go on with it:")
    page.commands(f"residuum resume {shown_path(folder)}")


def _show(page: Page, release: Release) -> None:
    facts = release.provenance
    page.head("Release")
    page.facts(
        [
            ("mechanism", str(facts.get("mechanism", "unknown"))),
            *_measured(facts),
            ("made by", str(facts.get("software", "unknown"))),
            ("marginals", _asked(release.workload)),
            *noisiness(release),
            *caveats(release),
        ]
    )
    page.head("Guarantee, for each person")
    page.facts(_guarantee(release))
    epsilon, delta = asked_for(release)
    if epsilon is not None and not seeded(release):
        page.text(
            f"Any one person changes the probability of any result by a factor of at most {factor(epsilon)}, "
            f"give or take {delta:g}."
        )
    page.head("Where the budget went")
    page.facts(_spent(release))
    page.head("Columns")
    domain = release.domain
    rows = zip(domain.names, domain.sizes, domain.labels, strict=True)
    page.grid(
        ["column", "values", ""], ([name, _listing(labels, size), f"{size:,}"] for name, size, labels in rows), left=2
    )


_PATHS = {
    "plan": "everything, as ResidualPlanner plans it: the budget was plenty for that",
    "pairs": "all pairs of columns at once",
    "singles": "single columns only: the budget did not suffice for pairs",
}


def _measured(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    path, rounds = facts.get("path"), facts.get("rounds")
    if path in _PATHS:
        yield "measured", _PATHS[str(path)]
    elif isinstance(rounds, int):
        yield "rounds", f"{rounds:,}"


def _asked(workload: Workload) -> str:
    orders: dict[int, int] = {}
    for gamma in workload.targets:
        orders[len(gamma)] = orders.get(len(gamma), 0) + 1
    parts = (f"{count:,} over {counted(order, 'column')}" for order, count in orders.items())
    return f"{', '.join(parts)}; {counted(workload.cells, 'count')}"


def _guarantee(release: Release) -> Iterator[tuple[str, str]]:
    facts = release.provenance
    yield "budget", guarantee(release)
    relation = str(facts.get("neighbours"))
    if relation in _RELATIONS:
        yield "hidden", _RELATIONS[relation]
    if isinstance(facts.get("rows_per_person"), int):
        yield "rows", f"up to {counted(facts['rows_per_person'], 'row')} of a person"
    if release.schema is not None:
        yield "schema", "confirmed by its owner" if release.schema.get("confirmed") else "NOT CONFIRMED by its owner"


def _spent(release: Release) -> Iterator[tuple[str, str]]:
    names = {"gaussian": "measuring", "exponential": "selecting", "lost": "lost in a crash"}
    shares = dict.fromkeys(names.values(), 0.0)
    for spend in release.spends:
        name = names.get(spend.mechanism, spend.mechanism)
        shares[name] = shares.get(name, 0.0) + spend.rho
    whole = sum(shares.values()) or 1.0
    for name, rho in shares.items():
        if rho:
            yield name, f"{rho / whole:.1%}"
    yield "charges", f"{len(release.spends):,}"


def _listing(labels: object, size: int) -> str:
    names = [str(label) for label in (labels if isinstance(labels, tuple) else range(size))]
    shown = names if len(names) <= _SHOWN + 1 else [*names[: _SHOWN - 1], "...", names[-1]]
    return plain(", ".join(shown))
