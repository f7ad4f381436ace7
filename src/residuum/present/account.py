"""What a release cost, what it measured, and how noisy that is: from public numbers alone."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from residuum.core.domain import Clique
from residuum.core.zcdp import Spend
from residuum.estimate.intervals import REACH
from residuum.present.shown import listing, named
from residuum.release import Release

_POINTS = 240
"""Steps of the picture of the budget."""

_MOST_MARGINALS = 20_000
"""Of more marginals over as many columns, so many are looked at, spread evenly."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What one kind of question has cost."""

    name: str
    questions: int
    share: float
    """Of all that was spent."""


@dataclass(frozen=True, slots=True)
class Noise:
    """How noisy the marginals over so many columns are."""

    columns: str
    marginals: int
    looked_at: int
    whole: int
    """How many of those have all their components measured."""
    components: tuple[int, int]
    """How many components over so many columns were measured, and how many there are."""
    spread: tuple[float, ...]
    """The least, 5%, 25%, 50%, 75%, 95% and greatest standard error of a count, of the whole ones."""
    missing: str
    """Components that were never measured, some of them by name."""

    @property
    def tenth(self) -> float:
        """The count from which on half of these marginals are known to a tenth, 95% of the time."""
        return 10 * REACH * self.spread[3]


def kinds(spends: Sequence[Spend]) -> list[Kind]:
    """What was spent on what.

    >>> kinds([Spend("gaussian", (0,), 2**95, 1.0), Spend("exponential", (), 2**95, 1.0)])
    [Kind(name='single columns', questions=1, share=0.5), Kind(name='choosing', questions=1, share=0.5)]
    """
    counts: Counter[str] = Counter()
    costs: dict[str, float] = {}
    for spend in spends:
        counts[kind(spend)] += 1
        costs[kind(spend)] = costs.get(kind(spend), 0.0) + spend.rho
    whole = sum(costs.values()) or 1.0
    return [Kind(name, counts[name], costs[name] / whole) for name in sorted(costs, key=_rank)]


def course(spends: Sequence[Spend]) -> list[dict[str, str | int | float]]:
    """How the budget went, question by question: the share that each kind had used up by then, at some 240 of them.

    >>> course([Spend("gaussian", (0,), 2**95, 1.0)])
    [{'n': 0, 'kind': 'single columns', 'share': 0.0}, {'n': 1, 'kind': 'single columns', 'share': 1.0}]
    """
    names = [each.name for each in kinds(spends)]
    used = dict.fromkeys(names, 0.0)
    whole = sum(spend.rho for spend in spends) or 1.0
    stops = {round(k) for k in np.linspace(0, len(spends), min(len(spends), _POINTS) + 1)}
    rows: list[dict[str, str | int | float]] = [{"n": 0, "kind": name, "share": 0.0} for name in names]
    for n, spend in enumerate(spends, start=1):
        used[kind(spend)] += spend.rho / whole
        if n in stops:
            rows += [{"n": n, "kind": name, "share": round(share, 6)} for name, share in used.items()]
    return rows


def noise(release: Release) -> list[Noise]:
    """How noisy the marginals are that can be asked for, by the number of their columns."""
    return [_noise(release, order, list(cliques)) for order, cliques in groupby(release.workload.closure, len)]


def _noise(release: Release, order: int, cliques: list[Clique]) -> Noise:
    step = max(1, -(-len(cliques) // _MOST_MARGINALS))
    looked_at = cliques[::step]
    found = [release.noise(gamma) for gamma in looked_at]
    stderrs = [stderr for stderr, unmeasured in found if not unmeasured]
    spread = np.quantile(stderrs, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]).tolist() if stderrs else ()
    unmeasured = [tau for tau in cliques if release.estimates.precision(tau) == 0]
    return Noise(
        ordered(order),
        len(cliques),
        len(looked_at),
        len(stderrs),
        (len(cliques) - len(unmeasured), len(cliques)),
        tuple(spread),
        listing(_names(release, unmeasured), most=12) if unmeasured else "",
    )


def _names(release: Release, cliques: list[Clique]) -> Iterator[str]:
    return (named(release.domain.name(tau)) for tau in cliques)


def kind(spend: Spend) -> str:
    """What a charge was for.

    >>> kind(Spend("gaussian", (0, 2), 1, 1.0)), kind(Spend("exponential", (), 1, 1.0))
    ('pairs', 'choosing')
    """
    if spend.mechanism == "gaussian":
        return ordered(len(spend.clique))
    return {"exponential": "choosing", "lost": "lost in a crash"}.get(spend.mechanism, spend.mechanism)


def ordered(order: int) -> str:
    """What to call things over so many columns.

    >>> ordered(2), ordered(4)
    ('pairs', '4 columns together')
    """
    return {0: "the total", 1: "single columns", 2: "pairs", 3: "triples"}.get(order, f"{order} columns together")


def _rank(name: str) -> tuple[int, str]:
    known = ["the total", "single columns", "pairs", "triples"]
    late = ["choosing", "lost in a crash"]
    return (known.index(name) if name in known else 99 if name in late else 50), name
