import threading
import time
import tracemalloc

import numpy as np
import pytest

from residuum import Domain, Table, Workload
from residuum.core.layout import Layout
from residuum.data import sweep
from tests.data.test_counts import brute_force, table_of

DOMAIN = Domain({"a": 30, "b": 20, "c": 2, "d": 3, "e": 4, "f": 15})
WORKLOAD = Workload.all_kway(DOMAIN, 3)


@pytest.mark.parametrize("rows", [1, 1000])
@pytest.mark.parametrize("by_maps", [0, 512, 10**9])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_share_grows_to_one(rows, by_maps, threads, monkeypatch):
    monkeypatch.setenv("RESIDUUM_THREADS", threads)
    monkeypatch.setattr(sweep, "BLOCK", 300)
    monkeypatch.setattr(sweep, "_BY_MAPS", by_maps or 1)
    monkeypatch.setattr(sweep, "_TOGETHER", 3)
    shares = []
    sweep.sweep(table_of(DOMAIN, rows)[1], Layout(WORKLOAD), shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert 0 < shares[0] < 0.5
    assert len(shares) > 5


def test_the_shares_of_a_block_do_not_depend_on_the_rows(monkeypatch):
    monkeypatch.setenv("RESIDUUM_THREADS", "1")
    seen = {}
    for rows in (1, 700):
        seen[rows] = []
        sweep.sweep(table_of(DOMAIN, rows)[1], Layout(WORKLOAD), seen[rows].append)
    assert seen[1] == seen[700]


def test_no_rows_are_no_work():
    shares = []
    cells = sweep.sweep(Table.from_codes([], DOMAIN), Layout(WORKLOAD), shares.append)
    assert shares == []
    assert not cells.any()


def test_an_interrupt_reaches_the_caller_and_ends_the_work(monkeypatch):
    monkeypatch.setenv("RESIDUUM_THREADS", "2")
    monkeypatch.setattr(sweep, "_TOGETHER", 1)
    monkeypatch.setattr(sweep, "BLOCK", 100)
    calls = []

    def watch(share):
        calls.append(share)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.001)  # the caller has its turn

    with pytest.raises(KeyboardInterrupt):
        sweep.sweep(table_of(DOMAIN, 10_000)[1], Layout(WORKLOAD), watch)
    assert calls[-1] < 0.5
    before = len(calls)
    time.sleep(0.02)
    assert len(calls) == before  # nobody goes on in the background


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_scratch_is_enough(k, monkeypatch):
    """What counting takes beside the counts stays below what was promised, however many rows there are."""
    monkeypatch.setattr(sweep, "BLOCK", 1 << 14)
    workload = Workload.all_kway(DOMAIN, k)
    layout = Layout(workload)
    table = table_of(DOMAIN, 60_000)[1]
    sweep.sweep(table, layout, lambda _: None)  # loads what is compiled
    tracemalloc.start()
    sweep.sweep(table, layout, lambda _: None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * layout.cells + sweep.scratch(workload) + 100_000  # lists and dictionaries of cliques


def test_tally():
    codes, table = table_of(DOMAIN, 500)
    cliques = [(2, 3), (), (0, 1, 2, 3), (0, 1)]
    counted = sweep.tally(table, cliques)
    assert set(counted) == set(cliques)
    for gamma, cells in counted.items():
        np.testing.assert_array_equal(cells, brute_force(codes, DOMAIN, gamma).reshape(-1))
