"""How long a wide Parquet file takes to become codes, and how much memory, next to DuckDB scanning it alone.

`python -m bench.read [ROWS]` makes up 20 columns: texts, whole numbers, reals, dates, booleans, some missing.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from residuum.data.schema import Schema
from residuum.data.sources import read

WORDS = ["basic", "secondary", "vocational", "bachelor", "master", "doctor", "none", "other"]

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "word": (f"{WORDS!r}[1 + (hash(i, {{k}}) % 9)::INT]", {"kind": "categorical", "values": WORDS}),
    "age": ("(hash(i, {k}) % 110)::BIGINT", {"kind": "integer", "min": 0, "max": 99, "bins": 20}),
    "income": ("exp((hash(i, {k}) % 100000) / 8000.0)", {"kind": "real", "min": 0, "max": 200000, "bins": 32}),
    "day": (
        "DATE '2020-01-01' + (hash(i, {k}) % 1500)::INT",
        {"kind": "date", "min": "2020-01-01", "max": "2023-12-31", "granularity": "month"},
    ),
    "flag": ("hash(i, {k}) % 2 = 0", {"kind": "boolean"}),
}
COLUMNS = [*["word"] * 8, *["age"] * 5, *["income"] * 4, *["day"] * 2, "flag"]


def schema() -> Schema:
    """A schema of 20 columns."""
    return Schema.from_dict({"columns": {f"{kind}{k}": KINDS[kind][1] for k, kind in enumerate(COLUMNS)}})


def make(path: Path, rows: int) -> None:
    """Write made-up rows, one cell in fifty missing."""
    cells = [
        f"CASE WHEN hash(i, {k}, 'missing') % 50 > 0 THEN {KINDS[kind][0].format(k=k)} END AS {kind}{k}"
        for k, kind in enumerate(COLUMNS)
    ]
    duckdb.execute(f"COPY (SELECT {', '.join(cells)} FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)")


def measured(task: str, path: Path) -> dict[str, float]:
    """Seconds and peak of memory of a task in a process of its own."""
    command = [sys.executable, "-m", "bench.read", task, str(path)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def run(task: str, path: Path) -> None:
    """Print what one task took, as JSON."""
    started = time.perf_counter()
    if task == "scan":
        cells = ", ".join(f"count({kind}{k})" for k, kind in enumerate(COLUMNS))
        duckdb.execute(f"SELECT {cells} FROM read_parquet('{path}')").fetchall()
    else:
        read(path, schema())
    seconds, peak = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(json.dumps({"seconds": seconds, "peak GB": peak}))


def main(rows: int) -> None:
    """Print what a scan and a read of so many rows took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        make(path, rows)
        print(f"{rows:,} rows × {len(COLUMNS)} columns of Parquet, {path.stat().st_size / 1e9:.2f} GB")
        for task, what in (("scan", "DuckDB scans it"), ("read", "residuum.read")):
            result = measured(task, path)
            print(f"  {what:<16} {result['seconds']:6.1f} s   peak {result['peak GB']:.2f} GB")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        run(sys.argv[1], Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) == 2 else 10_000_000)
