"""How often 95% intervals hold the truth, and how wide they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.accuracy.show import BUDGET, EPSILONS, available, console, steps, table
from bench.job import DELTA
from residuum import Release, Workload, aim, residual_planner
from residuum.core.domain import Clique
from residuum.data.counts import Counts
from residuum.marginal import Estimate, Marginal

TABLES = ("adult", "fair", "randhie")
SEEDS = range(3)
PEOPLE = 20
"""Cells with an estimate above this are looked at on their own: most others are empty."""
METHODS: dict[str, tuple[Callable[..., Release], Estimate]] = {
    "ResidualPlanner, mle": (residual_planner, "mle"),
    "default, best": (aim, "best"),
    "default, latent": (aim, "latent"),
}


@dataclass(slots=True)
class Coverage:
    """What intervals hold, added up over marginals: for all cells, and for those with people in them."""

    without: int = 0
    """Cells that have no interval."""
    cells: int = 0
    held: int = 0
    width: float = 0.0
    large_cells: int = 0
    large_held: int = 0
    large_width: float = 0.0

    def add(self, estimate: Callable[[Clique], Marginal], truth: Counts, targets: Sequence[Clique]) -> None:
        """Compare the intervals of these marginals with the truth."""
        for gamma in targets:
            marginal = estimate(gamma)
            if marginal.lower is None or marginal.upper is None:
                self.without += marginal.values.size
                continue
            counts = truth.marginal(gamma)
            held = (marginal.lower <= counts) & (counts <= marginal.upper)
            width, large = marginal.upper - marginal.lower, marginal.values > PEOPLE
            self.cells += held.size
            self.held += int(held.sum())
            self.width += float(width.sum())
            self.large_cells += int(large.sum())
            self.large_held += int(held[large].sum())
            self.large_width += float(width[large].sum())


def main() -> None:
    """Print the coverage for each table, budget and estimate."""
    tables = available(TABLES)
    every = [(name, epsilon, seed) for name in tables for epsilon in EPSILONS for seed in SEEDS]
    seen: dict[tuple[str, str, float], Coverage] = {}
    counts = {name: Counts(people, Workload.all_kway(people.domain, 3)) for name, people in tables.items()}
    for name, epsilon, seed in steps("intervals", every):
        budget: Any = {"epsilon": epsilon, "delta": DELTA, "seed": seed, "progress": False}
        workload, releases = counts[name].workload, {}
        for method, (mechanism, kind) in METHODS.items():
            if mechanism not in releases:
                releases[mechanism] = mechanism(counts[name], workload, **budget)
            coverage = seen.setdefault((name, method, epsilon), Coverage())
            coverage.add(_marginals(releases[mechanism], kind), counts[name], workload.targets)
    shown = table(
        f"95% intervals of all 3-way marginals, {BUDGET}, {len(SEEDS)} seeds",
        "table, estimate", "ε", "hold the truth", "mean width", f"cells above {PEOPLE}", "hold the truth",
        "mean width", "have none",
    )  # fmt: skip
    for (name, method, epsilon), found in sorted(seen.items()):
        every_cell = found.cells + found.without
        shown.add_row(
            f"{name}, {method}", f"{epsilon:g}",
            _share(found.held, found.cells), _mean(found.width, found.cells),
            f"{found.large_cells:,}", _share(found.large_held, found.large_cells),
            _mean(found.large_width, found.large_cells), _share(found.without, every_cell) if found.without else "",
        )  # fmt: skip
    console.print(shown)
    console.print(
        f"Widths are in people. Cells above {PEOPLE} are those with an estimate above it, which are mostly "
        "cells that noise has raised: where it is large, their intervals hold less often. "
        "The cells of one release are not independent of one another."
    )


def _marginals(release: Release, kind: Estimate) -> Callable[[Clique], Marginal]:
    return lambda gamma: release.marginal(gamma, estimate=kind)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _mean(total: float, number: int) -> str:
    return f"{total / number:.1f}" if number else "-"
