"""One run of a mechanism in a process of its own, so that its time and its peak of memory are its own.

`python -m bench.job '{"table": "acs", "mechanism": "aim", "epsilon": 10}'` prints what it measured as JSON. A task may
also name the `order` of the marginals (3), `options` of the mechanism, and what to do with the release: `fit` the
latent classes, `draw` so many rows, and compare these `estimates` with the truth, on a `sample` of the marginals where
all are too many.
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
from bench.errors import errors, estimate_of, independent, some_targets
from residuum import BudgetFile, Release, Table, Workload, aim, kernels, residual_planner
from residuum.core import zcdp
from residuum.data.counts import Counts
from residuum.mechanism.fixed import fixed_sequence

DELTA = 1e-9


def measured(**task: Any) -> dict[str, Any]:
    """What a task measured, run in a process of its own."""
    command = [sys.executable, "-m", "bench.job", json.dumps(task)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1])


def run(task: dict[str, Any]) -> dict[str, Any]:
    table = data.tree(task["sizes"], task["rows"]) if task["table"] == "tree" else data.load(task["table"])
    workload = Workload.all_kway(table.domain, task.get("order", 3))
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
            **task.get("options", {}),
            **kept,
        )
        finished = time.perf_counter()
    result = {
        "seconds": finished - started,
        "before first round": (first or [finished])[0] - started,
        "rounds": release.provenance.get("rounds"),
        "measurements": len(release.spends),
        "peak GB": _peak(),
    }
    if task.get("error"):
        result["error"] = error(release, Counts(table, workload))
    return result | _worked_out(task, release, table)


def error(release: Release, counts: Counts) -> float:
    """The mean over the targets of ‖μ - μ̂‖₁ / N, for the maximum likelihood estimates."""
    return errors(release.estimates.marginal, counts, release.workload.targets)["L1"]


def _worked_out(task: dict[str, Any], release: Release, table: Table) -> dict[str, Any]:
    """What is made of a release without another look at the rows, and how far that is from them."""
    result: dict[str, Any] = {}
    if task.get("fit"):
        started = time.perf_counter()
        mixture = release.fit()
        result |= {"fit seconds": time.perf_counter() - started, "fit peak GB": _peak()}
        result["members"], result["classes"] = mixture.weights.shape
    if task.get("draw"):
        started = time.perf_counter()
        release.sample(task["draw"], seed=0)
        result["draw seconds"] = time.perf_counter() - started
    if task.get("estimates"):
        compared = some_targets(release.workload, task["sample"]) if "sample" in task else release.workload
        truth = Counts(table, compared)
        result["errors"] = {"independent": errors(independent(truth), truth, compared.targets)}
        for name in task["estimates"]:
            result["errors"][name] = errors(estimate_of(release, name), truth, compared.targets)
    return result


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
        result["error"] = error(release, counts)
    return result


def _peak() -> float:
    """The most memory this process has had so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def _warm_up() -> None:
    """Load what is compiled, so that no time is the compiler's."""
    table = data.tree([2, 3, 20, 20], 1000)
    release = aim(table, Workload.all_kway(table.domain, 3), rho=1.0, seed=0)
    release.sample(10, seed=0)
    kernels.add_component(np.zeros((2, 2)), np.zeros(2), (0,))


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
