"""One run of a method in a process of its own, so that its time and its peak of memory are its own.

`python -m bench.job '{"table": "acs-shaped", "mechanism": "aim", "epsilon": 10}'` prints what it measured as JSON, or
why it failed. A task may also name the `order` of the marginals (3), `options` of the mechanism, what to do with the
release (`fit` the latent classes, `draw` so many rows), and `estimates` to compare with the truth. Where all would be
too many it takes some `attributes` of the table, or compares a `sample` of the marginals. Seconds are from codes in
memory to a release; those of the answers are counted apart.
"""

import gc
import json
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import fsum
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import algebra, data
from bench.errors import Batch, errors_of, estimate_of, independent, one_by_one, some_targets, together
from bench.methods import Task
from bench.public import UnreadableError
from residuum import BudgetFile, Release, Table, Workload, aim, kernels, residual_planner
from residuum.core import zcdp
from residuum.core.domain import Clique
from residuum.core.workload import subsets
from residuum.data.counts import Counts
from residuum.mechanism.allocation import initial
from residuum.mechanism.fixed import fixed_sequence

DELTA = 1e-9

REPEATED_UP_TO, MOST_REPEATS = 1.0, 5
"""A run is repeated until so many seconds have passed or so many runs are done; the median of them counts."""

Result = dict[str, Any]
Answering = Callable[[str], Batch]
"""From the name of an estimate to its answers."""


def measured(*, most_seconds: float | None = None, **task: Any) -> Result:
    """What a task measured, run in a process of its own; one that takes too long is ended.

    What the caller holds open for others to inherit stays open as long as that process lives.
    """
    command = [sys.executable, "-W", "ignore", "-m", "bench.job", json.dumps(task)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=most_seconds, close_fds=False)
    return json.loads(done.stdout.splitlines()[-1])


def run(task: Task) -> Result:
    if task["mechanism"] == "in-axis":
        return algebra.measure(tuple(task["shape"]))
    table = data.tree(task["sizes"], task["rows"]) if task["table"] == "tree" else data.load(task["table"])
    if "attributes" in task:
        table = data.some_attributes(table, task["attributes"])
    if task["mechanism"] == "none":
        return {"rows": table.columns.shape[1], "sizes": table.domain.sizes}
    workload = Workload.all_kway(table.domain, task.get("order", 3))
    _warm_up()
    _settle()
    result, answering = MECHANISMS[task["mechanism"]](task, table, workload)
    result["peak GB"] = _peak()
    if task.get("estimates"):
        result |= _compared(task, table, workload, answering)
    return result


def _released(task: Task, table: Table, workload: Workload) -> tuple[Result, Answering]:
    """A release, with what is made of it without another look at the rows. A quick run is repeated."""
    release, first = _release(task, table, workload)
    peak, runs = _peak(), [first]
    while sum(run["seconds"] for run in runs) < REPEATED_UP_TO and len(runs) < MOST_REPEATS:
        runs.append(_release(task, table, workload)[1])
    result: Result = {name: median(run[name] for run in runs) for name in first}
    result |= {
        "first run": first["seconds"],
        "repeats": len(runs),
        "rounds": release.provenance.get("rounds"),
        "measurements": len(release.spends),
        "peak GB, run": peak,
    }
    return result | _worked_out(task, release), partial(_answers_of, release)


def _release(task: Task, table: Table, workload: Workload) -> tuple[Release, dict[str, float]]:
    mechanism = {"aim": aim, "residual planner": residual_planner}[task["mechanism"]]
    first: list[float] = []
    kept = {}
    with TemporaryDirectory() as folder:
        if task.get("on disk"):
            kept = {"output": f"{folder}/release", "ledger": f"{folder}/people.budget"}
            BudgetFile.create(kept["ledger"], epsilon=task["epsilon"], delta=DELTA)
        started = time.perf_counter()
        release = mechanism(
            table,
            workload,
            epsilon=task["epsilon"],
            delta=DELTA,
            seed=task.get("seed", 0),
            progress=lambda _: first.append(time.perf_counter()) if not first else None,
            **task.get("options", {}),
            **kept,
        )
        finished = time.perf_counter()
    return release, {"seconds": finished - started, "before first round": (first or [finished])[0] - started}


def _answers_of(release: Release, name: Any) -> Batch:
    return together(release) if name == "mle" else one_by_one(estimate_of(release, name))


def _worked_out(task: Task, release: Release) -> Result:
    result: Result = {}
    if task.get("fit"):
        started = time.perf_counter()
        mixture = release.fit()
        result |= {"fit seconds": time.perf_counter() - started, "fit peak GB": _peak()}
        result["members"], result["classes"] = mixture.weights.shape
    if task.get("draw"):
        started = time.perf_counter()
        release.sample(task["draw"], seed=0)
        result["draw seconds"] = time.perf_counter() - started
    return result


