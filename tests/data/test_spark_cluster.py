"""Counts on a real cluster: a master and two workers on loopback, one of which is killed in the middle."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import residuum
from residuum import Schema, Workload
from tests.data import sparks
from tests.data.sparks import PEOPLE, ROWS, people, same

asked = os.environ.get("RESIDUUM_CLUSTER")
pytestmark = [
    *sparks.needs_spark,
    pytest.mark.skipif(not asked, reason="it starts a Spark cluster of its own: `make test-spark` runs it"),
]
TABLE = people(5000)
PARTS = 12


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with sparks.cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def spark(cluster):
    with sparks.session(cluster.url, **{"spark.sql.shuffle.partitions": "3"}) as session:
        yield session


@pytest.mark.parametrize("schema", [ROWS, PEOPLE])
def test_counts_are_those_in_memory(spark, schema):
    frame = spark.createDataFrame(TABLE).repartition(5)
    workload = Workload.all_kway(schema.domain, 3)
    same(residuum.spark.count(frame, schema, workload), TABLE, schema, workload)


@pytest.mark.skipif(not (sparks.SHARED / "adult-raw.csv").exists(), reason="no adult-raw.csv: set RESIDUUM_SHARED")
@pytest.mark.usefixtures("spark")
def test_adult():
    from residuum.data.draft import draft

    path = sparks.SHARED.absolute() / "adult-raw.csv"
    schema = Schema.parse(draft(path))
    workload = Workload.all_kway(schema.domain, 2)
    same(residuum.spark.read_and_count(path, schema, workload), path, schema, workload)


def kill_in_the_middle(cluster, marks):
    """Kill a worker once half of the parts are counted; return how many were."""
    deadline = time.monotonic() + 120
    while (ended := len(list(marks.glob("*-ended")))) < PARTS // 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    cluster.kill(0)
    return ended


@pytest.mark.parametrize("schema", [ROWS, PEOPLE])
def test_a_worker_killed_in_the_middle_changes_nothing_but_the_time(cluster, spark, tmp_path, schema):
    """Tasks leave a mark when they begin and when they have handed over their rows; then a worker dies."""

    def slowly(batches):
        from pyspark import TaskContext

        task = TaskContext.get()
        name = f"{tmp_path}/{task.partitionId()}-{task.taskAttemptId()}"
        open(f"{name}-began", "w").close()
        time.sleep(0.7)
        yield from batches
        open(f"{name}-ended", "w").close()

    workload = Workload.all_kway(schema.domain, 3)
    frame = spark.createDataFrame(TABLE).repartition(PARTS)
    frame = frame.mapInArrow(slowly, frame.schema)
    with ThreadPoolExecutor() as beside:
        ended = beside.submit(kill_in_the_middle, cluster, tmp_path)
        counts = residuum.spark.count(frame, schema, workload, tasks=PARTS)
    cluster.replace(0)
    assert PARTS // 2 <= ended.result() < PARTS
    same(counts, TABLE, schema, workload)
    begun = [mark.name.split("-")[0] for mark in tmp_path.glob("*-began")]
    assert len(set(begun)) == PARTS
    assert len(begun) > PARTS
