"""How many rows a core codes and counts in a second, what partial counts weigh, and what that makes of larger tables.

`make bench-scale` measures on stand-ins with the shapes of the paper's data sets; `python -m bench.scale ROWS` sizes a
table of so many rows with the columns of "acs". Each task runs on one thread, as on a cluster. Where PySpark is
installed, it also counts 2 million rows of Parquet in a local session of two cores, with all that Spark adds.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from bench import data
from residuum import Schema, Table, Workload
from residuum.core.layout import Layout
from residuum.data.sources import parts, read
from residuum.data.spark import count as spark_count
from residuum.data.spark.blocks import added, blocks_of
from residuum.data.spark.files import session
from residuum.data.spark.tasks import Plan, count_rows, gathered
from residuum.data.sweep import Sweep, blocks

ROWS = 1_000_000
"""Rows of a file of Parquet."""

FILES = 2
KINDS = ("texts", "numbers")

CASES = {
    "acs": ("3-way, mostly by bit maps", 3, ROWS),
    "loans": ("2-way, by histograms", 2, ROWS),
    "loans-3": ("3-way, by histograms", 3, 1 << 16),
}


def measured(*task: str) -> dict[str, Any]:
    """What a task measured, in a process of its own with one thread."""
    command = [sys.executable, "-W", "ignore", "-m", "bench.scale", *task]
    quiet = subprocess.DEVNULL if task[0] == "spark" else None
    environment = os.environ | {"RESIDUUM_THREADS": "1"}
    output = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=quiet, text=True, check=True, env=environment
    ).stdout
    return json.loads(output.splitlines()[-1])


def count(case: str) -> dict[str, Any]:
    """Rows per second of counting, and the bytes of partial counts."""
    _, k, rows = CASES[case]
    table = _rows(case.split("-")[0], rows)
    workload = Workload.all_kway(table.domain, k)
    targets = workload.targets
    if case == "loans-3":
        workload = Workload(table.domain, [gamma for i, gamma in enumerate(targets) if i % 1200 < 12])
    layout = Layout(workload)
    Sweep(layout).add(table.columns[:, :64])
    sweep = Sweep(layout)
    started = time.perf_counter()
    for block in blocks(table):
        sweep.add(block)
    seconds = time.perf_counter() - started
    cells = sweep.finish()
    share = len(workload.targets) / len(targets)
    result: dict[str, Any] = {
        "rows per second": rows / seconds * share,
        "cells": Workload.all_kway(table.domain, k).cells,
    }
    if case != "loans-3":
        result |= _sent(cells)
    return result


def code() -> dict[str, Any]:
    """Rows per second of coding 66 columns as Spark hands them over, texts and whole numbers, on one core."""
    result = {}
    os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            path = Path(folder, "rows.parquet")
            schema = _write(path, kind)
            batches = pyarrow.parquet.read_table(path).to_batches(10_000)
            started = time.perf_counter()
            for _ in parts.tables(gathered(iter(batches), schema), schema):
                pass
            result[kind] = ROWS / (time.perf_counter() - started)
            started = time.perf_counter()
            read(path, schema)
            result[f"{kind} read"] = ROWS / (time.perf_counter() - started)
            result[f"{kind} bytes"] = path.stat().st_size / ROWS
    return result


def task(kind: str) -> dict[str, Any]:
    """The peak of memory of a task that counts all 3-way marginals of its rows, without Spark's own."""
    with tempfile.TemporaryDirectory() as folder:
        schema = _write(path := Path(folder, "rows.parquet"), kind)
        plan = Plan.of(schema, Layout(Workload.all_kway(schema.domain, 3)))
        batches = pyarrow.parquet.ParquetFile(path).iter_batches(10_000)
        for _ in count_rows(plan, batches):
            pass
    return {"peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9}


def spark(kind: str) -> dict[str, Any]:
    """Rows per second and core of a local Spark session of two cores, from Parquet to counts."""
    with tempfile.TemporaryDirectory() as folder:
        schema = _write(Path(folder, "0.parquet"), kind)
        for k in range(1, FILES):
            shutil.copy(Path(folder, "0.parquet"), Path(folder, f"{k}.parquet"))
        workload = Workload.all_kway(schema.domain, 3)
        with session("local[2]") as running:
            seconds = []
            for _ in range(2):  # the first time starts Python and loads the kernels
                started = time.perf_counter()
                spark_count(running.read.parquet(folder), schema, workload)
                seconds.append(time.perf_counter() - started)
    return {"rows per second": FILES * ROWS / seconds[-1] / 2, "seconds": seconds}


def _write(path: Path, kind: str) -> Schema:
    """Write rows of the shape of "acs", as texts or as whole numbers; return their schema.

    A process of its own writes them, so that the memory this takes is not counted.
    """
    subprocess.run([sys.executable, "-m", "bench.scale", "write", kind, str(path)], check=True, stdout=subprocess.PIPE)
    domain = data.stand_in("acs").domain
    described: dict[str, Any] = {}
    for name, size in zip(domain.names, domain.sizes, strict=True):
        if kind == "texts":
            described[name] = {"kind": "categorical", "values": [f"value {value}" for value in range(size)]}
        else:
            described[name] = {"kind": "integer", "min": 0, "max": size - 1}
    return Schema.from_dict({"columns": described})


def write(kind: str, path: str) -> None:
    """Write the rows."""
    table = _rows("acs", ROWS)
    columns = {}
    for name, size, codes in zip(table.domain.names, table.domain.sizes, table.columns, strict=True):
        columns[name] = codes.astype(np.int32)
        if kind == "texts":
            values = [f"value {value}" for value in range(size)]
            columns[name] = pa.DictionaryArray.from_arrays(columns[name], values).cast(pa.string())
    pyarrow.parquet.write_table(pa.table(columns), path)


def _sent(cells: np.ndarray) -> dict[str, Any]:
    """The bytes of partial counts as they travel, and how many are added up in a second."""
    sent = list(blocks_of(0, cells))
    size = sum(len(counts) for _, _, counts in sent)
    started = time.perf_counter()
    for _ in added(sent * 4):
        pass
    return {
        "bytes": size,
        "bytes added per second": 4 * size / (time.perf_counter() - started),
    }


def _rows(name: str, rows: int) -> Table:
    """So many rows of a stand-in: it is repeated, because the time to count does not depend on what the rows hold."""
    table = data.stand_in(name)
    times = -(-rows // table.columns.shape[1])
    return Table(table.domain, np.tile(table.columns, times)[:, :rows].copy())


def main(rows: int) -> None:
    """Print the rates, and what so many rows with the columns of "acs" take."""
    _print("what a core does", "rows/s", "")
    for case, (what, _, _) in CASES.items():
        found = measured(case)
        sent = f", {found['bytes'] / 1e6:.1f} MB sent by a task" if "bytes" in found else ""
        _print(f"{case.split('-')[0]}, {what}", found["rows per second"], f"{found['cells']:,} cells{sent}")
        if case == "acs":
            _print("acs, adding up partial counts", f"{found['bytes added per second'] / 1e6:.0f} MB/s", "")
            _sized(rows, "counting", found["rows per second"])
    coding = measured("code")
    for kind in KINDS:
        peak = measured("task", kind)["peak GB"]
        note = f"{coding[f'{kind} bytes']:.1f} bytes a row in Parquet; a task that codes and counts takes {peak:.2f} GB"
        _print(f"acs, coding {kind}", coding[kind], note)
        _sized(rows, f"coding {kind}", coding[kind])
        _print(f"acs, residuum.read of Parquet, {kind}", coding[f"{kind} read"], "")
    for kind in KINDS if find_spec("pyspark") else ():
        found = measured("spark", kind)
        note = "seconds, the first time and the next: " + ", ".join(f"{s:.1f}" for s in found["seconds"])
        _print(f"acs, Spark, {kind}", found["rows per second"], note)
        _sized(rows, f"Spark, {kind}", found["rows per second"])


def _print(what: str, rate: float | str, note: str) -> None:
    print(f"{what:<36} {rate if isinstance(rate, str) else format(rate, ',.0f'):>12}   {note}".rstrip(), flush=True)


def _sized(rows: int, what: str, rate: float) -> None:
    _print(f"  {rows:,} rows, {what}", f"{rows / rate / 3600:.2f} core hours", "")


TASKS = {"code": code, "task": task, "spark": spark, "write": write}

if __name__ == "__main__":
    name, *rest = sys.argv[1:] or ["330000000"]
    if name in CASES or name in TASKS:
        print(json.dumps(count(name) if name in CASES else TASKS[name](*rest)))
    else:
        main(int(name))
