import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residuum import Domain, ResiduumError, Table, Workload, WorkloadError
from residuum.core.layout import Layout
from residuum.data import differences, memory
from residuum.data.counts import Counts, counting
from residuum.data.differences import Differences
from residuum.data.memory import measuring
from residuum.kernels import twins
from tests.data import test_counts

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})
WORKLOAD = Workload(DOMAIN, [(0, 1, 2), (1, 3), (2, 3), (0,)])


@pytest.fixture(params=["64 bits", "32 bits"])
def form(request, monkeypatch):
    if request.param == "32 bits":
        monkeypatch.setattr(differences, "_WIDE_CELLS", 0)
    return request.param


def table_of(codes):
    return Table.from_codes(codes, DOMAIN)


def random_codes(rng, rows):
    return rng.integers(0, DOMAIN.sizes, size=(rows, len(DOMAIN)))


def random_steps(rng, count, scale):
    """Steps of random residuals of the closure, as a noisy run would make them."""
    for _ in range(count):
        tau = WORKLOAD.closure[rng.integers(len(WORKLOAD.closure))]
        yield tau, np.asarray(rng.normal(scale=scale, size=[n - 1 for n in DOMAIN.shape(tau)]))


def truth(codes, gamma):
    return test_counts.brute_force(codes, DOMAIN, gamma)


def distances(kept):
    """All L1 distances, in people."""
    return kept.norms / kept.scales


def distances_by_hand(codes, steps, bits):
    """‖2^bits μ - μ̂‖₁ / 2^bits with every step rounded to units, for each marginal of the closure."""
    norms = []
    for gamma, b in zip(WORKLOAD.closure, bits.tolist(), strict=True):
        mu = truth(codes, gamma) << b
        for tau, step in steps:
            if set(tau) <= set(gamma):
                others = [axis for axis, i in enumerate(gamma) if i not in tau]
                smeared = np.expand_dims(twins.center_all(step), others) / DOMAIN.size([gamma[k] for k in others])
                mu -= np.rint(np.broadcast_to(smeared, mu.shape) * 2.0**b).astype(np.int64)
        norms.append(np.abs(mu).sum() / 2.0**b)
    return np.array(norms)


@pytest.mark.parametrize("rows", [0, 1, 300])
def test_the_distance_is_that_of_the_rounded_public_estimate(form, rows):
    rng = np.random.default_rng(rows)
    codes = random_codes(rng, rows)
    kept = Differences(table_of(codes), WORKLOAD, sigma=10.0)
    np.testing.assert_array_equal(distances(kept), np.full(len(WORKLOAD.closure), rows))
    history = []
    for _ in range(5):
        steps = list(random_steps(rng, 6, 30.0))
        touched = kept.follow(steps)
        for (tau, _), positions in zip(steps, touched, strict=True):
            assert tuple(WORKLOAD.closure[k] for k in positions) == WORKLOAD.supersets(tau)
        history += steps
        expected = distances_by_hand(codes, history, kept._bits)
        seen = set(np.concatenate([*touched]))
        np.testing.assert_array_equal(distances(kept), expected)
        np.testing.assert_array_equal(distances(kept)[sorted(seen)], expected[sorted(seen)])
    if form == "64 bits":
        assert set(kept._bits) == {20}
    else:
        assert set(kept._bits) == {6}


@pytest.mark.usefixtures("form")
def test_following_the_truth_leaves_no_distance():
    rng = np.random.default_rng(1)
    codes = random_codes(rng, 1000)
    kept = Differences(table_of(codes), WORKLOAD, sigma=10.0)
    for tau in WORKLOAD.closure:
        mu = kept.marginal(tau).astype(np.float64)
        kept.follow([(tau, twins.sub_all(mu)[0])])
    cells = np.array([DOMAIN.size(gamma) for gamma in WORKLOAD.closure])
    assert (distances(kept) <= cells * 8 * 0.5 / 2**kept._bits).all()


