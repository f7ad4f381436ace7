"""How the budget is shared out: what more or fewer rounds, and other shares, would do to the error."""

from collections.abc import Callable
from math import exp, log, sqrt
from statistics import fmean
from typing import Any

from bench import data
from bench.accuracy.show import BUDGET, EPSILONS, available, console, steps, table
from bench.errors import errors, estimate_of
from bench.job import DELTA
from residuum import Workload, aim
from residuum.core import zcdp
from residuum.data.counts import Counts
from residuum.mechanism import anneal, guided
from residuum.release import fingerprint

ORDER = 3
SEEDS = range(2)
ROUNDS = (0.5, 2.0)
"""Times the number of rounds that the default would have."""
SINGLES = (0.1, 0.3, 0.6)
SELECT = (0.05, 0.2)

Options = dict[str, Any]


def main() -> None:
    """Print the error of every variant, as a multiple of the default's."""
    tables = available(data.REAL)
    counts = {name: Counts(people, Workload.all_kway(people.domain, ORDER)) for name, people in tables.items()}
    ratios: dict[str, dict[tuple[str, float], list[float]]] = {kind: {} for kind in _variants(1.0)}
    defaults: dict[tuple[str, float], float] = {}
    for name, epsilon in steps("schedule", [(name, epsilon) for name in tables for epsilon in EPSILONS]):
        error = _error_of(counts[name], epsilon)
        default = defaults[name, epsilon] = error({})
        for kind, variants in _variants(_rounds(counts[name], epsilon)).items():
            ratios[kind][name, epsilon] = [error(options) / default for options in variants.values()]
    console.print(
        f"Error of best, mean ‖μ - μ̂‖₁ / N of all {ORDER}-way marginals, {BUDGET}, mean of {len(SEEDS)} seeds, "
        "as a multiple of that with the default. Above 1, the default is better."
    )
    console.print(
        f"The default has N √ρ / {guided._PER_ROUND:g} rounds, gives {guided._SINGLES:g} to the single attributes "
        f"({guided._FIRST_LOOK:g} where it measures all pairs) and {anneal.SELECTION:g} of a round to selection. "
        f"Where more than {guided._NEARLY_ALL:g} of the pairs would have a round, it measures all. Where the noise of "
        f"ResidualPlanner would be at most {guided._PLENTY:g} of the total, it follows that plan, as no variant does."
    )
    for kind, found in ratios.items():
        names = _variants(1.0)[kind]
        shown = table(kind, "table", "ε", "rounds", "default's error", *names)
        for (name, epsilon), values in found.items():
            rounds = f"{_rounds(counts[name], epsilon):.1f}"
            cells = (f"{value:.3f}" for value in values)
            shown.add_row(name, f"{epsilon:g}", rounds, f"{defaults[name, epsilon]:.4f}", *cells)
        means = [exp(fmean(map(log, column))) for column in zip(*found.values(), strict=True)]
        shown.add_section()
        shown.add_row("geometric mean", "", "", "", *(f"{mean:.3f}" for mean in means))
        console.print(shown)


def _variants(rounds: float) -> dict[str, dict[str, Options]]:
    """The options that are tried, by what they change."""
    return {
        "Rounds, times the default's": {
            f"× {factor:g}": {"rounds": max(1, round(factor * rounds))} for factor in ROUNDS
        },
        "Share of the single attributes": {f"{share:g}": {"share_singles": share} for share in SINGLES},
        "Share of selection in a round": {f"{share:g}": {"share_select": share} for share in SELECT},
    }


def _rounds(counts: Counts, epsilon: float) -> float:
    """How many rounds the default has, before it is rounded; it goes by the noisy total, this by the exact one."""
    return counts.marginal(()).item() * sqrt(zcdp.rho_of(epsilon, DELTA)) / guided._PER_ROUND


def _error_of(counts: Counts, epsilon: float) -> Callable[[Options], float]:
    """A function from options to the mean error of best. Options that lead to the same measurements are judged once."""
    workload = counts.workload
    judged: dict[str, float] = {}

    def error(options: Options, seed: int) -> float:
        release = aim(counts, workload, epsilon=epsilon, delta=DELTA, seed=seed, progress=False, **options)
        same = fingerprint(release.estimates)
        if same not in judged:
            judged[same] = errors(estimate_of(release, "best"), counts, workload.targets)["L1"]
        return judged[same]

    return lambda options: fmean(error(options, seed) for seed in SEEDS)
