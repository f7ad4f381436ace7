"""The second page: what a release promises, in words, and how its budget was spent, as a picture and in numbers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from residuum.core.zcdp import Spend
from residuum.present import account
from residuum.present.promise import Promise
from residuum.present.shown import plain
from residuum.release import Release

KINDS = {
    "total": "measuring the total and single attributes",
    "pairs": "measuring pairs",
    "higher": "measuring three attributes or more",
    "select": "choosing what to measure",
    "lost": "lost in a crash",
}
"""What a budget is spent on, from the bottom of the picture to its top."""

_KINDS = {
    "the total": "total",
    "single columns": "total",
    "pairs": "pairs",
    "choosing": "select",
    "lost in a crash": "lost",
}
"""Which of these the account's kinds are; all others are measurements of higher order."""

_MOST_BARS = 60


@dataclass(frozen=True, slots=True)
class Step:
    """One bar of the picture: some rounds, or some measurements, one after the other."""

    first: int
    last: int
    rho: dict[str, float]
    """What was spent on each of `KINDS`."""


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
    return _KINDS.get(account.kind(spend), "higher")


def facts(release: Release) -> Iterator[tuple[str, str]]:
    """The guarantee in one line, and what else there is to know before one trusts it, each with its name."""
    promise, said = Promise.of(release), release.provenance
    if promise.seeded:
        yield "Guarantee", "None. The noise was drawn with a seed, and whoever knows it can take the noise away again."
        yield "Without the seed", f"{promise.budget}, for each person."
    else:
        yield "Guarantee", f"{promise.budget}, for each person."
    yield "Mechanism", plain(f"{said.get('mechanism', 'unknown')}, {said.get('software', 'by an unknown program')}.")
    if release.schema is not None:
        confirmed = "It was confirmed by its owner." if release.schema.get("confirmed") else "NOT CONFIRMED."
        yield "Schema", f"What columns can hold was declared and not read off the rows. {confirmed}"
    for caveat in said["caveats"]:
        yield "Caveat", plain(f"{caveat}.")


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
