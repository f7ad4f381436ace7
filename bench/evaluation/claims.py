"""What a claim is, and the rules by which it is judged."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from bench.evaluation.results import Run, mean

Verdict = Literal["reproduced", "not reproduced", "undecided", "not testable here"]

CLOSE = 0.02
"""Errors within so much of the expected ones are the same."""
ROUGH = 0.5
"""A speed-up of at least this share of the paper's is of its size, one above its inverse is larger."""
SUBSTANTIAL = 2.0
"""So many times faster is substantially faster."""
MANY = 0.5
"""At least this share of the residuals of low order is many of them."""
NEARLY_LINEAR = 1.1
"""To at most this power of the work a time is proportional to it."""
COMPETITIVE = 2.0
"""An error up to so many times another one competes with it."""
ROBUST = 1.25
"""Errors whose largest is up to so many times the smallest are alike."""
NEAR, LARGE = 0.5, 50.0
"""A model of at least this share of its limit came near it; limits from so many megabytes on are large ones."""
FAIR = 0.10
"""A rival is a fair one if it is no slower than the quoted one, and its error not above that by more than this."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed, the number that goes with it, what was measured, and what that makes of the claim."""

    what: str
    claimed: str
    measured: str
    verdict: Verdict


def untested(what: str, claimed: str, why: str = "not measured") -> Claim:
    """A claim that nothing here says anything about."""
    return Claim(what, claimed, why, "not testable here")


def verdict(holds: bool, decides: bool = True) -> Verdict:
    """What a measurement makes of a claim: nothing, where it was not on the table that the claim is about."""
    if not decides:
        return "not testable here"
    return "reproduced" if holds else "not reproduced"


def over_budgets(holds: bool, found: dict[float, float], decides: bool) -> Verdict:
    """The same of a claim about small and large budgets: a single one settles nothing."""
    return "undecided" if len(found) < 2 and decides else verdict(holds, decides)


def of_its_size(ratio: float, claimed: float) -> str:
    """A speed-up in words."""
    return f"{ratio:,.1f}×" + (f" (more than {1 / ROUGH:g} times the paper's)" if ratio > claimed / ROUGH else "")


def ratios(runs: dict[float, list[list[Run]]], measure: str = "L1") -> dict[float, float]:
    """For each budget, the mean of the first method's runs as a multiple of the second's."""
    return {epsilon: mean(first, measure) / mean(second, measure) for epsilon, (first, second) in runs.items()}


def by_epsilon(numbers: dict[float, float], unit: str = "") -> str:
    """Numbers with the budgets that they belong to."""
    return ", ".join(f"{number:.3g}{unit} at ε = {epsilon:g}" for epsilon, number in numbers.items())


def commas(numbers: Iterable[float]) -> str:
    """Numbers in a row."""
    return ", ".join(f"{number:.4g}" for number in numbers)
