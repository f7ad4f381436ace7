"""What the tests of Spark share: whether it can run, people to count, and a small cluster on loopback."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from residuum import Schema, Workload, read
from residuum.data.counts import Counts

SHARED = Path(os.environ.get("RESIDUUM_SHARED", "../shared")) / "data"


def why_not() -> str:
    """Why Spark cannot run here; nothing where it can."""
    if find_spec("pyspark") is None:
        return "PySpark is not installed: `make test-spark` installs and runs it"
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "Java is not installed: `make test-spark` tries to install it"
    return ""


needs_spark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

COLUMNS = """
  age: {kind: integer, min: 0, max: 99, bins: 5}
  score: {kind: real, min: 0, max: 1, cuts: [0.1, 0.7], outside: own}
  sex: {kind: categorical, values: [f, m, 3, true], aliases: {female: f}}
  day: {kind: date, min: 2020-01-01, max: 2020-12-31, granularity: month}
  flag: {kind: boolean}
"""
ROWS = Schema.parse(f"leave_out: [who]\ncolumns:{COLUMNS}")
PEOPLE = Schema.parse(f"person: {{id: who, rows: 2}}\ncolumns:{COLUMNS}")


def people(rows: int, seed: int = 0) -> pa.Table:
    """Rows with texts, numbers and gaps; ids are spelled in two ways, and some are missing."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, rows // 4 + 1, rows)
    spellings = [str(i) if k % 2 else f" {i}.0" if i % 7 else None for k, i in enumerate(ids)]
    return pa.table(
        {
            "age": pa.array(rng.integers(-5, 120, rows), pa.int64(), mask=rng.random(rows) < 0.1),
            "score": pa.array(rng.normal(0.4, 0.4, rows), pa.float64(), mask=rng.random(rows) < 0.1),
            "sex": rng.choice([" f", "m", "female", "3.0", "true", "?", "zz"], rows).tolist(),
            "day": pa.array(rng.integers(18200, 18700, rows).astype("int32"), pa.int32()).cast(pa.date32()),
            "flag": rng.random(rows) < 0.3,
            "who": spellings,
        }
    )


def same(counts: Counts, table: pa.Table | Path, schema: Schema, workload: Workload) -> None:
    """Fail unless counts are those made in memory."""
    expected = Counts(read(table, schema), workload)
    assert counts.layout.cliques == expected.layout.cliques
    np.testing.assert_array_equal(counts.cells, expected.cells)


@contextmanager
def session(master: str, **config: str):
    """A small session, whose executors run this Python."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.memory": "1g",
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        **config,
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


class Cluster:
    """A standalone cluster on loopback: a master and workers of one core, each in a group of processes of its own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        self._script, self._folder, self._stack = home / "bin" / "spark-class", folder, stack
        self._environment = os.environ | {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_DIRS": str(folder),
            "SPARK_DAEMON_JAVA_OPTS": "-Dspark.worker.timeout=10",
        }
        port, self._web = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{port}"
        where = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(self._web)]
        self._start("master.Master", *where)
        self.workers = [self._worker(k) for k in range(2)]
        self._wait_for(2)

    def kill(self, k: int) -> None:
        """Kill a worker, and the executors that it started."""
        os.killpg(self.workers[k].pid, signal.SIGKILL)
        self.workers[k].wait()

    def replace(self, k: int) -> None:
        """Start a worker in the place of one that was killed."""
        self.workers[k] = self._worker(k)
        self._wait_for(2)

    def _worker(self, k: int) -> subprocess.Popen:
        work = ["--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / f"work{k}")]
        where = ["--host", "127.0.0.1", "--port", str(free_port()), "--webui-port", str(free_port())]
        return self._start("worker.Worker", *where, *work, self.url)

    def _start(self, name: str, *arguments: str) -> subprocess.Popen:
        command = [str(self._script), f"org.apache.spark.deploy.{name}", *arguments]
        log = self._stack.enter_context((self._folder / f"{name}-{time.monotonic_ns()}.log").open("w"))
        process = subprocess.Popen(
            command, env=self._environment, stdout=log, stderr=log, start_new_session=True, cwd=self._folder
        )
        self._stack.callback(_end, process)
        return process

    def _wait_for(self, workers: int) -> None:
        for _ in range(300):
            with suppress(OSError):
                page = urllib.request.urlopen(f"http://127.0.0.1:{self._web}/json/", timeout=5)
                with page:
                    if page.read().decode().count('"ALIVE"') >= workers + 1:
                        return
            time.sleep(0.2)
        raise TimeoutError("The cluster did not start within a minute.")


@contextmanager
def cluster(folder: Path):
    """A cluster, which ends afterwards whatever happens."""
    with ExitStack() as stack:
        yield Cluster(folder, stack)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _end(process: subprocess.Popen) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