def _fixed(task: Task, table: Table, workload: Workload) -> tuple[Result, Answering]:
    """The paper's fixed sequence, in random order; the seconds are those of its steps.

    Where all is put together only after `every` so many steps, those steps are timed and stand for all: they come at
    regular distances, while later ones take longer.
    """
    counts = Counts(table, workload)
    order = np.random.default_rng(task.get("seed", 0)).permutation(len(workload.targets))
    steps = task.get("steps", len(order))
    every = min(task.get("every", 1), steps)
    times: list[float] = []
    release = fixed_sequence(
        counts,
        [workload.targets[k] for k in order],
        rho=zcdp.rho_of(task["epsilon"], DELTA),
        seed=task.get("seed", 0),
        allocation=task["allocation"],
        reconstruction=task["reconstruction"],
        steps=steps,
        every=every,
        watch=lambda _: times.append(time.perf_counter()),
    )
    took = np.diff(times)
    result = {
        "seconds": float(took[every - 1 :: every].mean() * len(took)),
        "timed": len(took[every - 1 :: every]),
        "steps": len(took),
        "of": len(order),
        "residuals": _by_order(release, task["allocation"] == "iid", begun=len(initial(workload, 1.0))),
    }
    return result, lambda _: one_by_one(release.estimates.marginal)


def _by_order(release: Release, whole: bool, begun: int) -> list[int]:
    """How many residuals of no attribute, of one, of two and so on were measured, but for those to begin with.

    A `whole` marginal with isotropic noise measures all residuals below it at once.
    """
    measured = [spend.clique for spend in release.spends[begun:]]
    if whole:
        measured = [tau for gamma in measured for tau in subsets(gamma)]
    return np.bincount([len(tau) for tau in measured]).tolist()


def _graphical(task: Task, table: Table, workload: Workload) -> tuple[Result, Answering]:
    """AIM+PGM; its models' compiling counts, because one of another shape is compiled anew in any case."""
    from bench.pgm.aim import aim_pgm

    started = time.perf_counter()
    rho = zcdp.rho_of(task["epsilon"], DELTA)
    fitted = aim_pgm(table, workload, rho=rho, seed=task.get("seed", 0), **task.get("options", {}))
    result = {
        "seconds": time.perf_counter() - started,
        "rounds": fitted.rounds,
        "megabytes": fitted.megabytes,
        "spent": fsum(fitted.charges) / rho,
        "parts": fitted.seconds,
        "compiling": fitted.compiling,
    }
    return result, lambda _: one_by_one(fitted.tree.marginal)


MECHANISMS = {"aim": _released, "residual planner": _released, "fixed": _fixed, "aim+pgm": _graphical}

ONLY = {"fixed": "mle", "aim+pgm": "model"}
"""The one estimate that some of them have."""


def _compared(task: Task, table: Table, workload: Workload, answering: Answering) -> Result:
    """The errors of estimates, with the seconds of their answers, and those of the independent model."""
    compared = some_targets(workload, task["sample"]) if "sample" in task else workload
    if task["mechanism"] in ONLY and task["estimates"] != [ONLY[task["mechanism"]]]:
        raise ValueError(f"There is no estimate but {ONLY[task['mechanism']]!r} of {task['mechanism']}.")
    timed = {name: _Timed(answering(name)) for name in task["estimates"]}
    alone = one_by_one(independent(Counts(table, Workload.all_kway(table.domain, 1))))
    errors = errors_of({"independent": alone, **timed}, table, compared.targets)
    return {
        "errors": errors,
        "answer seconds": {name: answers.seconds for name, answers in timed.items()},
        "compared": len(compared.targets),
    }


class _Timed:
    """Answers, and how long they took together."""

    def __init__(self, batch: Batch) -> None:
        self.batch, self.seconds = batch, 0.0

    def __call__(self, targets: Sequence[Clique]) -> Mapping[Clique, NDArray[Any]]:
        started = time.perf_counter()
        answers = self.batch(targets)
        self.seconds += time.perf_counter() - started
        return answers


def _peak() -> float:
    """The most memory this process has had so far, or since the peak was forgotten, in GB."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024 / 1e9
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024) / 1e9


def _settle() -> None:
    """Keep what came before out of what is measured: the peak of memory, and objects that garbage is looked for among.

    Linux alone can forget a peak.
    """
    gc.collect()
    gc.freeze()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _warm_up() -> None:
    """Load what is compiled, so that no time is the compiler's."""
    table = data.tree([2, 3, 20, 20, 9, 9], 1000)
    workload = Workload.all_kway(table.domain, 3)
    aim(table, workload, rho=1.0, seed=0, progress=False).sample(10, seed=0)
    aim(table, workload, rho=1.0, seed=0, reference="none", progress=False)
    residual_planner(table, workload, rho=1.0, seed=0, progress=False)
    kernels.add_component(np.zeros((2, 2)), np.zeros(2), (0,))


if __name__ == "__main__":
    try:
        print(json.dumps(run(json.loads(sys.argv[1]))))
    except UnreadableError as reason:
        print(f"Error: {reason}", file=sys.stderr)
        sys.exit(2)
    except Exception as reason:
        traceback.print_exc()
        print(json.dumps({"failed": f"{type(reason).__name__}: {reason}"}))
