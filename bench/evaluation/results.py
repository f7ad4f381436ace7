"""The entries of a log in the terms of the evaluation: runs of methods, with their time, memory and errors."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from math import inf, isclose, prod, sqrt
from statistics import fmean, stdev
from typing import Any

from bench.data import is_stand_in
from bench.evaluation.log import Entry, Log
from bench.evaluation.plan import GROWN
from bench.methods import Task, is_graphical, megabytes_of, method_of
from bench.quoted import DATA_SETS

SIZE_16, DEGREE_3 = "attributes of 16 values", "three attributes"
"""What the paper fixes when it times Decomp and Recon."""

WHOLE = 1 - 2.0**-30
"""A share of the budget from which on all of it was used, but for rounding."""

SAME = 0.005
"""Up to so much of them, numbers are the same as those that the paper gives with three digits."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a method: seconds from codes in memory to the answers that were compared."""

    table: str
    method: str
    epsilon: float
    seconds: float
    first: float
    """Seconds of the first run of the process, where there were more."""
    gigabytes: float
    """The peak of the run, with its fit, before it answered."""
    rounds: int | None
    errors: dict[str, float]
    independent: dict[str, float]
    compared: int
    spent: float
    """The share of the budget that was used: less than all where time was up."""
    megabytes: float | None
    """The size of the graphical model."""
    parts: dict[str, float]
    """Where the seconds of AIM+PGM went."""
    compiling: float
    """How many of them went to compiling programs for the shapes of its models."""

    @property
    def uncompiled(self) -> float:
        """The seconds less those of compiling."""
        return self.seconds - self.compiling


@dataclass(frozen=True, slots=True)
class Steps:
    """A fixed sequence, or its first steps."""

    table: str
    strategy: str
    seconds: float
    timed: int
    """Of the steps that were done so many were timed, and stand for all of them."""
    steps: int
    of: int
    residuals: tuple[int, ...]
    """How many of no attribute, of one, of two and of three were measured in the steps."""
    error: float | None
    attributes: int | None
    """How many of the table were taken, where not all."""

    @property
    def where(self) -> str:
        """The table, or what was taken of it."""
        return f"{self.table}, {self.attributes} attributes" if self.attributes else self.table

    @property
    def whole(self) -> float:
        """Seconds of all steps, reckoned from those that were timed."""
        return self.seconds / self.steps * self.of


@dataclass(frozen=True, slots=True)
class Grown:
    """What a method took on a made-up table of which one thing grew."""

    what: str
    value: int
    method: str
    seconds: float
    gigabytes: float
    rounds: int | None


class Results:
    """What a log holds, by experiment: of the newest state of the code alone, and of the newest file of each table.

    A run whose time was up before its budget is kept apart, so that no rule or picture takes it for a whole one.
    """

    def __init__(self, log: Log) -> None:
        every = list(log)
        newest = max(every, key=lambda entry: entry.finished, default=None)
        current = [entry for entry in every if newest and entry.code == newest.code]
        files = {entry.task["table"]: entry.data for entry in current if _kind(entry) == "table"}
        self.entries = [entry for entry in current if files.get(entry.task.get("table", ""), entry.data) == entry.data]
        self.older = len(every) - len(self.entries)
        self.failures = [entry for entry in self.entries if entry.failed]
        done = [entry for entry in self.entries if not entry.failed]
        self.tables: dict[str, dict[str, Any]] = {e.task["table"]: e.result for e in done if _kind(e) == "table"}
        self.shapes: list[dict[str, Any]] = [entry.result for entry in done if _kind(entry) == "in-axis"]
        self.steps = [_steps(entry.task, entry.result) for entry in done if _kind(entry) == "sequence"]
        runs = [_run(entry.task, entry.result) for entry in done if _kind(entry) == "run"]
        self.runs = [run for run in runs if run.spent > WHOLE]
        self.cut_short = [run for run in runs if run.spent <= WHOLE]
        grown = chain(*(_grown(entry.task, entry.result) for entry in done if _kind(entry) == "growth"))
        self.grown = sorted(grown, key=lambda one: (one.what, one.method, one.value))

    def table(self, name: str) -> str:
        """A data set of the paper as it was measured: itself, or else its stand-in."""
        measured = [table for table in self.tables if table.startswith(name)]
        return min(measured, key=is_stand_in, default=name)

    def decides(self, table: str) -> bool:
        """Whether a table is the paper's own, so that what was measured on it decides what the paper says of it.

        A stand-in is not, nor a file of which other rows or attributes are left than the paper's.
        """
        paper, found = DATA_SETS.get(table), self.tables.get(table)
        if paper is None or found is None:
            return False
        rows, sizes = found["rows"], found["sizes"]
        if (rows, len(sizes)) != (paper.rows, paper.attributes):
            return False
        numbers = [(fmean(sizes), paper.average_size)]
        numbers += [(domain_size(sizes), paper.domain_size)] if paper.possible else []
        return all(isclose(here, there, rel_tol=SAME) for here, there in numbers)

    def settings(self) -> dict[str, list[dict[str, Any]]]:
        """The shapes of the in-axis operations by what is fixed in them, small ones first."""
        found = {
            SIZE_16: [shape for shape in self.shapes if set(shape["shape"]) == {16}],
            DEGREE_3: [shape for shape in self.shapes if len(shape["shape"]) == 3],
        }
        return {name: sorted(shapes, key=lambda shape: shape["bytes"]) for name, shapes in found.items()}

    def select(self, table: str, method: str, epsilon: float | None = None) -> list[Run]:
        """The runs of a method on a table, with that budget or all."""
        return [
            run for run in self.runs if (run.table, run.method) == (table, method) and epsilon in (None, run.epsilon)
        ]

    def together(self, table: str, *methods: str) -> dict[float, list[list[Run]]]:
        """For each budget with which all these methods were run and compared on the same marginals, their runs."""
        found = {}
        for epsilon in sorted({run.epsilon for run in self.runs if run.table == table}):
            runs = [self.select(table, method, epsilon) for method in methods]
            if all(runs) and len({run.compared for run in chain(*runs)}) == 1:
                found[epsilon] = runs
        return found

    def methods(self, table: str) -> list[str]:
        """The methods that were run on a table, those with a graphical model last."""
        return sorted({run.method for run in self.runs if run.table == table}, key=_by_size)

    def averaged(self, table: str) -> Iterator[tuple[str, float, list[Run]]]:
        """Every method and budget on a table, with its runs."""
        for method in self.methods(table):
            for epsilon in sorted({run.epsilon for run in self.select(table, method)}):
                yield method, epsilon, self.select(table, method, epsilon)

    def sequence(self, name: str, strategy: str) -> list[Steps]:
        """The runs of a fixed sequence on a data set of the paper, or on its stand-in."""
        table = self.table(name)
        return [steps for steps in self.steps if (steps.table, steps.strategy) == (table, strategy)]

    def sequences(self, name: str, allocation: str) -> list[Steps]:
        """The same with this allocation, a run for each seed: however it is updated, the estimates are the same."""
        lazy = self.sequence(name, f"lazy+{allocation}")
        return lazy if any(run.error is not None for run in lazy) else self.sequence(name, f"full+{allocation}")


