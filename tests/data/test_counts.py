from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from residuum import Domain, DomainError, Table, Workload, WorkloadError
from residuum.core.layout import Layout
from residuum.data import counts, memory, sweep
from residuum.data.counts import Counts


def brute_force(codes, domain, gamma):
    mu = np.zeros((1, *domain.shape(gamma)), dtype=np.int64)
    np.add.at(mu, (np.zeros(len(codes), dtype=int), *codes[:, gamma].T), 1)
    return mu.reshape(domain.shape(gamma))


def table_of(domain, rows, seed=0):
    codes = np.random.default_rng(seed).integers(0, domain.sizes, size=(rows, len(domain)))
    return codes, Table.from_codes(codes, domain)


def check(codes, table, workload, **how):
    counted = Counts(table, workload, **how)
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


@settings(max_examples=80)
@given(
    workloads(),
    st.sampled_from([0, 1, 63, 64, 65, 500]),
    st.sampled_from([1, 16, 512, 10**9]),
    st.sampled_from([50, 128, 1 << 19]),
    st.sampled_from([None, 1, 20, 400]),
)
@example(Workload.all_kway(Domain({"a": 9, "b": 9, "c": 9, "d": 2}), 3), 200, 512, 64, None)
@example(Workload.all_kway(Domain({"a": 9, "b": 9, "c": 9, "d": 2}), 3), 200, 512, 64, 200)
@example(Workload(Domain({"a": 2, "b": 2}), [(), (0,)]), 10, 512, 1 << 19, None)
def test_every_marginal_of_the_closure(workload, rows, by_maps, block, dense):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "_BY_MAPS", by_maps)
        patch.setattr(sweep, "BLOCK", block)
        patch.setattr(counts, "_DENSE", dense or counts._DENSE)
        patch.setattr(counts, "_AHEAD", 1000)
        check(*table_of(workload.domain, rows), workload, in_turn=dense is not None)


@pytest.mark.parametrize("size", [300, 70_000])
def test_codes_of_two_and_four_bytes(size):
    domain = Domain({"wide": size, "b": 3, "c": 2, "d": 2})
    check(*table_of(domain, 100), Workload(domain, [(0, 1), (1, 2, 3), (0, 3)]))


def test_large_triples_with_small_and_large_pairs():
    domain = Domain({"a": 40, "b": 30, "c": 2, "d": 2, "e": 3})
    workload = Workload.all_kway(domain, 3)
    small = [gamma for gamma in workload.targets if sweep._free(domain, gamma) <= sweep._BY_MAPS]
    assert 0 < len(small) < len(workload.targets)
    check(*table_of(domain, 777), workload)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_many_histograms_share_the_codes_of_what_they_have_in_common(k, monkeypatch):
    monkeypatch.setenv("RESIDUUM_THREADS", "1")  # long runs of cliques, one after the other
    monkeypatch.setattr(sweep, "_BY_MAPS", 0.5)  # nothing is small enough
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


class TestInTurn:
    DOMAIN = Domain({"a": 6, "b": 5, "c": 4, "d": 3})
    WORKLOAD = Workload.all_kway(DOMAIN, 3)

    @pytest.fixture(autouse=True)
    def few_are_kept(self, monkeypatch):
        monkeypatch.setattr(counts, "_DENSE", 20)
        monkeypatch.setattr(counts, "_AHEAD", 150)

    def test_large_marginals_are_not_kept_and_counted_a_few_at_a_time(self, monkeypatch):
        portions = []

        def spy(table, cliques):
            portions.append(cliques)
            return sweep.tally(table, cliques)

        monkeypatch.setattr(counts, "tally", spy)
        codes, table = table_of(self.DOMAIN, 100)
        counted = Counts(table, self.WORKLOAD, in_turn=True)
        size = self.DOMAIN.size
        assert counted.layout.cliques == tuple(gamma for gamma in self.WORKLOAD.closure if size(gamma) <= 20)
        for gamma in self.WORKLOAD.closure:
            np.testing.assert_array_equal(counted.marginal(gamma), brute_force(codes, self.DOMAIN, gamma))
        large = [gamma for gamma in self.WORKLOAD.closure if size(gamma) > 20]
        assert [gamma for portion in portions for gamma in portion] == large  # each is counted once
        assert max(map(len, portions)) > 1
        assert all(sum(map(size, portion)) <= 150 for portion in portions)

    def test_any_order_will_do(self):
        codes, table = table_of(self.DOMAIN, 100)
        counted = Counts(table, self.WORKLOAD, in_turn=True)
        for gamma in (*reversed(self.WORKLOAD.closure), (0, 1, 2), (0, 1, 2)):
            np.testing.assert_array_equal(counted.marginal(gamma), brute_force(codes, self.DOMAIN, gamma))

    def test_what_is_kept_depends_on_sizes_alone(self):
        some, none = (Counts(table_of(self.DOMAIN, rows)[1], self.WORKLOAD, in_turn=True) for rows in (500, 0))
        assert some.layout.cliques == none.layout.cliques

    def test_memory(self):
        size = self.DOMAIN.size
        sizes = [size(gamma) for gamma in self.WORKLOAD.closure]
        kept = sum(n for n in sizes if n <= 20)
        beside = sweep.scratch(self.WORKLOAD)
        assert counts.counting(self.WORKLOAD) == 4 * sum(sizes) + beside
        assert counts.counting(self.WORKLOAD, in_turn=True) == 4 * (kept + 150) + beside
        counts._AHEAD = 1  # restored by the fixture
        assert counts.counting(self.WORKLOAD, in_turn=True) == 4 * (kept + max(sizes)) + beside


