"""Adult, all 3-way marginals: every estimate against the truth, and against what AIM+PGM has for the same budget."""

from statistics import fmean
from typing import Any

from bench.accuracy.show import BUDGET, EPSILONS, SEEDS, console, spread, steps, table, verdict
from bench.errors import MEASURES
from bench.job import measured
from bench.quoted import AIM_PGM

QUOTED = {epsilon: AIM_PGM[epsilon, megabytes] for epsilon, megabytes in ((0.1, 50), (1.0, 50), (10.0, 1))}
"""AIM+PGM at its quickest, quoted and not measured here."""

MOST_SECONDS, SHARE, LOOP_AT_1 = 120.0, 0.01, 0.5
"""The targets: run and fit in seconds, the run as a share of AIM+PGM's time, and the run in seconds for ε = 1."""

RUNS: dict[str, dict[str, Any]] = {
    "default": {"mechanism": "aim", "fit": True, "estimates": ["best", "latent", "consistent", "nonnegative", "mle"]},
    "paper's AIM+GReM": {"mechanism": "aim", "options": {"reference": "none"}, "estimates": ["mle"]},
    "ResidualPlanner": {
        "mechanism": "residual planner",
        "fit": True,
        "estimates": ["best", "latent", "consistent", "nonnegative", "mle"],
    },
}

Runs = dict[tuple[str, float], list[dict[str, Any]]]


def main() -> None:
    """Print what was measured and whether the targets are met."""
    every = [(name, epsilon, seed) for name in RUNS for epsilon in EPSILONS for seed in SEEDS]
    runs: Runs = {}
    for name, epsilon, seed in steps("adult", every):
        run = measured(table="adult", epsilon=epsilon, seed=seed, **RUNS[name])
        runs.setdefault((name, epsilon), []).append(run)
    console.print(f"Adult, all 3-way marginals, {BUDGET}: mean ± standard deviation over {len(SEEDS)} seeds.")
    for measure in MEASURES:
        console.print(_errors(runs, measure))
    console.print(_times(runs))
    for line in _targets(runs):
        console.print(line)


def _errors(runs: Runs, measure: str) -> Any:
    shown = table(f"Error, {MEASURES[measure]}", "estimate", *(f"ε = {epsilon:g}" for epsilon in EPSILONS))
    for name, task in RUNS.items():
        for estimate in task["estimates"]:
            found = [[run["errors"][estimate][measure] for run in runs[name, epsilon]] for epsilon in EPSILONS]
            shown.add_row(f"{name}, {estimate}", *map(spread, found))
    exact = runs["default", EPSILONS[0]][0]["errors"]["independent"][measure]
    shown.add_row(
        "product of the exact 1-way marginals (from the truth, not private)", *[f"{exact:.4f}"] * len(EPSILONS)
    )
    if measure == "L1":
        shown.add_row("AIM+PGM (quoted)", *(f"{QUOTED[epsilon].error:.3f}" for epsilon in EPSILONS))
    return shown


def _times(runs: Runs) -> Any:
    shown = table(
        "Time and memory on this machine, means; AIM+PGM's time is quoted, the ratios are to the shortest of it",
        "run", "ε", "rounds", "run s", "fit s", "classes", "AIM+PGM s", "times run", "times run + fit",
        "GB, run", "GB, fit",
    )  # fmt: skip
    for (name, epsilon), found in runs.items():
        seconds, fitting = _mean(found, "seconds"), _mean(found, "fit seconds")
        quoted = QUOTED[epsilon]
        fitted = "fit seconds" in found[0]
        classes = sorted({f"{run['members']} × {run['classes']}" for run in found}) if fitted else []
        rounds = f"{_mean(found, 'rounds'):.0f}" if found[0]["rounds"] else ""
        shown.add_row(
            name, f"{epsilon:g}", rounds, f"{seconds:.2f}", f"{fitting:.1f}" if fitted else "", ", ".join(classes),
            quoted.times, f"{quoted.seconds / seconds:.0f}",
            f"{quoted.seconds / (seconds + fitting):.1f}" if fitted else "",
            f"{_mean(found, 'peak GB'):.2f}", f"{_mean(found, 'fit peak GB'):.2f}" if fitted else "",
        )  # fmt: skip
    return shown


def _targets(runs: Runs) -> list[str]:
    """A line for each target: errors, the time of the run, and that of run and fit."""
    lines = []
    for epsilon, quoted in QUOTED.items():
        found = runs["default", epsilon]
        error = fmean(run["errors"]["best"]["L1"] for run in found)
        whole = _mean(found, "seconds") + _mean(found, "fit seconds")
        at = f"ε = {epsilon:g}"
        lines += [
            verdict(f"{at}, error of best, against AIM+PGM (quoted)", error, quoted.error),
            verdict(f"{at}, run, against a hundredth of AIM+PGM's time (quoted)", _mean(found, "seconds"),
                    SHARE * quoted.seconds, " s"),
            verdict(f"{at}, run and fit", whole, MOST_SECONDS, " s"),
        ]  # fmt: skip
    return [*lines, verdict("ε = 1, run", _mean(runs["default", 1.0], "seconds"), LOOP_AT_1, " s")]


def _mean(runs: list[dict[str, Any]], what: str) -> float:
    """The mean of a figure, 0 where a run has none."""
    return fmean(run.get(what) or 0.0 for run in runs)
