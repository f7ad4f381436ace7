"""The guarantee of a release in plain words."""

from dataclasses import dataclass
from math import exp
from typing import Any

from residuum.core.zcdp import epsilon_of
from residuum.release import Release

NOT_PRIVATE = "not private"
"""What the caveat of a release that protects nobody begins with."""

_RELATIONS = {
    "add-remove": "Hidden is whether somebody is in the table at all, and so the number of people is hidden too.",
    "replace": "Hidden is what somebody's row says. That they are in the table is not, and nor is the number of rows.",
}


@dataclass(frozen=True, slots=True)
class Promise:
    """What a release guarantees."""

    budget: str
    seeded: bool
    says: tuple[str, ...]
    """What it means, a paragraph each."""
    leaves_open: tuple[str, ...]
    """What it does not cover."""
    table: tuple[tuple[str, str, str], ...]
    """For some δ: ε, and how often a guess whether somebody is in the table can be right at best."""

    @classmethod
    def of(cls, release: Release) -> "Promise":
        """That of a release."""
        facts = release.provenance
        epsilon, delta = asked_for(release)
        rows = facts.get("rows_per_person")
        relation = str(facts.get("neighbours"))
        deltas = sorted({delta, 1e-6, 1e-9, 1e-12} - {None}, reverse=True)  # type: ignore[type-var]
        says = ["What follows is what a run without a seed would have guaranteed."] if seeded(release) else []
        says += [*_meaning(epsilon, delta, release.rho, relation), _unit(rows, relation)]
        if relation in _RELATIONS:
            says.append(_RELATIONS[relation])
        return cls(
            budgeted(epsilon, delta, release.rho),
            seeded(release),
            tuple(says),
            tuple(_open(rows, relation)),
            tuple(_row(release.rho, each, epsilon if each == delta else None) for each in deltas),
        )


def seeded(release: Release) -> bool:
    """Whether the noise is known to whoever knows a seed, so that a release protects nobody.

    >>> from residuum import Domain, Estimates, Workload
    >>> estimates = Estimates(Workload.all_kway(Domain({"sex": 2}), 1))
    >>> seeded(Release(estimates, 0.5, (), {"caveats": ("not private: seeded",)}, frozenset()))
    True
    """
    return any(str(caveat).startswith(NOT_PRIVATE) for caveat in release.provenance["caveats"])


def asked_for(release: Release) -> tuple[float | None, float | None]:
    """The epsilon and delta that a release was asked for, where that is all it holds.

    They are not taken from a folder on trust: what does not follow from ρ is not repeated.

    >>> from residuum import Domain, Estimates, Workload
    >>> estimates = Estimates(Workload.all_kway(Domain({"sex": 2}), 1))
    >>> claimed = {"epsilon": 0.1, "delta": 1e-9, "rho": 0.5, "caveats": ()}
    >>> asked_for(Release(estimates, 0.5, (), claimed, frozenset()))
    (None, None)
    """
    epsilon, delta, rho = (release.provenance.get(key) for key in ("epsilon", "delta", "rho"))
    if rho != release.rho or not isinstance(epsilon, int | float) or not isinstance(delta, float) or not 0 < delta < 1:
        return None, None
    real = epsilon_of(release.rho, delta)
    return (epsilon, delta) if 0.999 * real <= epsilon <= 1.001 * real else (None, None)


def budgeted(epsilon: float | None, delta: float | None, rho: float) -> str:
    """A budget in symbols.

    >>> budgeted(1.0, 1e-9, 0.015)
    'ε = 1, δ = 1e-09 (ρ = 0.015)'
    """
    if epsilon is None or delta is None:
        return f"ρ = {rho:.4g} (zero-concentrated)"
    return f"ε = {epsilon:g}, δ = {delta:g} (ρ = {rho:.4g})"


def factor(epsilon: float) -> str:
    """By how much epsilon lets a chance change.

    >>> factor(1.0), factor(1000.0)
    ('e^ε = 2.72', 'e^ε = e^1e+03')
    """
    return f"e^ε = {exp(epsilon):.3g}" if 0.01 <= epsilon < 700 else f"e^ε = e^{epsilon:.3g}"


def right_at_most(epsilon: float, delta: float) -> float:
    """How often a guess, between two tables as likely as each other, can be right under (ε, δ) at best.

    The errors α and β of any test obey α + e^ε β ≥ 1 - δ, and the same with both exchanged. So their sum is at least
    2 (1 - δ) / (1 + e^ε).

    >>> round(right_at_most(1.0, 1e-9), 3), right_at_most(0.0, 0.0)
    (0.731, 0.5)
    """
    return 1 - (1 - delta) / (1 + exp(min(epsilon, 700.0)))


def _meaning(epsilon: float | None, delta: float | None, rho: float, relation: str) -> list[str]:
    without = "with other data in their place" if relation == "replace" else "without that person's data"
    first = (
        "Noise was added to everything that was measured, so that the release would have come out much the same "
        f"{without}, whoever the person. Whoever reads it, whatever else they know and however long they compute, "
        "learns little about one person that they would not have learned in that case too."
    )
    if epsilon is None or delta is None:
        epsilon, delta = epsilon_of(rho, 1e-9), 1e-9
    second = (
        f"How little, ε says: any result is at most {factor(epsilon)} times as likely with a "
        f"person's data as {without}, but for a chance of δ = {delta:g}. So somebody who has to guess which of the two "
        "it was, and would otherwise be right every second time, is right in at most "
        f"{right_at_most(epsilon, delta):.1%} of cases."
    )
    third = "A smaller ε protects more. Computing anything from the release, this page too, takes nothing away from it."
    return [first, second, third]


def _unit(rows: Any, relation: str) -> str:
    held = "the table row" if relation == "replace" else "data"
    if rows == 1:
        return "The guarantee is for each person, each of whom has one row of the table."
    if isinstance(rows, int):
        return f"The guarantee is for each person with all their {held}: up to {rows:,} rows of the table."
    return "The guarantee is for each person with as many rows as its runs were told."


def _open(rows: Any, relation: str) -> list[str]:
    most = "one row" if rows == 1 else f"{rows:,} rows" if isinstance(rows, int) else "the rows stated"
    found = [
        f"People of whom more than {most} depend. It rests on that statement, and nobody can check it in the release.",
        "Groups. A family of k people together is protected less: as if the budget were ρ times k².",
        "What is true of many. If the tables show that an illness is frequent in a region, they say something about "
        "each of its people, whether these took part or not.",
        "What is not hidden: the columns and their values, the marginals asked for, the budget, how long it took.",
        "Other releases about the same people. Budgets add up; a budget file shared by all of them keeps the account.",
    ]
    return found + (["The number of rows, which is public."] if relation == "replace" else [])


def _row(rho: float, delta: float | None, asked: float | None) -> tuple[str, str, str]:
    assert delta is not None
    epsilon = epsilon_of(rho, delta) if asked is None else asked
    return f"{delta:g}", f"{epsilon:.3g}", f"{right_at_most(epsilon, delta):.1%}"