class TestFromMarginals:
    DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})
    WORKLOAD = Workload(DOMAIN, [(0, 1, 2), (0, 1), (2, 3), (3,)])

    def marginals(self, rows=200, seed=0):
        codes, _ = table_of(self.DOMAIN, rows, seed)
        return {gamma: brute_force(codes, self.DOMAIN, gamma) for gamma in Layout(self.WORKLOAD).maximal}

    @pytest.mark.parametrize("rows", [0, 200])
    def test_equal_to_those_of_the_table(self, rows):
        _, table = table_of(self.DOMAIN, rows)
        ready = Counts.from_marginals(self.WORKLOAD, self.marginals(rows))
        np.testing.assert_array_equal(ready.cells, Counts(table, self.WORKLOAD).cells)
        assert ready.cells.dtype == np.int32
        with pytest.raises(WorkloadError, match="closure"):
            ready.marginal((1, 3))

    def test_parts_of_a_table_add_up(self):
        one, two = (table_of(self.DOMAIN, rows, seed=rows) for rows in (70, 130))
        whole = Table.from_codes(np.concatenate([one[0], two[0]]), self.DOMAIN)
        parts = Counts(one[1], self.WORKLOAD) + Counts.from_marginals(self.WORKLOAD, self.marginals(130, seed=130))
        np.testing.assert_array_equal(parts.cells, Counts(whole, self.WORKLOAD).cells)
        again = parts + Counts(table_of(self.DOMAIN, 0)[1], self.WORKLOAD)
        np.testing.assert_array_equal(again.cells, parts.cells)

    def test_the_largest_number_of_rows(self):
        workload = Workload.all_kway(Domain({"a": 2, "b": 2}), 1)
        most = Counts.from_marginals(workload, {(0,): [2**31 - 1, 0], (1,): np.array([2**30, 2**30 - 1], np.uint64)})
        assert most.marginal(()).item() == 2**31 - 1
        one = Counts.from_marginals(workload, {(0,): [1, 0], (1,): [0, 1]})
        for add in (
            lambda: most + one,
            lambda: Counts.from_marginals(workload, {(0,): [2**31 - 1, 1], (1,): [2**30, 2**30]}),
            lambda: Counts.from_marginals(workload, {(0,): np.array([2**64 - 1, 1], np.uint64), (1,): [0, 0]}),
        ):
            with pytest.raises(DomainError, match=r"up to 2,147,483,647 rows\. Release parts"):
                add()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({(2, 3): np.zeros((2, 4), dtype=int)}, r"shape \(4, 2\) over \('c', 'd'\), got shape \(2, 4\)"),
            ({(2, 3): np.zeros((4, 2))}, r"whole numbers in the marginal over \('c', 'd'\), got float64"),
            ({(2, 3): np.full((4, 2), -1)}, r"counts from 0 in the marginal over \('c', 'd'\), got one below"),
            ({(2, 3): np.full((4, 2), 777)}, "do not count the same rows. Count all of them over one table"),
            ({(3,): np.zeros(2, dtype=int)}, r"\(3,\) is not one of them"),
            ({"c": np.zeros(2, dtype=int)}, "'c' is not one of them"),
        ],
    )
    def test_marginals_that_do_not_fit(self, change, message):
        with pytest.raises((DomainError, WorkloadError), match=message) as error:
            Counts.from_marginals(self.WORKLOAD, self.marginals() | change)
        assert "777" not in str(error.value)

    def test_a_marginal_is_missing(self):
        marginals = self.marginals()
        del marginals[2, 3]
        with pytest.raises(WorkloadError, match=r"maximal cliques .* \(2, 3\) is missing"):
            Counts.from_marginals(self.WORKLOAD, marginals)

    def test_what_cannot_be_added(self, monkeypatch):
        _, table = table_of(self.DOMAIN, 10)
        counted = Counts(table, self.WORKLOAD)
        with pytest.raises(WorkloadError, match="same workload"):
            counted + Counts(table, Workload.all_kway(self.DOMAIN, 2))
        other = Domain({"a": 3})
        with pytest.raises(WorkloadError, match="different domains"):
            counted + Counts(table_of(other, 5)[1], Workload.all_kway(other, 1))
        with pytest.raises(TypeError):
            counted + 1
        monkeypatch.setattr(counts, "_DENSE", 2)
        with pytest.raises(WorkloadError, match="all marginals"):
            counted + Counts(table, self.WORKLOAD, in_turn=True)

    def test_too_large_for_the_memory(self, monkeypatch):
        monkeypatch.setattr(memory, "_available_memory", lambda: 10)
        with pytest.raises(WorkloadError, match=r"cells and need 0\.00 GiB of memory \(\d+ bytes\)"):
            Counts.from_marginals(self.WORKLOAD, self.marginals())