@pytest.mark.usefixtures("form")
def test_the_true_marginals_stay_known():
    rng = np.random.default_rng(2)
    codes = random_codes(rng, 200)
    kept = Differences(table_of(codes), WORKLOAD, sigma=10.0)
    kept.follow(random_steps(rng, 20, 50.0))
    for gamma in WORKLOAD.closure:
        np.testing.assert_array_equal(kept.marginal(gamma), truth(codes, gamma))


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(0, 25), st.sampled_from([0.1, 7.0, 600.0]), st.booleans())
def test_one_row_more_changes_each_distance_by_at_most_one(seed, rows, count, scale, wide):
    before, differences._WIDE_CELLS = differences._WIDE_CELLS, 1 << 28 if wide else 0
    try:
        rng = np.random.default_rng(seed)
        codes = random_codes(rng, rows + 1)
        one, two = (Differences(table_of(some), WORKLOAD, sigma=scale) for some in (codes[:-1], codes))
    finally:
        differences._WIDE_CELLS = before
    steps = list(random_steps(rng, count, scale))
    one.follow(steps)
    two.follow(steps)
    change = np.abs(distances(two) - distances(one))
    assert (change <= 1).all()  # exactly: not a bit more
    assert count or (change == 1).all()


def test_both_forms_agree(monkeypatch):
    rng = np.random.default_rng(3)
    table = table_of(random_codes(rng, 500))
    steps = list(random_steps(rng, 50, 20.0))
    wide = Differences(table, WORKLOAD, sigma=10.0)
    monkeypatch.setattr(differences, "_WIDE_CELLS", 0)
    narrow = Differences(table, WORKLOAD, sigma=10.0)
    wide.follow(steps)
    narrow.follow(steps)
    cells = np.array([DOMAIN.size(gamma) for gamma in WORKLOAD.closure])
    assert narrow._cells.dtype == np.int32
    error = np.abs(distances(wide) - distances(narrow))
    assert (error <= cells * len(steps) * 0.5 / 2.0**narrow._bits).all()
    assert error.max() > 0


def test_a_count_beyond_32_bits_is_capped(monkeypatch):
    monkeypatch.setattr(differences, "_WIDE_CELLS", 0)
    sigma = 1000.0

    marginals = {gamma: np.zeros(DOMAIN.shape(gamma), dtype=np.int64) for gamma in Layout(WORKLOAD).maximal}
    for mu in marginals.values():
        mu.flat[0] = 2**30 - 1
    many = Counts.from_marginals(WORKLOAD, marginals)
    more = many + Counts(table_of([[0, 0, 0, 0]]), WORKLOAD)
    one, two = (Differences(some, WORKLOAD, sigma=sigma) for some in (many, more))
    steps = list(random_steps(np.random.default_rng(4), 10, sigma))
    one.follow(steps)
    two.follow(steps)
    assert (np.abs(distances(two) - distances(one)) <= 1).all()


@pytest.mark.parametrize(("wide", "sigma"), [(True, 1e18), (False, 1e8)])
def test_a_budget_too_small(wide, sigma, monkeypatch):
    if not wide:
        monkeypatch.setattr(differences, "_WIDE_CELLS", 0)
    with pytest.raises(ResiduumError, match=r"noise of about 1\.0e\+\d+ people.*larger budget"):
        Differences(table_of([]), WORKLOAD, sigma)


def test_room_for_the_noise():
    for sigma in (1e-3, 1.0, 1e3, 1e6):
        for largest in (2, 10**6):
            (bits,) = differences._fraction_bits(True, sigma, [largest])
            assert 64 * sigma * largest * 2.0**bits <= 2**61
        (bits,) = differences._fraction_bits(False, sigma, [10**6])
        assert sigma < 1e6 or bits == 3
        assert 64 * sigma * 2.0**bits <= 2**29


