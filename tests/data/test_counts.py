from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from residuum import Domain, Table, Workload, WorkloadError
from residuum.data import counts
from residuum.data.counts import Counts, Layout, check_memory


def brute_force(codes, domain, gamma):
    mu = np.zeros((1, *domain.shape(gamma)), dtype=np.int64)
    np.add.at(mu, (np.zeros(len(codes), dtype=int), *codes[:, gamma].T), 1)
    return mu.reshape(domain.shape(gamma))


def table_of(domain, rows, seed=0):
    codes = np.random.default_rng(seed).integers(0, domain.sizes, size=(rows, len(domain)))
    return codes, Table.from_codes(codes, domain)


def check(codes, table, workload):
    counted = Counts(table, workload)
    for gamma in workload.closure:
        expected = brute_force(codes, table.domain, gamma)
        np.testing.assert_array_equal(counted.marginal(gamma), expected, err_msg=str(gamma))
        assert counted.marginal(gamma).dtype == np.int32


@st.composite
def workloads(draw):
    """Cliques of mixed orders up to five, over attributes on both sides of what bit maps are used for."""
    sizes = draw(st.lists(st.sampled_from([2, 2, 3, 5, 9, 17]), min_size=1, max_size=7))
    domain = Domain({f"x{i}": n for i, n in enumerate(sizes)})
    attributes = st.sets(st.integers(0, len(sizes) - 1), min_size=1, max_size=5)
    cliques = draw(st.lists(attributes, min_size=1, max_size=8))
    kept = [gamma for gamma in cliques if domain.size(tuple(gamma)) < 20_000]
    return Workload(domain, kept or [(0,)])


@settings(max_examples=60)
@given(workloads(), st.sampled_from([0, 1, 63, 64, 65, 500]), st.sampled_from([1, 16, 512, 10**9]))
@example(Workload.all_kway(Domain({"a": 9, "b": 9, "c": 9, "d": 2}), 3), 200, 512)
@example(Workload(Domain({"a": 2, "b": 2}), [(), (0,)]), 10, 512)
def test_every_marginal_of_the_closure(workload, rows, by_maps):
    before, counts._BY_MAPS = counts._BY_MAPS, by_maps
    try:
        check(*table_of(workload.domain, rows), workload)
    finally:
        counts._BY_MAPS = before


@pytest.mark.parametrize("size", [300, 70_000])
def test_codes_of_two_and_four_bytes(size):
    domain = Domain({"wide": size, "b": 3, "c": 2, "d": 2})
    check(*table_of(domain, 100), Workload(domain, [(0, 1), (1, 2, 3), (0, 3)]))


def test_large_triples_with_small_and_large_pairs():
    domain = Domain({"a": 40, "b": 30, "c": 2, "d": 2, "e": 3})
    workload = Workload.all_kway(domain, 3)
    small = [gamma for gamma in workload.targets if counts._by_maps(domain, gamma)]
    assert 0 < len(small) < len(workload.targets)
    check(*table_of(domain, 777), workload)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_many_histograms_share_the_codes_of_what_they_have_in_common(k, monkeypatch):
    monkeypatch.setenv("RESIDUUM_THREADS", "1")  # long runs of cliques, one after the other
    monkeypatch.setattr(counts, "_BY_MAPS", 0)
    domain = Domain({f"x{i}": 2 + i % 3 for i in range(9)})
    check(*table_of(domain, 150), Workload.all_kway(domain, k))


def test_one_thread_and_several_are_equal(monkeypatch):
    domain = Domain({f"x{i}": n for i, n in enumerate([2, 3, 4, 20, 30, 2, 5])})
    workload = Workload.all_kway(domain, 3)
    _, table = table_of(domain, 3000)
    monkeypatch.setenv("RESIDUUM_THREADS", "1")
    alone = Counts(table, workload).cells
    monkeypatch.setenv("RESIDUUM_THREADS", "4")
    np.testing.assert_array_equal(Counts(table, workload).cells, alone)


@pytest.mark.parametrize("rows", [0, 100])
def test_recount_is_the_marginal(rows):
    domain = Domain({"a": 2, "b": 3, "c": 4, "d": 2, "e": 3})
    workload = Workload.all_kway(domain, 5)
    counted = Counts(table_of(domain, rows)[1], workload)
    for gamma in workload.closure:
        truth = counted.marginal(gamma).copy()
        again = counted.recount(gamma)
        np.testing.assert_array_equal(again, truth)
        assert again.shape == domain.shape(gamma)
        assert not np.shares_memory(again, counted.cells)


def test_recount_when_the_cells_are_put_to_another_use():
    domain = Domain({"a": 2, "b": 3, "c": 4})
    codes, table = table_of(domain, 100)
    counted = Counts(table, Workload.all_kway(domain, 2))
    counted.cells[:] = -1
    np.testing.assert_array_equal(counted.recount((0, 2)), brute_force(codes, domain, (0, 2)))


def test_layout():
    domain = Domain({"a": 4, "b": 3, "c": 2, "d": 2})
    workload = Workload(domain, [(0, 1, 2), (1, 3)])
    layout = Layout(workload)
    covered = np.zeros(layout.cells, dtype=int)
    for k, gamma in enumerate(workload.closure):
        place = layout.place(gamma)
        assert (place.start, place.stop) == (layout.start(gamma), layout.starts[k + 1])
        assert place.stop - place.start == domain.size(gamma)
        covered[place] += 1
        assert tuple(workload.closure[j] for j in layout.above(gamma)) == workload.supersets(gamma)
    assert (covered == 1).all()


def test_another_domain():
    domain = Domain({"a": 2, "b": 3})
    with pytest.raises(WorkloadError, match="different domains"):
        Counts(table_of(domain, 5)[1], Workload.all_kway(Domain({"a": 3, "b": 2}), 2))


def test_too_large_for_the_memory_says_how_much_and_what_to_do(monkeypatch):
    domain = Domain({f"x{i}": 1000 for i in range(5)})
    _, table = table_of(domain, 0)
    monkeypatch.setattr(counts, "_available_memory", lambda: 2**30)
    workload = Workload(domain, combinations(range(5), 3))
    with pytest.raises(WorkloadError, match=r"10,010,005,001 cells and need 37\.29 GiB .* only 1\.00 GiB") as error:
        Counts(table, workload)
    assert "fewer attributes" in str(error.value)
    check_memory(2**28, 4)
    with pytest.raises(WorkloadError, match="GiB"):
        check_memory(2**28 + 1, 4)


def test_more_cells_than_an_integer_holds():
    domain = Domain({f"x{i}": 10**6 for i in range(4)})
    with pytest.raises(WorkloadError, match="GiB"):
        Counts(table_of(domain, 0)[1], Workload.all_kway(domain, 4))


def test_there_is_some_memory():
    assert counts._available_memory() > 2**20


def test_memory_where_the_system_does_not_list_it(monkeypatch):
    def refuse(*_args, **_options):
        raise OSError

    monkeypatch.setattr("builtins.open", refuse)
    assert counts._available_memory() > 2**20
