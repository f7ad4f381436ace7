"""`make reproduce` measures a quick selection of the paper's evaluation, `make reproduce-full` all of it.

Results go to a folder as they come; started again, it goes on where it stopped. The page is written at the end.
"""

import argparse
import fcntl
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from bench import data
from bench.evaluation.log import PUBLISHED, ROOT, Log
from bench.evaluation.plan import plan
from bench.job import Result, measured
from bench.methods import Task, method_of

LIMIT = 7200.0
"""No task may take longer."""

UNKNOWN = {"aim+pgm": 600.0}
"""Seconds of a task that the published results do not have, by mechanism; of others ten."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.evaluation", description=__doc__)
    parser.add_argument(
        "what", choices=("quick", "full", "page"), help="measure quickly, measure all, or write the page"
    )
    parser.add_argument("--folder", type=Path, default=ROOT / "results", help="where results and page go (results)")
    parser.add_argument("--only", nargs="+", metavar="EXPERIMENT", help="of the experiments these alone")
    parser.add_argument("--docs", action="store_true", help="write the page into the documentation, with its results")
    given = parser.parse_args(arguments)
    folder: Path = given.folder
    log, failed = Log(folder / "results.jsonl"), 0
    if given.what != "page":
        experiments = plan(full=given.what == "full")
        if unknown := [name for name in given.only or () if name not in experiments]:
            parser.error(f"there is no experiment {unknown[0]!r}; there are: {', '.join(experiments)}")
        asked = ["data", *(given.only or experiments)]  # without the tables there is nothing to say of the rest
        with _claimed(folder):
            failed = measure([task for name in dict.fromkeys(asked) for task in experiments[name]], log)
    from bench.evaluation import page  # its pictures need a library that measuring does not

    print(f"The page: {page.write(log, page.DOCS if given.docs else folder)}")
    if failed:
        sys.exit(f"Error: {failed} tasks failed. The same command tries them again.")


def measure(tasks: list[Task], log: Log) -> int:
    """Run what the log does not have yet, one task after the other; return how many failed."""
    for name in data.PAPER:
        print(f"{name}: {_where(name)}", flush=True)
    left = [task for task in tasks if task not in log]
    if find_spec("mbi") is None and any(task["mechanism"] == "aim+pgm" for task in left):
        sys.exit("Error: AIM+PGM needs the package mbi. Install it, as with: pip install 'residuum[pgm]'")
    if len(left) < len(tasks):
        print(f"{len(tasks) - len(left)} of {len(tasks)} tasks are measured already.", flush=True)
    failed, started, usual = 0, time.monotonic(), Log(PUBLISHED)
    for number, task in enumerate(left, start=1):
        ahead = sum(_expected(other, usual) for other in left[number - 1 :])
        times = f"{_clock(time.monotonic() - started)}, some {_clock(ahead)} to go"
        print(f"[{number}/{len(left)}, {times}] {_named(task)}", end=" ", flush=True)
        entry = log.measure(task, run)
        print(entry.failed or f"({entry.took:.0f} s)", flush=True)
        failed += entry.failed is not None
        if entry.failed and task["mechanism"] == "none":
            sys.exit(f"Error: {task['table']} could not be read, so nothing is measured on it.")
    return failed


def run(task: Task) -> Result:
    """What a task measured, or how it failed; a file that cannot be read ends everything."""
    try:
        return measured(most_seconds=LIMIT, **task)
    except subprocess.TimeoutExpired:
        return {"failed": f"stopped after {LIMIT:g} s"}
    except subprocess.CalledProcessError as ended:
        if ended.returncode == 2:
            sys.exit(2)
        return {"failed": f"ended with {ended.returncode}"}


def _claimed(folder: Path) -> IO[str]:
    """An open file that says that this process measures into the folder; two at once would disturb each other."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = (folder / "lock").open("w")
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"Error: another process is measuring into {folder}.")
    return mark


def _expected(task: Task, usual: Log) -> float:
    """About how many seconds a task takes: on a real table as many as on its stand-in."""
    shaped = task | {"table": f"{task.get('table')}-shaped"}
    return usual.took(task) or usual.took(shaped) or UNKNOWN.get(task["mechanism"], 10.0)


def _where(name: str) -> str:
    if not data.is_stand_in(data.at_hand(name)):
        return data.FILES[name]
    return f"a stand-in of the same shape. For the real one: make reproduce {name.upper()}=FILE"


def _named(task: Task) -> str:
    """A task in a few words.

    >>> _named({"mechanism": "fixed", "table": "adult", "reconstruction": "lazy", "allocation": "crp", "epsilon": 1.0})
    'fixed sequence by lazy+crp, adult, ε = 1'
    """
    mechanism = task["mechanism"]
    if mechanism == "none":
        return f"reading {task['table']}"
    if mechanism == "in-axis":
        return f"Decomp and Recon of {task['shape'][0]}^{len(task['shape'])}"
    fixed = mechanism == "fixed"
    words = [f"fixed sequence by {task['reconstruction']}+{task['allocation']}" if fixed else method_of(task)]
    words.append(task["table"])
    if "sizes" in task:
        words[-1] = f"{task['rows']:,} rows, {len(task['sizes'])} attributes of {task['sizes'][0]}"
    words.append(f"ε = {task['epsilon']:g}")
    return ", ".join(words + ([f"seed {task['seed']}"] if "seed" in task else []))


def _clock(seconds: float) -> str:
    return f"{seconds // 60:.0f}:{seconds % 60:02.0f}"


def _stop(*_: object) -> None:
    sys.exit("\nStopped. The same command goes on from here.")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)  # the task that runs is ended with it
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        _stop()
