"""Everything that leaves the curator in a run, and whether a run on another table could have gone the same way.

The mechanisms are run as they are. A `Transcript` takes the place of the journal, which sees every question that the
public part of a mechanism asks and every answer. Questions follow from earlier answers, or should: recalled on another
table, the mechanism gets the same answers and has to ask the same questions. The same holds of the estimates that the
default tells its curator, from a model of earlier answers, so they are taken down as well and have to be the same.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from residuum.core import zcdp
from residuum.core.domain import Clique
from residuum.core.grem import Estimates
from residuum.core.workload import Workload
from residuum.data.counts import Counts
from residuum.estimate.reference import Reference
from residuum.mechanism import aim, batch, guided
from residuum.mechanism.curator import AdaptiveCurator
from residuum.mechanism.journal import Arrays, Journal
from residuum.mechanism.run import Run, Terms
from residuum.privacy.ledger import Ledger
from residuum.privacy.noise import Noise, SystemNoise
from residuum.release import Release

Question = dict[str, Any]
Steps = list[tuple[Question, Arrays]]
Mechanism = Callable[[Run, Counts, Workload], Release]


class DivergenceError(Exception):
    """The mechanism asked another question than in the run that is recalled."""


class Transcript(Journal):
    """The questions and answers of a run: written down, or recalled where they are given."""

    def __init__(self, known: Steps | None = None) -> None:
        self.steps: Steps = []
        self._recalled = iter(known) if known is not None else None

    @property
    def recalling(self) -> bool:
        """Whether answers are given and not drawn."""
        return self._recalled is not None

    def once(self, question: Question, draw: Callable[[], Arrays]) -> Arrays:
        """The answer to a question."""
        if self._recalled is None:
            self.steps.append((question, draw()))
            return self.steps[-1][1]
        expected, answer = next(self._recalled, (None, []))
        if question != expected:
            raise DivergenceError
        return answer

    def told(self, estimates: Iterable[tuple[Clique, NDArray[np.float64]]]) -> None:
        """Take down what the curator is told that marginals are estimated to be, or see that it is the same again."""
        cliques, values = zip(*estimates, strict=True)
        before = self.once({"told": [list(gamma) for gamma in cliques]}, lambda: list(values))
        if not all(map(np.array_equal, before, values)):
            raise DivergenceError

    def done(self) -> bool:
        """Whether all that was known has been recalled."""
        return self._recalled is None or next(self._recalled, None) is None


@dataclass(frozen=True)
class Program:
    """A mechanism with the parts it is made of. The package's own, unless a bug is planted in one of them."""

    mechanism: Mechanism
    noise: Callable[[], Noise] = SystemNoise
    ledger: Callable[[float], Ledger] = Ledger
    changes: Callable[[], AbstractContextManager[None]] = nullcontext
    """What else is changed while it runs."""

    def transcript(self, counts: Counts, terms: Terms) -> Steps:
        """Run it and take down what leaves the curator."""
        return self.release(counts, terms)[1]

    def release(self, counts: Counts, terms: Terms) -> tuple[Release, Steps]:
        """Run it; what it releases, and what left the curator on the way."""
        transcript = Transcript()
        with self.changes():
            release = self.mechanism(_Watched(terms, self, transcript), counts, counts.workload)
        return release, transcript.steps

    def possible(self, steps: Steps, counts: Counts, terms: Terms) -> bool:
        """Whether on this table the same answers lead to the same questions."""
        transcript = Transcript(steps)
        try:
            with self.changes():
                self.mechanism(_Watched(terms, self, transcript), counts, counts.workload)
        except DivergenceError:
            return False
        return transcript.done()


def aim_grem(run: Run, counts: Counts, workload: Workload) -> Release:
    """The paper's AIM+GReM, as `residuum.aim` runs it with `reference="none"`."""
    return aim.spend(run, counts, workload, allocation="crp", min_share=1e-3, progress=False)


def default(reference: Reference = "latent", **schedule: Any) -> Mechanism:
    """AIM+GReM guided by a reference model, as `residuum.aim` runs it.

    Latent classes take some 15 milliseconds a run, independent attributes three. The wall is the same for both: what
    they say goes into `compare` and nowhere else.
    """
    compare = AdaptiveCurator.compare

    def noted(curator: AdaptiveCurator, estimates: Iterable[tuple[Clique, NDArray[np.float64]]]) -> None:
        told, transcript = list(estimates), curator._journal
        assert isinstance(transcript, Transcript)
        transcript.told(told)
        compare(curator, told)

    def mechanism(run: Run, counts: Counts, workload: Workload) -> Release:
        with patch.object(AdaptiveCurator, "compare", noted):
            return aim.spend(
                run, counts, workload, allocation="crp", min_share=1e-3, progress=False, reference=reference, **schedule
            )

    return mechanism


def residual_planner(run: Run, counts: Counts, workload: Workload) -> Release:
    """ResidualPlanner as `residuum.residual_planner` runs it."""
    return batch.batch(run, counts, workload, objective="sum", progress=False)


@contextmanager
def never_plenty() -> Iterator[None]:
    """No budget is so large that the default measures all as planned: small tables have no budget between."""
    with patch.object(guided, "_PLENTY", 0.0):
        yield


class _Watched(Run):
    """A run with the parts of a program, which leaves nothing on disk."""

    def __init__(self, terms: Terms, program: Program, transcript: Transcript) -> None:
        super().__init__(terms)
        self.noise = program.noise()
        self.ledger = program.ledger(zcdp.per_row(terms.rho, terms.rows_per_person))
        self.journal = transcript

    def finish(self, mechanism: str, estimates: Estimates, parameters: Mapping[str, Any]) -> Release:
        """The release, not saved, and with little said about it: that takes longer than a run on a small table."""
        said = {"mechanism": mechanism, **parameters}
        return Release(estimates, self.ledger.rho, self.ledger.spends, said, frozenset())
