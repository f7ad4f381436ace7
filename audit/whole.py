"""Whole mechanisms: run them on both tables, and ask of each run how well it tells which table it was."""

from collections.abc import Callable

import numpy as np

from audit.finding import Finding
from audit.likelihood import Floats, Likelihood
from audit.statistics import gaussian_epsilon, lower_bound
from audit.tables import Pair
from audit.transcript import Program, Steps
from residuum.core import zcdp
from residuum.data.counts import Counts
from residuum.mechanism.terms import Terms

Check = Callable[[Steps, Counts], bool]
"""Whether the questions of a run could have been asked on another table."""

CERTAIN = 100.0
"""The log-likelihood ratio of a transcript that could not have come about on the other table."""


def audit(
    what: str,
    program: Program,
    pair: Pair,
    *,
    rho: float,
    delta: float,
    runs: int,
    rows_per_person: int = 1,
    planted: bool = False,
    batch: bool = False,
) -> Finding:
    """Audit a program's claim of ρ-zCDP, as the (ε, δ) that the package converts it to.

    A batch method measures everything once with noise fixed beforehand, so its exact ε is that of a Gaussian,
    up to the whole numbers that the noise is made of, which many measurements together smooth out.
    """
    terms = Terms.agree(rho=rho, neighbours=pair.relation, rows_per_person=rows_per_person)
    first, second = statistics(program, pair, terms, runs, batch)
    exact = None
    if batch:
        mu = Likelihood(pair).separation(program.transcript(pair.counts[0], terms))
        exact = gaussian_epsilon(mu, delta)
    bound = lower_bound(first, second, delta)
    claimed = zcdp.epsilon_of(rho, delta)
    certain = max(np.abs(first).max(), np.abs(second).max()) > CERTAIN / 2
    fault = "what is asked depends on the data" if certain else ""
    return Finding(f"{what}, {pair.relation}", runs, delta, claimed, bound, exact, planted, fault)


def statistics(program: Program, pair: Pair, terms: Terms, runs: int, batch: bool = False) -> tuple[Floats, Floats]:
    """The log-likelihood ratios of runs on the first table, and of runs on the second."""
    likelihood = Likelihood(pair)
    first, second = pair.counts
    check = (_always_the_same if batch else _possible)(program, pair, terms)

    def ratios(own: bool) -> Floats:
        counts, others = (first, second) if own else (second, first)
        found = np.empty(runs)
        for run in range(runs):
            steps = program.transcript(counts, terms)
            found[run] = likelihood.ratio(steps)
            if not check(steps, others):
                found[run] += CERTAIN if own else -CERTAIN
        return found

    return ratios(own=True), ratios(own=False)


def _possible(program: Program, _: Pair, terms: Terms) -> Check:
    """By running the program again, on the other table and with the same answers."""
    return lambda steps, others: program.possible(steps, others, terms)


def _always_the_same(program: Program, pair: Pair, terms: Terms) -> Check:
    """By comparing with what is asked on the second table: a batch method asks the same in every run."""
    expected = [question for question, _ in program.transcript(pair.counts[1], terms)]
    return lambda steps, _: [question for question, _ in steps] == expected
