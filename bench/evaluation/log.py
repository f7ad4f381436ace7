"""What was measured, line by line in a file: every task with its result, the code, the machine and the load it met."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import file_digest, sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench import data
from bench.job import Result
from bench.methods import Task
from residuum.kernels import threads

ROOT = Path(__file__).parents[2]

PUBLISHED = ROOT / "docs" / "evaluation" / "results.jsonl"
"""The results that the page of the documentation is made from."""

_MEASURED = (
    *(f"src/residuum/{room}" for room in ("core", "data", "estimate", "kernels", "mechanism", "privacy")),
    "src/residuum/marginal.py",
    "src/residuum/release.py",
    "bench/pgm",
    *(f"bench/{name}.py" for name in ("algebra", "data", "errors", "job", "kronecker", "public")),
    "bench/shapes.json",
)
"""The code whose change makes a result one of the past."""

_PACKAGES = ("numpy", "numba", "scipy", "mbi", "jax")

_EXTENT = ("estimates", "every", "most_seconds", "sample", "steps")
"""How much of a task is done, or compared: asked for otherwise, it takes the place of what was measured before."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A task, what it measured or how it failed, and where, when and by which code that was."""

    task: Task
    result: Result
    code: str
    data: str
    """A fingerprint of the file that the table was read from; none of a made-up one."""
    commit: str
    machine: dict[str, Any]
    versions: dict[str, str]
    load: tuple[float, float]
    """How many processes wanted a core, on average over the minute before the task began and before it ended."""
    took: float
    """Seconds of the whole task."""
    finished: str

    @property
    def failed(self) -> str | None:
        """How the task failed, if it did."""
        return self.result.get("failed")


class Log:
    """The entries of a file, the last one of a task counting, however much of it was done.

    A task is found again if as much of it is asked for, and the code and the table's file are still the same.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries = {_key(entry.task): entry for entry in _read(path)} if path.exists() else {}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __contains__(self, task: Task) -> bool:
        entry = self._entries.get(_key(task))
        if entry is None or entry.failed:
            return False
        return (entry.task, entry.code, entry.data) == (task, code(), source(task))

    def took(self, task: Task) -> float | None:
        """How many seconds a task took, with whatever code."""
        entry = self._entries.get(_key(task))
        return entry and entry.took

    def measure(self, task: Task, run: Callable[[Task], Result]) -> Entry:
        """Run a task and write down its result; a process that is killed loses no more than the line it was writing.

        What was run is looked at before: files that change in the meantime change the next task.
        """
        before = {"code": code(), "data": source(task), "commit": commit()}
        load, begun = os.getloadavg()[0], time.monotonic()
        result = run(task)
        entry = Entry(
            task=task,
            result=result,
            **before,
            machine=machine(),
            versions=versions(),
            load=(load, os.getloadavg()[0]),
            took=time.monotonic() - begun,
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        line = json.dumps({name: getattr(entry, name) for name in Entry.__slots__})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            file.seek(0, os.SEEK_END)
            if file.tell():
                file.seek(-1, os.SEEK_END)
                line = line if file.read() == b"\n" else "\n" + line
            file.write(f"{line}\n".encode())
        self._entries[_key(task)] = entry
        return entry


def code() -> str:
    """A fingerprint of all that every result depends on: code and packages."""
    found = sha256(json.dumps(versions()).encode())
    for place in map(ROOT.joinpath, _MEASURED):
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:12]


def source(task: Task) -> str:
    """A fingerprint of the file that a task's table is read from."""
    path = data.FILES.get(task.get("table", ""), "")
    return _contents(path) if Path(path).is_file() else ""


def commit() -> str:
    """The last commit of what is measured, with a plus where files differ from it; empty without a repository."""
    try:
        last = _git("log", "-1", "--format=%h", "--", *_MEASURED)
        return last + ("+" if _git("status", "--porcelain", "--", *_MEASURED) else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


@cache
def machine() -> dict[str, Any]:
    """What the machine is: nothing that would name it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{platform.system()}, {platform.machine()}"
    return {"cores": threads.count(), "memory GiB": round(memory), "system": system}


@cache
def versions() -> dict[str, str]:
    """Of Python and of the packages that do the work."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _read(path: Path) -> Iterator[Entry]:
    """The entries of a file, but for lines that were never finished."""
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield Entry(**json.loads(line))
        except json.JSONDecodeError:
            continue


@cache
def _contents(path: str) -> str:
    """A digest of a file, which may be large."""
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()[:12]


def _key(task: Task) -> str:
    """What a task is, without how much of it."""
    told = task | task.get("options", {})
    return json.dumps({name: told[name] for name in told if name not in ("options", *_EXTENT)}, sort_keys=True)


def _git(*command: str) -> str:
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
