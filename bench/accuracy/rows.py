"""Synthetic rows: how far their marginals are from the truth, and what a classifier learns from them."""

from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.show import BUDGET, EPSILONS, available, console, spread, steps, table, verdict
from bench.errors import errors, estimate_of
from bench.job import DELTA, measured
from residuum import Release, Table, Workload, aim
from residuum.data.counts import Counts

SEEDS = range(3)
MANY, MOST_SECONDS = 1_000_000, 10.0
"""How many rows are drawn to time it, and the target in seconds."""


def main() -> None:
    """Print the errors of rows, what a classifier makes of them, and the time it takes to draw them."""
    tables = available(["adult"])
    if not tables:
        return
    adult = tables["adult"]
    _marginals(adult)
    _classifier(adult)
    drawn = measured(table="adult", mechanism="aim", epsilon=1.0, fit=True, draw=MANY)
    console.print(verdict(f"Adult, ε = 1: {MANY:,} rows of 15 columns", drawn["draw seconds"], MOST_SECONDS, " s"))


def _marginals(adult: Table) -> None:
    truth = Counts(adult, Workload.all_kway(adult.domain, 3))
    targets = truth.workload.targets
    shown = table(
        f"Adult, all 3-way marginals, {BUDGET}, mean ‖μ - μ̂‖₁ / N, {len(SEEDS)} seeds",
        "ε",
        "model (latent)",
        "its rows",
    )
    for epsilon in EPSILONS:
        model, drawn = [], []
        for seed in steps(f"rows, ε = {epsilon:g}", SEEDS):
            release = _release(adult, epsilon, seed)
            model.append(errors(estimate_of(release, "latent"), truth, targets)["L1"])
            drawn.append(_error(_drawn(release, adult.columns.shape[1], seed), truth))
        shown.add_row(f"{epsilon:g}", spread(model), spread(drawn))
    console.print(shown)
    number = adult.columns.shape[1]
    again = [_taken(adult, np.random.default_rng(seed).integers(number, size=number)) for seed in SEEDS]
    console.print(
        f"As many rows drawn from Adult itself, with repetition: {spread([_error(some, truth) for some in again])}. "
        "So much is due to drawing alone."
    )


def _classifier(adult: Table) -> None:
    """Learn the income from synthetic rows of one half of the people, and judge it by the other half."""
    order = np.random.default_rng(0).permutation(adult.columns.shape[1])
    training, held_out = (_taken(adult, half) for half in np.array_split(order, 2))
    shown = table(
        f"Income of held-out people of Adult ({held_out.columns.shape[1]:,}), by gradient boosting, {len(SEEDS)} seeds",
        "learned from", "accuracy", "AUC",
    )  # fmt: skip
    right, area = _learned(training, held_out)
    shown.add_row(f"the other half, as it is ({training.columns.shape[1]:,} people)", f"{right:.4f}", f"{area:.4f}")
    for epsilon in EPSILONS:
        found = []
        for seed in steps(f"classifier, ε = {epsilon:g}", SEEDS):
            release = _release(training, epsilon, seed)
            found.append(_learned(_drawn(release, training.columns.shape[1], seed), held_out))
        accuracy, areas = zip(*found, strict=True)
        shown.add_row(f"as many synthetic rows from it, ε = {epsilon:g}", spread(accuracy), spread(areas))
    majority = float(np.bincount(training.columns[-1]).argmax())
    shown.add_row("nothing: the majority", f"{fmean(held_out.columns[-1] == majority):.4f}", "0.5000")
    console.print(shown)


def _taken(people: Table, rows: NDArray[np.integer]) -> Table:
    """A table of these rows."""
    return Table.from_codes(people.columns[:, rows].T, people.domain)


def _release(people: Table, epsilon: float, seed: int) -> Release:
    workload = Workload.all_kway(people.domain, 3)
    return aim(people, workload, epsilon=epsilon, delta=DELTA, seed=seed, progress=False)


def _drawn(release: Release, number: int, seed: int) -> Table:
    """Synthetic rows as a table of codes."""
    rows = release.sample(number, seed=seed)
    codes = np.column_stack([rows.column(name).to_numpy() for name in release.domain.names])
    return Table.from_codes(codes, release.domain)


def _error(rows: Table, truth: Counts) -> float:
    return errors(Counts(rows, truth.workload).marginal, truth, truth.workload.targets)["L1"]


def _learned(rows: Table, held_out: Table) -> tuple[float, float]:
    """Accuracy and area under the curve on held-out people, for the last column learned from rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import accuracy_score, roc_auc_score

    classifier: Any = HistGradientBoostingClassifier(random_state=0)
    known, wanted = _split(rows)
    classifier.fit(known, wanted)
    known, wanted = _split(held_out)
    accuracy = accuracy_score(wanted, classifier.predict(known))
    return float(accuracy), float(roc_auc_score(wanted, classifier.predict_proba(known)[:, 1]))


def _split(people: Table) -> tuple[NDArray[Any], NDArray[Any]]:
    return people.columns[:-1].T.astype(np.float64), people.columns[-1]
