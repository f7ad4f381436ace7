"""One run of a mechanism in a process of its own, so that its time and its peak of memory are its own.

`python -m bench.job '{"table": "acs", "mechanism": "aim", "epsilon": 10}'` prints what it measured as JSON.
"""

import json
import resource
import subprocess
import sys
import time
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench import data
from residuum import BudgetFile, Release, Table, Workload, aim, kernels, residual_planner
from residuum.core import zcdp
from residuum.core.domain import Clique
from residuum.data.counts import Counts
from residuum.mechanism.fixed import fixed_sequence

DELTA = 1e-9


def measured(**task: Any) -> dict[str, Any]:
    """What a task measured, run in a process of its own."""
    command = [sys.executable, "-m", "bench.job", json.dumps(task)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1])


def run(task: dict[str, Any]) -> dict[str, Any]:
    table = data.adult() if task["table"] == "adult" else _made_up(task)
    workload = Workload.all_kway(table.domain, 3)
    _warm_up()
    started = time.perf_counter()
    if task["mechanism"] == "fixed":
        return _fixed(task, table, workload)
    mechanism = {"aim": aim, "residual planner": residual_planner}[task["mechanism"]]
    first: list[float] = []
    with TemporaryDirectory() as folder:
        kept = {}
        if task.get("on disk"):
            kept = {"output": f"{folder}/release", "ledger": f"{folder}/people.budget"}
            BudgetFile.create(kept["ledger"], epsilon=task["epsilon"], delta=DELTA)
        release = mechanism(
            table,
            workload,
            epsilon=task["epsilon"],
            delta=DELTA,
            seed=task.get("seed", 0),
            progress=lambda _: first.append(time.perf_counter()) if not first else None,
            **kept,
        )
        finished = time.perf_counter()
    result = {
        "seconds": finished - started,
        "before first round": (first or [finished])[0] - started,
        "rounds": release.provenance.get("rounds"),
        "measurements": len(release.spends),
        "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }
    if task.get("error"):
        result["error"] = error(release, Counts(table, workload), workload.targets)
    return result


def error(release: Release, counts: Counts, targets: tuple[Clique, ...]) -> float:
    """The mean over the targets of ‖μ - μ̂‖₁ / N."""
    distances = [np.abs(release.estimates.marginal(gamma) - counts.marginal(gamma)).sum() for gamma in targets]
    return float(np.mean(distances) / counts.marginal(()).item())


def _fixed(task: dict[str, Any], table: Table, workload: Workload) -> dict[str, Any]:
    counts = Counts(table, workload)
    order = np.random.default_rng(task.get("seed", 0)).permutation(len(workload.targets))
    sequence = [workload.targets[k] for k in order]
    times: list[float] = []
    release = fixed_sequence(
        counts,
        sequence,
        rho=zcdp.rho_of(task["epsilon"], DELTA),
        seed=task.get("seed", 0),
        allocation=task["allocation"],
        reconstruction=task["reconstruction"],
        steps=task.get("steps"),
        watch=lambda _: times.append(time.perf_counter()),
    )
    result = {"seconds": times[-1] - times[0], "measurements": len(release.spends)}
    if task.get("error"):
        result["error"] = error(release, counts, workload.targets)
    return result


def _made_up(task: dict[str, Any]) -> Table:
    if task["table"] == "tree":
        return data.tree(task["sizes"], task["rows"])
    return data.stand_in(task["table"])


def _warm_up() -> None:
    """Load what is compiled, so that no time is the compiler's."""
    table = data.tree([2, 3, 20, 20], 1000)
    aim(table, Workload.all_kway(table.domain, 3), rho=1.0, seed=0)
    kernels.add_component(np.zeros((2, 2)), np.zeros(2), (0,))


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