def test_memory_is_asked_for_before_it_is_taken(form, monkeypatch):
    cells = sum(DOMAIN.size(gamma) for gamma in WORKLOAD.closure)
    monkeypatch.setattr(memory, "_available_memory", lambda: counting(WORKLOAD) - 1)
    with pytest.raises(WorkloadError, match=rf"{cells} cells .* bytes\), but only"):
        Differences(table_of([]), WORKLOAD, sigma=1.0)
    monkeypatch.setattr(differences, "counting", lambda _: 0)  # as if it took nothing to count
    needed = cells * (12 if form == "64 bits" else 4) + measuring(WORKLOAD)
    monkeypatch.setattr(memory, "_available_memory", lambda: needed - 1)
    with pytest.raises(WorkloadError, match=f"{cells} cells .*{needed:,} bytes"):
        Differences(table_of([]), WORKLOAD, sigma=1.0)


class TestReadyCounts:
    """Counts without a table: there is nothing to count anew, so they stay beside the differences."""

    @pytest.mark.usefixtures("form")
    @pytest.mark.parametrize("wider", [False, True])
    def test_equal_to_those_of_a_table(self, wider):
        rng = np.random.default_rng(5)
        codes = random_codes(rng, 300)
        covering = Workload.all_kway(DOMAIN, 3) if wider else WORKLOAD
        ready = Counts.from_marginals(covering, {gamma: truth(codes, gamma) for gamma in Layout(covering).maximal})
        untouched = ready.cells.copy()
        one, two = (Differences(source, WORKLOAD, sigma=10.0) for source in (table_of(codes), ready))
        steps = list(random_steps(rng, 30, 20.0))
        one.follow(steps)
        two.follow(steps)
        np.testing.assert_array_equal(distances(one), distances(two))
        for gamma in WORKLOAD.closure:
            np.testing.assert_array_equal(two.marginal(gamma), truth(codes, gamma))
        np.testing.assert_array_equal(ready.cells, untouched)

    def test_memory(self, form, monkeypatch):
        ready = Counts(table_of([]), WORKLOAD)
        cells = ready.layout.cells
        needed = cells * (8 if form == "64 bits" else 4) + measuring(WORKLOAD)
        monkeypatch.setattr(memory, "_available_memory", lambda: needed - 1)
        with pytest.raises(WorkloadError, match=rf"{needed:,} bytes\) beside the counts given, but only"):
            Differences(ready, WORKLOAD, sigma=1.0)
        monkeypatch.setattr(memory, "_available_memory", lambda: needed)
        Differences(ready, WORKLOAD, sigma=1.0)


def test_who_watches_is_told_of_the_counting():
    shares = []
    Differences(table_of([[0, 0, 0, 0]]), WORKLOAD, 1.0, shares.append)
    assert shares[-1] == 1


def test_one_row_more_changes_a_distance_by_at_most_one_even_beyond_the_room(monkeypatch):
    monkeypatch.setattr(differences, "_WIDE_CELLS", 0)
    codes = np.zeros((1001, 4), dtype=np.uint8)
    one, two = (Differences(table_of(some), WORKLOAD, sigma=10.0) for some in (codes[:-1], codes))
    steps = [((), np.array(1000.5 - 2.0**21)), ((), np.array(5.0))]  # one of them passes 2^31 units, the other not
    one.follow(steps)
    two.follow(steps)
    assert (np.abs(distances(two) - distances(one)) <= 1).all()


@pytest.mark.parametrize("step", [2.0**43, -(2.0**43), 2.0**70, 1e300])
def test_one_row_more_changes_a_distance_by_at_most_one_however_far_the_estimate_is(step):
    codes = np.zeros((5, 4), dtype=np.uint8)
    one, two = (Differences(table_of(some), WORKLOAD, sigma=10.0) for some in (codes[:-1], codes))
    for steps in ([((), np.array(step))], [((), np.array(-step))], [((0,), np.full(DOMAIN.sizes[0] - 1, step))]):
        one.follow(steps)
        two.follow(steps)
        assert (np.abs(distances(two) - distances(one)) <= 1).all()
        assert (distances(one) >= 0).all()


