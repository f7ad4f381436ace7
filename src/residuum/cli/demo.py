"""Release marginals of a sample of made-up people and show some of them, as a user would on a table of real ones."""

from collections.abc import Sequence
from math import exp
from time import perf_counter

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from residuum import Marginal, Release, Table, Workload, aim
from residuum.core.zcdp import budget
from residuum.data.counts import Counts
from residuum.data.sample import people

DELTA = 1e-9
ORDER = 3
SHOWN = (("education",), ("age", "marital"), ("income", "housing"))
"""What to print of the release; the age and marital status of the sample are strongly tied."""


def show(console: Console | None = None, *, epsilon: float = 1.0, rows: int = 50_000) -> None:
    """Run the demonstration. Nothing of the release is printed before all of it is ready."""
    budget(epsilon, DELTA)  # a wrong epsilon is told before anything else is
    page = Page(console or Console())
    table = people(rows)
    workload = Workload.all_kway(table.domain, ORDER)
    page.text(f"\n{rows:,} made-up people with {len(table.domain)} attributes stand in for a private table.")
    page.turn()
    started = perf_counter()
    release = aim(table, workload, epsilon=epsilon, delta=DELTA)
    seconds = perf_counter() - started
    marginals = [release.marginal(attributes) for attributes in SHOWN]
    incomplete = sum(bool(release.marginal(gamma).unmeasured) for gamma in workload.targets)
    error = true_error(release, table)

    page.head("What was released")
    page.text(
        f"All {len(workload.targets):,} marginals over {ORDER} of the {len(table.domain)} attributes, "
        f"{workload.cells:,} counts, and every marginal below them. "
        f"{release.provenance['mechanism']} took {release.provenance['rounds']:,} rounds and {seconds:.2f} seconds."
    )
    page.head("Guarantee, for each person")
    page.text(f"epsilon = {epsilon:g}, delta = {DELTA:g} (rho = {release.rho:.4g})", style="bold")
    page.text(
        "Whether any one person is in the table or not changes the probability of any result "
        f"by a factor of at most {_factor(epsilon)}, give or take {DELTA:g}."
    )
    for caveat in release.provenance["caveats"]:
        page.text(f"Caveat: {caveat}.", style="yellow")
    page.head("Some of it")
    page.text(
        "Behind each count stands the 95% interval of its noise, which moves one count in twenty by more. "
        "A count may fall below zero: cutting it off there would bias the sums."
    )
    for marginal in marginals:
        page.marginal(marginal, release)
    if incomplete:
        page.text(
            f"\n{incomplete} of the {len(workload.targets)} marginals have a component that was never measured. "
            "There the interval covers the noise only, not what is missing."
        )
    page.head("What only made-up people can tell")
    page.text(
        f"The true average L1 error is {error:.3f}: what a marginal's counts are off by, added up and divided by "
        f"the {rows:,} people, on average over all {len(workload.targets)} marginals. "
        "On a real table this number would have to stay secret.\n"
    )
    try:
        page.turn()
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Stopped. The release was complete and may have been shown.") from None


def true_error(release: Release, table: Table) -> float:
    """The mean over the workload's marginals of |released - true| / rows: private, unless the people are made up."""
    counts = Counts(table, release.workload)
    errors = [
        np.abs(release.marginal(gamma).values - counts.marginal(gamma)).sum() for gamma in release.workload.targets
    ]
    return float(np.mean(errors)) / max(1, table.columns.shape[1])


class Page:
    """A terminal to write on, in plain ASCII where its encoding demands that."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._parts: list[RenderableType] = []
        unicode = console.encoding.startswith("utf")
        self._within, self._times = ("±", "×") if unicode else ("+/-", "x")

    def head(self, text: str) -> None:
        """A heading."""
        self.text(f"\n{text}", "bold cyan")

    def text(self, text: str, style: str = "") -> None:
        """A paragraph."""
        self._parts.append(Text(text, style))

    def marginal(self, marginal: Marginal, release: Release) -> None:
        """A marginal over one or two attributes, each count with the 95% interval of its noise."""
        domain, half = release.domain, 1.96 * marginal.noise_stderr
        labels = [[str(x) for x in domain.labels[i] or range(domain.sizes[i])] for i in _places(marginal, release)]
        columns = labels[1] if len(labels) > 1 else ["people"]
        grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        grid.add_column(f" {self._times} ".join(marginal.attributes), overflow="fold")
        for column in columns:
            grid.add_column(column, justify="right", overflow="fold")
        for label, counts in zip(labels[0], marginal.values.reshape(-1, len(columns)), strict=True):
            grid.add_row(label, *(f"{_number(count, half)} {self._within} {_number(half, half)}" for count in counts))
        self._parts.append(Padding(grid, (1, 0, 0, 2), expand=False))
        if marginal.unmeasured:
            parts = ", ".join(f" {self._times} ".join(part) or "total" for part in marginal.unmeasured)
            self.text(
                f"Never measured and taken as zero: {parts}. The interval covers the noise only, not this.", "yellow"
            )

    def turn(self) -> None:
        """Print what has been written, all at once."""
        parts, self._parts = self._parts, []
        self._console.print(Group(*parts))


def _places(marginal: Marginal, release: Release) -> Sequence[int]:
    return [release.domain.names.index(name) for name in marginal.attributes]


def _number(value: float, half: float) -> str:
    """As many digits as the interval makes sense of, and no minus before a zero."""
    digits = 0 if half >= 10 else 1 if half >= 1 else 2
    return f"{round(value, digits) + 0.0:,.{digits}f}"


def _factor(epsilon: float) -> str:
    power = f"e^{epsilon:g}"
    return f"{power} = {exp(epsilon):.3g}" if 0.01 <= epsilon < 700 else power
