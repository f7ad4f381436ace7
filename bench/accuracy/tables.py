"""More real tables, all 3-way and all 2-way marginals: so that no default suits one table only."""

from statistics import fmean
from typing import Any

from bench import data
from bench.accuracy.show import BUDGET, EPSILONS, SEEDS, available, console, spread, steps, table
from bench.errors import MEASURES, errors, estimate_of, independent
from bench.job import DELTA
from residuum import Workload, aim, residual_planner
from residuum.data.counts import Counts

ORDERS = (3, 2)
PRIVATE = ("best", "latent", "paper, mle", "ResidualPlanner, mle")
"""The first two are estimates from our default run."""

Setting = tuple[str, int, float]
Errors = dict[str, dict[str, float]]


def main() -> None:
    """Print a table for each measure of error."""
    tables = available(data.REAL)
    cases = [(name, order) for name in tables for order in ORDERS if (name, order) != ("adult", 3)]
    every = [(name, order, epsilon, seed) for name, order in cases for epsilon in EPSILONS for seed in SEEDS]
    runs: dict[Setting, list[Errors]] = {}
    counts: dict[tuple[str, int], Counts] = {}
    for name, order, epsilon, seed in steps("tables", every):
        if (name, order) not in counts:
            counts[name, order] = Counts(tables[name], Workload.all_kway(tables[name].domain, order))
        runs.setdefault((name, order, epsilon), []).append(compared(counts[name, order], epsilon, seed))
    console.print(
        f"Real tables, {BUDGET}: mean ± standard deviation over {len(SEEDS)} seeds. Numbers are binned at about "
        f"{data.BINS} quantiles of the rows themselves, a domain that only a benchmark may use. "
        '"Independent" is the product of the exact 1-way marginals, made from the truth: not private. '
        'Adult with all 3-way marginals is the part "adult".'
    )
    for measure in MEASURES:
        console.print(_table(runs, measure))
    console.print(_summary(runs))


def compared(counts: Counts, epsilon: float, seed: int) -> dict[str, dict[str, float]]:
    """The errors of every method with one seed."""
    budget: Any = {"epsilon": epsilon, "delta": DELTA, "seed": seed, "progress": False}
    workload = counts.workload
    default = aim(counts, workload, **budget)
    paper = aim(counts, workload, reference="none", **budget)
    planned = residual_planner(counts, workload, **budget)
    estimates = {
        "best": estimate_of(default, "best"),
        "latent": estimate_of(default, "latent"),
        "paper, mle": estimate_of(paper, "mle"),
        "ResidualPlanner, mle": estimate_of(planned, "mle"),
        "independent": independent(counts),
    }
    return {name: errors(estimate, counts, workload.targets) for name, estimate in estimates.items()}


def _table(runs: dict[Setting, list[Errors]], measure: str) -> Any:
    shown = table(f"Error, {MEASURES[measure]}", "table", "order", "ε", *PRIVATE, "independent")
    for (name, order, epsilon), found in runs.items():
        cells = [spread([run[method][measure] for run in found]) for method in PRIVATE]
        exact = found[0]["independent"][measure]
        shown.add_row(name, str(order), f"{epsilon:g}", *cells, f"{exact:.4f}")
    return shown


def _summary(runs: dict[Setting, list[Errors]]) -> str:
    """How often the default estimate has the lowest mean error, and where it is furthest from that."""
    behind: dict[Setting, float] = {}
    below = 0
    for setting, found in runs.items():
        mean = {method: fmean(run[method]["L1"] for run in found) for method in (*PRIVATE, "independent")}
        behind[setting] = mean["best"] / min(mean[method] for method in PRIVATE) - 1
        below += mean["best"] < mean["independent"]
    (name, order, epsilon), most = max(behind.items(), key=lambda entry: entry[1])
    return (
        f"In L1, best has the lowest error of the private methods in {sum(b <= 0 for b in behind.values())} of "
        f"{len(behind)} settings; where it is furthest above the lowest ({name}, {order}-way, ε = {epsilon:g}), by "
        f"{most:.1%}. In {below} it is below the product of the exact 1-way marginals."
    )
