"""The second page: what a release promises, in words, and how its budget was spent, as a picture and in numbers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from math import ceil, exp, floor, log10

from residuum.core.zcdp import Spend, epsilon_of
from residuum.release import Release

KINDS = {
    "total": "measuring the total and single attributes",
    "pairs": "measuring pairs",
    "higher": "measuring three attributes or more",
    "select": "choosing what to measure",
    "lost": "lost in a crash",
}
"""What a budget is spent on, from the bottom of the picture to its top."""

_MOST_BARS = 60
_DELTA = 1e-9
"""Where a release was not asked for an epsilon and a delta, its guarantee is said with this delta."""


@dataclass(frozen=True, slots=True)
class Step:
    """One bar of the picture: some rounds, or some measurements, one after the other."""

    first: int
    last: int
    rho: dict[str, float]
    """What was spent on each of `KINDS`."""


def seeded(release: Release) -> bool:
    """Whether the noise is known to whoever knows a seed.

    >>> from residuum import Domain, Estimates, Workload
    >>> estimates = Estimates(Workload.all_kway(Domain({"sex": 2}), 1))
    >>> seeded(Release(estimates, 0.5, (), {"caveats": ("not private: seeded",)}, frozenset()))
    True
    """
    return any(str(caveat).startswith("not private") for caveat in release.provenance["caveats"])


def steps(spends: Iterable[Spend]) -> tuple[str, list[Step]]:
    """What is counted along the picture, and its bars: a run that chooses what to measure has rounds, others do not.

    >>> charges = [Spend("gaussian", (0,), 2**95, 1.0), Spend("exponential", (), 2**94, 1.0)]
    >>> charges += [Spend("gaussian", (0, 1), 2**94, 1.0)]
    >>> for step in steps(charges)[1]: print(step.first, step.rho)
    0 {'total': 0.5}
    1 {'select': 0.25, 'pairs': 0.25}
    """
    spends = tuple(spends)
    rounds = any(spend.mechanism == "exponential" for spend in spends)
    numbered: list[tuple[int, Spend]] = []
    number = 0
    for spend in spends:
        number += not rounds or spend.mechanism == "exponential"
        numbered.append((number, spend))
    begin = numbered[0][0] if numbered else 0
    width = max(1, ceil((number - begin + 1) / _MOST_BARS))
    bars: dict[int, dict[str, float]] = {}
    for number, spend in numbered:
        bar = bars.setdefault((number - begin) // width, {})
        bar[kind(spend)] = bar.get(kind(spend), 0.0) + spend.rho
    last = numbered[-1][0] if numbered else 0
    found = [Step(begin + k * width, min(last, begin + (k + 1) * width - 1), bars[k]) for k in sorted(bars)]
    return ("round" if rounds else "measurement"), found


def kind(spend: Spend) -> str:
    """Which of `KINDS` a charge is.

    >>> kind(Spend("gaussian", (0, 2), 1, 1.0))
    'pairs'
    """
    if spend.mechanism != "gaussian":
        return "lost" if spend.mechanism == "lost" else "select"
    return {0: "total", 1: "total", 2: "pairs"}.get(len(spend.clique), "higher")


def promise(release: Release) -> Iterator[tuple[str, str]]:
    """The guarantee, and what belongs to it, each with its name."""
    facts = release.provenance
    if seeded(release):
        yield "Guarantee", "None. The noise was drawn with a seed, and whoever knows it can take the noise away again."
    epsilon, delta = (facts.get(key) for key in ("epsilon", "delta"))
    if not (isinstance(epsilon, int | float) and isinstance(delta, int | float) and facts.get("rho") == release.rho):
        epsilon, delta = epsilon_of(release.rho, _DELTA), _DELTA
    without = "Without the seed it would be this. " if seeded(release) else ""
    yield "In words", f"{without}{_words(epsilon, delta)}"
    yield "Budget", f"ε = {epsilon:.4g} at δ = {delta:g}; as zero-concentrated privacy, ρ = {release.rho:.4g}."
    yield "Who is protected", _protected(facts.get("rows_per_person"), facts.get("neighbours"))
    yield (
        "What it does not cover",
        "What a table says of people in general, such as that smokers fall ill more often, also tells about each of "
        "them. Other releases about the same people add to this budget.",
    )
    yield "Mechanism", f"{facts.get('mechanism', 'unknown')}, {facts.get('software', 'by an unknown program')}."
    if release.schema is not None:
        confirmed = "It was confirmed by its owner." if release.schema.get("confirmed") else "NOT CONFIRMED."
        yield "Schema", f"What columns can hold was declared and not read off the rows. {confirmed}"
    for caveat in facts["caveats"]:
        yield "Caveat", f"{caveat}."


def _words(epsilon: float, delta: float) -> str:
    """What epsilon and delta mean."""
    times = f"{exp(epsilon):.3g}" if 0.01 <= epsilon < 700 else f"e^{epsilon:.3g}"
    return (
        f"Whatever somebody concludes from this release, they would have concluded almost as likely without any one "
        f"person's data: its chance changes by a factor of at most {times}, give or take {delta:g}."
    )


def _protected(rows: object, neighbours: object) -> str:
    many = f", with up to {rows:,} rows each" if isinstance(rows, int) and rows > 1 else ""
    hidden = {
        "add-remove": "Whether somebody is in the table at all is hidden.",
        "replace": "What somebody's row says is hidden; the number of rows is public.",
    }.get(str(neighbours), "")
    return f"Each person{many}. {hidden}".strip()


def shares(spends: Iterable[Spend]) -> dict[str, float]:
    """Which part of all that was spent went to each of `KINDS`, where it is more than nothing."""
    sums = dict.fromkeys(KINDS, 0.0)
    for spend in spends:
        sums[kind(spend)] += spend.rho
    whole = sum(sums.values()) or 1.0
    return {name: rho / whole for name, rho in sums.items() if rho}


def picture(release: Release) -> str:
    """The bars as HTML and SVG, stretched to the width of the page. What they look like is in the style sheet."""
    counted, bars = steps(release.spends)
    if not bars:
        return ""
    whole = sum(sum(bar.rho.values()) for bar in bars)
    ticks = scale(100 * max(sum(bar.rho.values()) for bar in bars) / whole)
    room, top = 100 / len(bars), ticks[-1]
    lines = (
        f'<line x1="0" x2="100" y1="{100 - 100 * tick / top:.2f}" y2="{100 - 100 * tick / top:.2f}"/>' for tick in ticks
    )
    drawn = (_bar(bar, counted, whole, k * room, room, top) for k, bar in enumerate(bars))
    label = f"Share of the budget by {counted}; the same is below in numbers."
    return (
        '<figure class="spending"><ol aria-hidden="true">'
        + "".join(f"<li>{tick:g}%</li>" for tick in reversed(ticks))
        + f'</ol><svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="{label}">'
        + f"{''.join(lines)}{''.join(drawn)}</svg>"
        + f"<p><span>{bars[0].first:,}</span> <span>{counted}</span> <span>{bars[-1].last:,}</span></p></figure>"
    )


def _bar(bar: Step, counted: str, whole: float, left: float, room: float, top: float) -> str:
    """One bar, with what it says to who points at it."""
    foot, pieces = 100.0, []
    for name in KINDS:
        height = 100 * 100 * bar.rho.get(name, 0.0) / whole / top
        if height:
            foot -= height
            place = f'x="{left + 0.06 * room:.3f}" y="{foot:.3f}" width="{0.88 * room:.3f}" height="{height:.3f}"'
            pieces.append(f'<rect class="{name}" {place}/>')
    said = f"{_span(counted, bar)}: {sum(bar.rho.values()) / whole:.2%} of the budget"
    return f"<g><title>{said}</title>{''.join(pieces)}</g>"


def scale(highest: float) -> list[float]:
    """Round numbers from 0 to the highest of all or just above it, evenly apart.

    >>> scale(5.89), scale(0.03)
    ([0.0, 2.0, 4.0, 6.0], [0.0, 0.01, 0.02, 0.03])
    """
    power = 10.0 ** floor(log10(highest / 5)) if highest > 0 else 1.0
    step = next(step for step in (power * m for m in (1, 2, 5, 10)) if highest / step <= 5)
    return [round(step * k, 12) for k in range(max(1, ceil(highest / step - 1e-9)) + 1)]


def _span(counted: str, bar: Step) -> str:
    if counted == "round" and bar.last == 0:
        return "Before the first round"
    if bar.first == bar.last:
        return f"{counted.capitalize()} {bar.first:,}"
    return f"{counted.capitalize()}s {bar.first:,} to {bar.last:,}"


def table(release: Release) -> str:
    """The bars as rows of an HTML table."""
    counted, bars = steps(release.spends)
    whole = sum(sum(bar.rho.values()) for bar in bars) or 1.0
    used = [name for name in KINDS if any(bar.rho.get(name) for bar in bars)]
    heads = "".join(f'<th scope="col" class="number">{escape(KINDS[name])}</th>' for name in used)
    rows = (
        f'<tr><th scope="row">{_span(counted, bar)}</th>'
        + "".join(f'<td class="number">{bar.rho.get(name, 0.0) / whole:.2%}</td>' for name in used)
        + "</tr>"
        for bar in bars
    )
    return f'<thead><tr><th scope="col">{counted}</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody>'
