"""AIM+GReM, ResidualPlanner and the ablation: errors, rounds, seconds and memory, against what is expected of them.

`make bench` runs all; `python -m bench.mechanism figures speed …` runs the parts named. Every number is measured in the
run that prints it, in a process of its own.
"""

import sys
from statistics import fmean

from rich.console import Console
from rich.table import Table

from bench import data
from bench.job import measured
from residuum import Workload
from residuum.core import planner, zcdp

SEEDS = range(5)
console = Console(width=120)


def figures() -> None:
    """What a correct build reproduces on Adult, all 3-way marginals, δ = 1e-9, five seeds."""
    for epsilon, expected in ((0.1, 1.7713844718502086e-4), (1.0, 1.4973057673588523e-2), (10.0, 1.0907857043970155)):
        rho = zcdp.rho_of(epsilon, 1e-9)
        console.print(f"ρ for ε = {epsilon:g}: {rho:.15g} (expected {expected:.15g}, ratio {rho / expected:.12f})")
    table = _table("Adult, mean ‖μ - μ̂‖₁ / N", "what", "error", "expected", "off by", "rounds", "expected", "seconds")
    for epsilon, expected, rounds in ((0.1, 1.978, "68-75"), (1.0, 1.399, "220-237"), (10.0, 0.565, "527-531")):
        runs = [measured(table="adult", mechanism="aim", epsilon=epsilon, seed=s, error=True) for s in SEEDS]
        seen = ", ".join(str(run["rounds"]) for run in runs)
        _row(table, f"AIM+GReM, ε = {epsilon:g}", runs, expected, seen, rounds)
    for epsilon, expected in ((0.1, 47.2), (1.0, 5.13), (10.0, 0.60)):
        runs = [
            measured(table="adult", mechanism="residual planner", epsilon=epsilon, seed=s, error=True) for s in SEEDS
        ]
        _row(table, f"ResidualPlanner, ε = {epsilon:g}", runs, expected, "", "")
    for allocation, expected in (("iid", 10.163), ("crp", 9.508)):
        runs = [_fixed("adult", s, allocation, "lazy", error=True) for s in SEEDS]
        seen = f"{fmean(run['measurements'] for run in runs):.0f} measured"
        _row(table, f"fixed sequence, {allocation}, ε = 1", runs, expected, seen, "851" if allocation == "crp" else "")
    console.print(table)
    workload = Workload.all_kway(data.adult().domain, 3)
    plan = planner.plan(workload, zcdp.rho_of(1.0, 1e-9), "max")
    console.print(f"ResidualPlanner, largest variance of a cell, ε = 1: {plan.value:.4g}, duality gap {plan.gap:.2%}")


def speed() -> None:
    """Time and peak memory from codes in memory to a finished release, on two cores."""
    table = _table(
        "All 3-way marginals", "table", "ε", "seconds", "target", "before round 1", "rounds", "peak GB", "target"
    )
    for name, epsilon, seconds, memory in (
        ("adult", 1.0, "0.5", ""),
        ("acs", 10.0, "30", "2"),
        ("loans", 1.0, "60", "10"),
        ("loans", 100.0, "finishes", "in memory"),
    ):
        run = measured(table=name, mechanism="aim", epsilon=epsilon)
        table.add_row(
            f"{name}{'' if name == 'adult' else '-shaped'}",
            f"{epsilon:g}",
            f"{run['seconds']:.2f}",
            seconds,
            f"{run['before first round']:.2f}",
            str(run["rounds"]),
            f"{run['peak GB']:.2f}",
            memory,
        )
    console.print(table)


def ablation() -> None:
    """The paper's fixed sequence, lazy + CRP against full + IID; only a prefix of it where the whole takes too long."""
    table = _table(
        "Fixed sequence, ε = 1", "table", "steps", "lazy+crp s", "lazy+iid s", "full+iid s", "ratio", "paper"
    )
    for name, steps, paper in (("adult", 455, "18.5"), ("acs", 10, "45"), ("loans", 20, "92")):
        strategies = (("lazy", "crp"), ("lazy", "iid"), ("full", "iid"))
        seconds = [
            _fixed(name, 0, allocation, reconstruction, steps=steps)["seconds"]
            for reconstruction, allocation in strategies
        ]
        table.add_row(name, str(steps), *(f"{s:.3f}" for s in seconds), f"{seconds[2] / seconds[0]:.1f}", paper)
    console.print(table)
    console.print("Seconds are those of the steps, without the 1-way marginals before them.")


def growth() -> None:
    """How time grows with rows, attributes and cells."""
    table = _table(
        "AIM+GReM, ε = 1, one thing growing at a time",
        "what",
        "value",
        "seconds",
        "before round 1",
        "rounds",
        "µs a round",
    )
    base = {"sizes": [6] * 12, "rows": 100_000}
    changes = [
        *(("rows", f"{rows:,}", base | {"rows": rows}) for rows in (10_000, 100_000, 1_000_000, 10_000_000)),
        *(("attributes", str(d), base | {"sizes": [6] * d}) for d in (8, 12, 16, 24, 32)),
        *(("size of each", str(n), base | {"sizes": [n] * 12}) for n in (4, 8, 16, 32)),
    ]
    for what, value, shape in changes:
        run = measured(table="tree", mechanism="aim", epsilon=1.0, **shape)
        loop = run["seconds"] - run["before first round"]
        table.add_row(
            what,
            value,
            f"{run['seconds']:.2f}",
            f"{run['before first round']:.2f}",
            str(run["rounds"]),
            f"{loop / run['rounds'] * 1e6:.0f}",
        )
    console.print(table)


def _fixed(name: str, seed: int, allocation: str, reconstruction: str, **more: object) -> dict:
    strategy = {"allocation": allocation, "reconstruction": reconstruction}
    return measured(table=name, mechanism="fixed", epsilon=1.0, seed=seed, **strategy, **more)


def _row(table: Table, what: str, runs: list[dict], expected: float, seen: str, rounds: str) -> None:
    mean = fmean(run["error"] for run in runs)
    seconds = fmean(run["seconds"] for run in runs)
    table.add_row(what, f"{mean:.4g}", f"{expected:g}", f"{mean / expected - 1:+.1%}", seen, rounds, f"{seconds:.2f}")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for position, column in enumerate(columns):
        table.add_column(column, justify="right" if position else "left")
    return table


PARTS = {"figures": figures, "speed": speed, "ablation": ablation, "growth": growth}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
        console.print()
