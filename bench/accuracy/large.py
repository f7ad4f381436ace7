"""Wide tables: stand-ins with the shape of the paper's ACS and Loans, in time, memory and error."""

from subprocess import CalledProcessError
from typing import Any

from bench.accuracy.show import BUDGET, console, steps, table, verdict
from bench.job import measured

CASES = (("acs-shaped", 0.1), ("acs-shaped", 1.0), ("acs-shaped", 10.0), ("loans-shaped", 1.0), ("loans-shaped", 100.0))
SAMPLE = 200
ESTIMATES = ("mle", "best", "latent")
LIMITS = {("acs-shaped", 10.0): (30.0, 2.0), ("loans-shaped", 1.0): (60.0, 10.0)}
"""The targets of the run: seconds, GB."""
MOST_FITTING = 300.0
"""The target of the fit to the ACS-shaped table, in seconds."""


def main() -> None:
    """Print what each case took and how far its estimates are from the truth."""
    runs = {case: _run(*case) for case in steps("large", CASES)}
    shown = table(
        f"Made-up tables, all 3-way marginals, {BUDGET}, one seed; mean ‖μ - μ̂‖₁ / N over {SAMPLE} of them",
        "table", "ε", "rounds", "run s", "GB", "fit s", "classes", "GB", *ESTIMATES, "independent",
    )  # fmt: skip
    for (name, epsilon), run in runs.items():
        if "failed" in run:
            shown.add_row(name, f"{epsilon:g}", run["failed"])
            continue
        shown.add_row(
            name, f"{epsilon:g}", str(run["rounds"]), f"{run['seconds']:.1f}", f"{run['peak GB']:.2f}",
            f"{run['fit seconds']:.1f}", f"{run['members']} × {run['classes']}", f"{run['fit peak GB']:.2f}",
            *(f"{run['errors'][estimate]['L1']:.4f}" for estimate in (*ESTIMATES, "independent")),
        )  # fmt: skip
    console.print(shown)
    console.print('"Independent" is the product of the exact 1-way marginals, made from the truth: not private.')
    for line in _targets(runs):
        console.print(line)


def _run(name: str, epsilon: float) -> dict[str, Any]:
    """What a case measured; or how it ended, where it did not finish."""
    try:
        return measured(
            table=name, mechanism="aim", epsilon=epsilon, fit=True, estimates=list(ESTIMATES), sample=SAMPLE
        )
    except CalledProcessError as ended:
        return {"failed": f"ended with {ended.returncode}"}


def _targets(runs: dict[tuple[str, float], dict[str, Any]]) -> list[str]:
    lines = []
    for (name, epsilon), run in runs.items():
        at = f"{name}, ε = {epsilon:g}"
        if "failed" in run:
            lines.append(f"{at}: missed, {run['failed']}")
            continue
        if (name, epsilon) in LIMITS:
            seconds, memory = LIMITS[name, epsilon]
            lines.append(verdict(f"{at}, run", run["seconds"], seconds, " s"))
            lines.append(verdict(f"{at}, memory of the run", run["peak GB"], memory, " GB"))
        else:
            lines.append(f"{at}: finished")
        if name == "acs-shaped":
            lines.append(verdict(f"{at}, fit", run["fit seconds"], MOST_FITTING, " s"))
        if name == "acs-shaped" and epsilon <= 1:
            for estimate in ("latent", "best"):
                error, mle = run["errors"][estimate]["L1"], run["errors"]["mle"]["L1"]
                lines.append(verdict(f"{at}, error of {estimate}, against the mle", error, mle))
    return lines