def timed_steps(run: Steps) -> str:
    """Which steps of a sequence were timed."""
    if run.steps < run.of:
        return f"the first {run.steps:,} of {run.of:,}"
    return f"{run.timed:,} of {run.of:,}"


def mean(runs: Iterable[Run], measure: str = "L1") -> float:
    """The mean error of some runs, or of what else is named: "seconds", "first", "uncompiled", "gigabytes"…"""
    return fmean(_value(run, measure) for run in runs)


def spread(runs: Iterable[Run], measure: str = "L1") -> float:
    """The standard deviation, 0 of a single run."""
    values = [_value(run, measure) for run in runs]
    return stdev(values) if len(values) > 1 else 0.0


def standard_error(ours: list[Run], theirs: list[Run], alike: Iterable[list[Run]] = ()) -> float:
    """That of a difference of mean errors. A single run is taken to vary as much as any others here, or those `alike`.

    Where there are none, it may vary without bound.
    """
    widest = max(map(spread, (ours, theirs, *alike))) or inf
    return sqrt(sum((spread(runs) or widest) ** 2 / len(runs) for runs in (ours, theirs)))


def readable(number: float) -> str:
    """A number with three digits that mean something, and never a power of ten behind it.

    >>> readable(0.14622), readable(11987.4)
    ('0.146', '11,987')
    """
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def domain_size(sizes: Iterable[int]) -> float:
    """The number of cells of the whole table."""
    return float(prod(sizes))


def titled(name: str) -> str:
    """A data set of the paper, as it is called there."""
    return name.upper() if name == "acs" else name.capitalize()


def _value(run: Run, measure: str) -> float:
    return run.errors[measure] if measure in run.errors else getattr(run, measure)


def _kind(entry: Entry) -> str:
    """Which experiment an entry belongs to."""
    kinds = {"none": "table", "in-axis": "in-axis", "fixed": "sequence"}
    return kinds.get(entry.task["mechanism"]) or ("growth" if entry.task["table"] == "tree" else "run")


def _run(task: Task, result: dict[str, Any]) -> Run:
    (estimate,) = task["estimates"]
    after = result.get("fit seconds", 0.0) + result["answer seconds"][estimate]
    return Run(
        table=task["table"],
        method=method_of(task),
        epsilon=task["epsilon"],
        seconds=result["seconds"] + after,
        first=result.get("first run", result["seconds"]) + after,
        gigabytes=result.get("fit peak GB") or result.get("peak GB, run") or result["peak GB"],
        rounds=result.get("rounds"),
        errors=result["errors"][estimate],
        independent=result["errors"]["independent"],
        compared=result["compared"],
        spent=result.get("spent", 1.0),
        megabytes=result.get("megabytes"),
        parts=result.get("parts", {}),
        compiling=result.get("compiling", 0.0),
    )


def _steps(task: Task, result: dict[str, Any]) -> Steps:
    errors = result.get("errors", {}).get("mle")
    return Steps(
        table=task["table"],
        strategy=f"{task['reconstruction']}+{task['allocation']}",
        seconds=result["seconds"],
        timed=result["timed"],
        steps=result["steps"],
        of=result["of"],
        residuals=tuple(result["residuals"]),
        error=errors and errors["L1"],
        attributes=task.get("attributes"),
    )


def _grown(task: Task, result: dict[str, Any]) -> Iterator[Grown]:
    """A run as a point of each series that it is part of: the one that all begin with is part of every one."""
    rows, sizes, run = task["rows"], task["sizes"], _run(task, result)
    answering = result["answer seconds"][task["estimates"][0]]  # of a few marginals: it would not grow
    told = (run.method, run.seconds - answering, run.gigabytes, run.rounds)
    usual = (GROWN["rows"], GROWN["sizes"])
    if sizes == usual[1]:
        yield Grown("rows", rows, *told)
    if rows == usual[0] and sizes[0] == usual[1][0]:
        yield Grown("attributes", len(sizes), *told)
    if rows == usual[0] and len(sizes) == len(usual[1]):
        yield Grown("values of each attribute", sizes[0], *told)


def _by_size(method: str) -> tuple[bool, float, str]:
    return (True, megabytes_of(method), "") if is_graphical(method) else (False, 0.0, method)