def test_following_the_truth_of_more_than_a_million_rows_in_32_bits(monkeypatch):
    monkeypatch.setattr(differences, "_WIDE_CELLS", 0)
    rows = 1_100_000
    kept = Differences(table_of(np.zeros((rows, 4), dtype=np.uint8)), WORKLOAD, sigma=10.0)
    kept.follow([((), np.array(float(rows)))])
    assert distances(kept)[0] == 0.0


class TestCompare:
    """Estimates that come from wherever they may, in place of steps."""

    @pytest.mark.usefixtures("form")
    def test_the_distance_is_that_of_the_rounded_estimate(self):
        rng = np.random.default_rng(6)
        codes = random_codes(rng, 300)
        kept = Differences(table_of(codes), WORKLOAD, sigma=10.0)
        for _ in range(2):  # the later estimate counts, whatever was there before
            for k, gamma in enumerate(WORKLOAD.closure):
                before, unit = distances(kept), 2 ** int(kept._bits[k])
                mu_hat = rng.normal(10.0, 30.0, size=DOMAIN.shape(gamma))
                assert kept.compare(gamma, mu_hat) == k
                units = np.abs(truth(codes, gamma) * unit - np.rint(mu_hat * unit).astype(np.int64)).sum()
                assert kept.norms[k] == units
                np.testing.assert_array_equal(np.delete(distances(kept), k), np.delete(before, k))

    @pytest.mark.usefixtures("form")
    def test_comparing_with_the_truth_leaves_no_distance_and_the_true_marginals_stay_known(self):
        codes = random_codes(np.random.default_rng(7), 300)
        kept = Differences(table_of(codes), WORKLOAD, sigma=10.0)
        for gamma in WORKLOAD.closure:
            kept.compare(gamma, truth(codes, gamma).astype(np.float64))
        assert (kept.norms == 0).all()
        for gamma in WORKLOAD.closure:
            np.testing.assert_array_equal(kept.marginal(gamma), truth(codes, gamma))

    @settings(max_examples=60)
    @given(
        st.integers(0, 2**32),
        st.integers(0, 60),
        st.sampled_from([1.0, 1e4, 1e7, 1e15, 1e300]),
        st.booleans(),
        st.booleans(),
    )
    def test_a_row_changes_each_distance_by_at_most_what_it_moves(self, seed, rows, scale, wide, replaced):
        before, differences._WIDE_CELLS = differences._WIDE_CELLS, 1 << 28 if wide else 0
        try:
            rng = np.random.default_rng(seed)
            codes = random_codes(rng, rows + 2)
            tables = (codes[:-1], np.delete(codes, -2, axis=0)) if replaced else (codes[:-1], codes)
            one, two = (Differences(table_of(some), WORKLOAD, sigma=10.0) for some in tables)
        finally:
            differences._WIDE_CELLS = before
        for gamma in WORKLOAD.closure:
            mu_hat = rng.normal(size=DOMAIN.shape(gamma)) * scale
            one.compare(gamma, mu_hat)
            two.compare(gamma, mu_hat)
        assert (np.abs(two.norms - one.norms) <= (2 if replaced else 1) << one._bits).all()  # exactly: not a unit more
        assert (one.norms >= 0).all()

    @pytest.mark.parametrize("people", [2**20, 12_000_000, 2**24 - 1])
    def test_as_many_people_in_a_cell_as_32_bits_have_room_for(self, people, monkeypatch):
        monkeypatch.setattr(differences, "_WIDE_CELLS", 0)
        marginals = {gamma: np.zeros(DOMAIN.shape(gamma), dtype=np.int64) for gamma in Layout(WORKLOAD).maximal}
        for mu in marginals.values():
            mu.flat[0] = people
        kept = Differences(Counts.from_marginals(WORKLOAD, marginals), WORKLOAD, sigma=10.0)
        for gamma in WORKLOAD.closure:
            kept.compare(gamma, kept.marginal(gamma).astype(np.float64))
            assert distances(kept)[WORKLOAD.closure.index(gamma)] == 0
            kept.compare(gamma, np.full(DOMAIN.shape(gamma), -1e300))  # as far away as can be: no wrapping around
            assert distances(kept)[WORKLOAD.closure.index(gamma)] >= people
