"""The tour, command by command, as a new user would type it."""

import os
import re
import subprocess
import sys
from pathlib import Path

TOUR = Path(__file__).parents[2] / "README.md"


def steps():
    """Every command of the tour with the lines that it is said to print."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", TOUR.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def alike(line):
    """A line with its numbers, which the noise changes, and its spaces made equal."""
    return re.sub(r"-?\d[\d,.]*(e-\d+)?", "#", " ".join(line.split()))


def test_the_tour_can_be_walked(tmp_path):
    tools = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    place = tmp_path
    for command, said in steps():
        if command.startswith("cd "):
            place /= command[3:]
            continue
        refused = bool(said) and said[0].startswith("Error:")
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=place,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert done.returncode == (2 if refused else 0), (command, done.stderr)
        assert (done.stdout if refused else done.stderr) == "", command
        printed = iter([alike(line) for line in (done.stdout + done.stderr).splitlines()])
        for line in said:
            assert alike(line) in printed, (command, line, done.stdout)
    assert sorted(path.name for path in place.iterdir()) == [
        "draft.yaml", "people-release", "people.budget", "people.csv", "report.html", "schema.yaml",
        "synthetic.parquet", "tables",
    ]  # fmt: skip


def test_the_tour_uses_only_our_commands():
    assert {command.split()[0] for command, _ in steps()} == {"residuum", "cd"}
    used = {command.split()[1] for command, _ in steps() if command.startswith("residuum")}
    assert used == {"demo", "schema", "release", "query", "info", "sample", "report", "export", "ledger"}
