"""AIM+GReM against AIM+PGM, in time."""

from dataclasses import dataclass

from bench.evaluation.claims import FAIR
from bench.evaluation.results import Results, Run, mean
from bench.methods import PAPER, is_graphical, megabytes_of
from bench.quoted import AIM_PGM, Program


@dataclass(frozen=True, slots=True)
class Race:
    """AIM+GReM against AIM+PGM with one budget: by the time of ours if that is a fair rival, else by the quoted one."""

    epsilon: float
    rival: str
    runs: list[Run]
    rivals: list[Run]
    quoted: Program | None

    @property
    def fair(self) -> bool:
        """Whether nothing that is quoted speaks against the rival."""
        return self.quoted is None or is_fair(self.rivals, (self.epsilon, megabytes_of(self.rival)))

    @property
    def error(self) -> float:
        return mean(self.runs)

    @property
    def rival_error(self) -> float:
        return mean(self.rivals) if self.fair or not self.quoted else self.quoted.error

    @property
    def rival_seconds(self) -> float:
        return mean(self.rivals, "seconds") if self.fair or not self.quoted else self.quoted.seconds

    @property
    def usual(self) -> float:
        """How many times faster, once the process has run it before."""
        return self.rival_seconds / mean(self.runs, "seconds")

    @property
    def strict(self) -> float:
        """How many times faster if only the first run of a process counts, as it does for the rival."""
        return self.rival_seconds / mean(self.runs, "first")

    @property
    def uncompiled(self) -> float:
        """The same if our rival had nothing to compile."""
        return mean(self.rivals, "uncompiled") / mean(self.runs, "first")


def races(results: Results) -> list[Race]:
    """The comparisons in time on Adult, by size of model and budget. What is quoted is of the real table."""
    adult = results.table("adult")
    quoted = AIM_PGM if results.decides(adult) else {}
    return [
        Race(epsilon, rival, ours, rivals, quoted.get((epsilon, megabytes_of(rival))))
        for rival in filter(is_graphical, results.methods(adult))
        for epsilon, (ours, rivals) in results.together(adult, PAPER, rival).items()
    ]


def is_fair(rivals: list[Run], key: tuple[float, float]) -> bool:
    """Whether our AIM+PGM is about as accurate as the quoted one, and no slower."""
    quoted = AIM_PGM[key]
    return mean(rivals) <= (1 + FAIR) * quoted.error and mean(rivals, "seconds") <= quoted.seconds