class TestOf:
    DOMAIN = Domain({"a": 3, "b": 2, "c": 4})

    def test_counts_that_cover_the_workload_are_taken_as_they_are(self):
        counted = Counts(table_of(self.DOMAIN, 20)[1], Workload.all_kway(self.DOMAIN, 2))
        assert Counts.of(counted, Workload.all_kway(self.DOMAIN, 1)) is counted
        with pytest.raises(WorkloadError, match=r"marginal over \('a', 'b', 'c'\)\. Count"):
            Counts.of(counted, Workload.all_kway(self.DOMAIN, 3))
        with pytest.raises(WorkloadError, match="different domains"):
            Counts.of(counted, Workload.all_kway(Domain({"a": 3, "b": 2}), 1))
        with pytest.raises(WorkloadError, match="a Table, or the Counts of one, got list"):
            Counts.of([[1, 2, 3]], Workload.all_kway(self.DOMAIN, 1))


def test_another_domain():
    domain = Domain({"a": 2, "b": 3})
    with pytest.raises(WorkloadError, match="different domains"):
        Counts(table_of(domain, 5)[1], Workload.all_kway(Domain({"a": 3, "b": 2}), 2))


def test_too_large_for_the_memory_says_how_much_and_what_to_do(monkeypatch):
    domain = Domain({f"x{i}": 1000 for i in range(5)})
    _, table = table_of(domain, 0)
    monkeypatch.setenv("RESIDUUM_THREADS", "2")
    monkeypatch.setattr(memory, "_available_memory", lambda: 2**30)
    workload = Workload(domain, combinations(range(5), 3))
    with pytest.raises(WorkloadError, match=r"10,010,005,001 cells and need 37\.31 GiB .* only 1\.00 GiB") as error:
        Counts(table, workload)
    assert "fewer attributes" in str(error.value)


def test_the_memory_asked_for_does_not_depend_on_the_rows(monkeypatch):
    domain = Domain({"a": 30, "b": 3, "c": 2, "d": 2})
    workload = Workload.all_kway(domain, 3)
    monkeypatch.setattr(memory, "_available_memory", lambda: 1)
    messages = set()
    for rows in (0, 10_000):
        with pytest.raises(WorkloadError) as error:
            Counts(table_of(domain, rows)[1], workload)
        messages.add(str(error.value))
    assert len(messages) == 1


def test_more_cells_than_an_integer_holds():
    domain = Domain({f"x{i}": 10**6 for i in range(4)})
    with pytest.raises(WorkloadError, match="GiB"):
        Counts(table_of(domain, 0)[1], Workload.all_kway(domain, 4))
