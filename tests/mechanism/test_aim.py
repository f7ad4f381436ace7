from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residuum
from residuum import Domain, ReleaseError, ResiduumError, Table, Workload, WorkloadError, display, residual_planner
from residuum.core.workload import subsets
from residuum.core.zcdp import per_row, rho_of
from residuum.data import differences
from residuum.data.counts import Counts
from residuum.kernels import threads
from residuum.release import measurements

aim = partial(residuum.aim, reference="none")
"""The paper's algorithm; test_guided.py is about the default."""

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2, "e": 3})
WORKLOAD = Workload.all_kway(DOMAIN, 3)


def table_of(domain, rows=2000, seed=0):
    """A table whose columns hang together: everybody is of one of four kinds."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, size=(rows, 1))
    codes = np.where(rng.random((rows, len(domain))) < 0.3, rng.integers(0, 10**6, (rows, len(domain))), kind)
    return Table.from_codes(codes % np.array(domain.sizes), domain)


TABLE = table_of(DOMAIN)


def everything(release):
    """All that was measured and how, bit for bit."""
    known = [(m.tau, m.values.tobytes(), m.sigma2) for m in measurements(release.estimates)]
    return known, release.spends, release.rho, release.provenance["rounds"]


def spent_units(release):
    return sum(spend.units for spend in release.spends)


def check(release, rho):
    """What holds of every release: within the budget, all of it used, and marginals that agree with each other."""
    assert Fraction(release.rho) <= Fraction(rho)
    assert 2**96 * (1 - 1e-8) <= spent_units(release) <= 2**96
    closure = release.workload.closure
    for gamma in closure:
        values = release.marginal(gamma, "mle").values
        assert np.isfinite(values).all()
        for tau in subsets(gamma):
            if len(tau) == len(gamma) - 1:
                summed = values.sum(axis=tuple(k for k, i in enumerate(gamma) if i not in tau))
                np.testing.assert_allclose(summed, release.marginal(tau, "mle").values, rtol=1e-7, atol=1e-6)


@st.composite
def workloads(draw):
    sizes = draw(st.lists(st.integers(2, 5), min_size=1, max_size=6))
    domain = Domain({f"x{i}": n for i, n in enumerate(sizes)})
    cliques = st.sets(st.integers(0, len(sizes) - 1), min_size=1, max_size=5).map(tuple)
    weights = st.floats(0.01, 100)
    return Workload(domain, draw(st.dictionaries(cliques, weights, min_size=1, max_size=5)))


@settings(max_examples=30)
@given(workloads(), st.floats(-4, 2).map(lambda x: 10**x), st.integers(0, 300), st.integers(0, 2**64 - 1))
def test_spent_is_never_above_the_budget(workload, rho, rows, seed):
    check(aim(table_of(workload.domain, rows), workload, rho=rho, seed=seed), rho)


CASES = {
    "1-way only": [(i,) for i in range(5)],
    "a single attribute": [(2,)],
    "a single pair": [(1, 3)],
    "a single clique": [(0, 1, 2, 3, 4)],
    "mixed orders": [(0,), (1, 2), (0, 2, 3), (1, 2, 3, 4), (0, 1, 2, 3, 4)],
    "duplicates": [(0, 1), ("b", "a"), (1, 2), (0, 1)],
    "all 3-way": list(combinations(range(5), 3)),
    "the total as well": [(), (0, 1)],
}


@pytest.mark.parametrize("allocation", ["crp", "iid"])
@pytest.mark.parametrize("rows", [0, 1000])
@pytest.mark.parametrize("cliques", CASES.values(), ids=CASES.keys())
def test_all_kinds_of_workloads(cliques, rows, allocation):
    workload = Workload(DOMAIN, cliques)
    release = aim(table_of(DOMAIN, rows), workload, rho=0.5, seed=1, allocation=allocation)
    check(release, 0.5)
    assert release.provenance["allocation"] == allocation
    assert {tau for tau in workload.closure if release.estimates.precision(tau) > 0} >= {
        tau for tau in workload.closure if len(tau) < 2
    }


@pytest.mark.parametrize("allocation", ["crp", "iid"])
@pytest.mark.parametrize("cliques", CASES.values(), ids=CASES.keys())
def test_neighbours_with_a_row_replaced(cliques, allocation):
    """The total is public, and the whole budget goes to the rest, which costs twice as much or a little less."""
    workload = Workload(DOMAIN, cliques)
    release = aim(TABLE, workload, rho=0.5, seed=1, allocation=allocation, neighbours="replace")
    check(release, 0.5)
    assert release.marginal((), "mle").values == 2000
    assert () not in [spend.clique for spend in release.spends if spend.mechanism == "gaussian"]
    assert release.provenance["neighbours"] == "replace"
    batch = residual_planner(TABLE, workload, rho=0.5, seed=1, neighbours="replace")
    assert 2**96 * (1 - 1e-8) <= spent_units(batch) <= 2**96
    assert batch.marginal((), "mle").values == 2000
    assert aim(TABLE, workload, rho=0.1, seed=3, prior=release, neighbours="replace").marginal((), "mle").values == 2000
    with pytest.raises(ReleaseError, match="same neighbours"):
        aim(TABLE, workload, rho=0.1, seed=3, prior=release)


def test_noise_from_opendp():
    release = aim(TABLE, WORKLOAD, rho=0.1, noise="opendp")
    check(release, 0.1)
    assert release.provenance["noise"] == "opendp"
    assert release.provenance["caveats"] == ()
    with pytest.raises(ResiduumError, match="cannot be seeded"):
        aim(TABLE, WORKLOAD, rho=0.1, noise="opendp", seed=1)
    with pytest.raises(ResiduumError, match="'exact' or 'opendp', got 'laplace'"):
        aim(TABLE, WORKLOAD, rho=0.1, noise="laplace")


def test_two_attributes():
    domain = Domain({"a": 2, "b": 2})
    check(aim(table_of(domain), Workload.all_kway(domain, 2), rho=1.0, seed=1), 1.0)


@pytest.mark.parametrize("allocation", ["crp", "iid"])
def test_a_seed_gives_the_same_run_bit_for_bit(allocation):
    one, two, other = (aim(TABLE, WORKLOAD, rho=0.1, seed=s, allocation=allocation) for s in (5, 5, 6))
    assert everything(one) == everything(two)
    assert everything(one) != everything(other)
    assert one.lineage == two.lineage != other.lineage


@pytest.mark.parametrize("wide", [True, False], ids=["64 bits", "32 bits"])
def test_the_same_measurements_with_any_number_of_threads(wide, monkeypatch):
    monkeypatch.setattr(threads, "WORTHWHILE", 1)
    if not wide:
        monkeypatch.setattr(differences, "_WIDE_CELLS", 0)
    runs = []
    for count in ("1", "2"):
        monkeypatch.setenv("RESIDUUM_THREADS", count)
        runs.append(everything(aim(TABLE, WORKLOAD, rho=0.1, seed=5)))
    assert runs[0] == runs[1]


def test_without_a_seed_runs_differ_and_say_what_they_are():
    one, two = (aim(TABLE, WORKLOAD, rho=0.1) for _ in range(2))
    assert everything(one) != everything(two)
    assert not one.lineage & two.lineage
    assert one.provenance["caveats"] == ()
    assert aim(TABLE, WORKLOAD, rho=0.1, seed=0).provenance["caveats"] == ("not private: seeded",)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_so_few_rounds_that_the_first_measurements_take_all(relation):
    with pytest.raises(ResiduumError, match="With `rounds` of 2 the first measurements would take the whole budget"):
        aim(table_of(DOMAIN), WORKLOAD, rho=0.5, seed=1, neighbours=relation, rounds=2)
    aim(table_of(DOMAIN), WORKLOAD, rho=0.5, seed=1, neighbours=relation, rounds=3)
    aim(table_of(DOMAIN), WORKLOAD, rho=0.5, seed=1, neighbours=relation, rounds=2, share_singles=0.5)


def test_a_large_budget_finds_the_truth():
    release = aim(TABLE, WORKLOAD, rho=1e7, seed=1)
    for gamma in WORKLOAD.targets:
        mu = np.zeros(DOMAIN.shape(gamma))
        np.add.at(mu, tuple(TABLE.columns[i] for i in gamma), 1)
        np.testing.assert_allclose(release.marginal(gamma, "mle").values, mu, atol=1.0)


def test_epsilon_and_delta():
    release = aim(TABLE, WORKLOAD, epsilon=1.0, delta=1e-9, seed=1)
    assert release.rho == release.provenance["rho"] == rho_of(1.0, 1e-9)
    assert (release.provenance["epsilon"], release.provenance["delta"]) == (1.0, 1e-9)
    assert everything(release) == everything(aim(TABLE, WORKLOAD, rho=rho_of(1.0, 1e-9), seed=1))


def test_people_with_several_rows():
    release = aim(TABLE, WORKLOAD, rho=0.4, rows_per_person=2, seed=1)
    assert release.rho == 0.4
    assert {spend.budget for spend in release.spends} == {per_row(0.4, 2)} == {0.1}
    assert release.provenance["rows_per_person"] == 2
    alone = aim(TABLE, WORKLOAD, rho=0.1, seed=1)
    assert everything(release)[:2] == everything(alone)[:2]


def test_the_last_round_leaves_next_to_nothing():
    for rho in (1e-3, 0.1, 10.0):
        release = aim(TABLE, WORKLOAD, rho=rho, seed=2)
        assert 0 <= release.provenance["unspent"] <= 1e-8 * rho
        assert rho * (1 - 1e-8) <= release.rho <= rho
        assert release.provenance["rounds"] == sum(spend.mechanism == "exponential" for spend in release.spends)


@pytest.mark.parametrize("allocation", ["crp", "iid"])
def test_a_prior_is_built_upon_and_costs_nothing_again(allocation):
    prior = aim(TABLE, WORKLOAD, rho=0.2, seed=1)
    before = everything(prior)
    release = aim(TABLE, WORKLOAD, rho=0.1, seed=2, prior=prior, allocation=allocation)
    assert release.rho == pytest.approx(0.3)
    new = release.spends[len(prior.spends) :]
    assert release.spends[: len(prior.spends)] == prior.spends
    assert 2**96 * (1 - 1e-8) <= sum(spend.units for spend in new) <= 2**96
    gained = [release.estimates.precision(tau) - prior.estimates.precision(tau) for tau in WORKLOAD.closure]
    assert min(gained) >= -1e-12
    assert max(gained) > 0
    assert prior.lineage < release.lineage
    assert everything(prior) == before
    assert release.provenance["caveats"] == ("not private: seeded",)


def test_the_selection_knows_the_prior():
    """All pairs but one are known, so every run turns to that one first."""
    domain = Domain({"a": 3, "b": 4, "c": 4})
    table = table_of(domain)
    prior = residual_planner(table, Workload(domain, [(0, 1), (0, 2)]), rho=1e6, seed=1)
    for seed in range(8):
        reports = []
        aim(table, Workload.all_kway(domain, 2), rho=10.0, seed=seed, prior=prior, progress=reports.append)
        assert reports[1].measured == ("b", "c")


def test_a_seed_draws_other_noise_upon_a_prior():
    one = residual_planner(TABLE, WORKLOAD, rho=0.5, seed=1)
    two = residual_planner(TABLE, WORKLOAD, rho=0.5, seed=1, prior=one)
    gamma = WORKLOAD.targets[0]
    assert np.abs(one.marginal(gamma, "mle").values - two.marginal(gamma, "mle").values).max() > 0.01
    again = residual_planner(TABLE, WORKLOAD, rho=0.5, seed=1, prior=one)
    np.testing.assert_array_equal(two.marginal(gamma, "mle").values, again.marginal(gamma, "mle").values)


def test_a_prior_of_other_people():
    prior = aim(TABLE, WORKLOAD, rho=0.9, rows_per_person=3, seed=1)
    with pytest.raises(ReleaseError, match="same rows_per_person"):
        aim(TABLE, WORKLOAD, rho=0.1, prior=prior)
    with pytest.raises(ReleaseError, match="Expected `prior` to be a Release, got int"):
        aim(TABLE, WORKLOAD, rho=0.1, prior=3)


def test_budgets_beyond_computing():
    with pytest.raises(ResiduumError, match=r"too small|more than can be computed"):
        aim(TABLE, WORKLOAD, rho=1e-310)
    with pytest.raises(ResiduumError, match="leaves nothing for a row"):
        aim(TABLE, WORKLOAD, rho=1.0, rows_per_person=10**200)


def test_a_progress_that_is_none():
    with pytest.raises(ResiduumError, match="Expected `progress` to be True, False, None or a function, got 'yes'"):
        aim(TABLE, WORKLOAD, rho=1.0, progress="yes")


def test_a_prior_of_a_smaller_workload():
    prior = aim(TABLE, Workload.all_kway(DOMAIN, 2), rho=0.2, seed=1)
    release = aim(TABLE, WORKLOAD, rho=0.1, seed=2, prior=prior)
    assert release.workload is WORKLOAD
    for tau in prior.workload.closure:
        assert release.estimates.precision(tau) >= prior.estimates.precision(tau) * (1 - 1e-12)


def test_a_prior_that_knew_next_to_nothing():
    prior = residual_planner(TABLE, WORKLOAD, rho=1e-30, seed=1)
    release = aim(TABLE, WORKLOAD, rho=1e3, seed=2, prior=prior)
    assert max(release.marginal(gamma, "mle").noise_stderr for gamma in WORKLOAD.targets) < 100


def test_a_prior_that_does_not_fit():
    other = Domain({"a": 3, "b": 2})
    prior = aim(table_of(other), Workload.all_kway(other, 2), rho=1.0, seed=1)
    with pytest.raises(ReleaseError, match="same domain"):
        aim(TABLE, WORKLOAD, rho=1.0, prior=prior)
    prior = aim(TABLE, WORKLOAD, rho=1.0, seed=1)
    with pytest.raises(ReleaseError, match="workload that the new one covers"):
        aim(TABLE, Workload.all_kway(DOMAIN, 2), rho=1.0, prior=prior)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"epsilon": 0.0, "delta": 1e-9}, "`epsilon` to be a finite number above 0, got 0.0"),
        ({"epsilon": -1, "delta": 1e-9}, "`epsilon` to be a finite number above 0, got -1"),
        ({"epsilon": float("nan"), "delta": 1e-9}, "`epsilon` to be a finite number above 0"),
        ({"epsilon": 1.0, "delta": 0.0}, "`delta` to be between 0 and 1, got 0.0"),
        ({"epsilon": 1.0, "delta": 1.0}, "`delta` to be between 0 and 1, got 1.0"),
        ({"epsilon": 1.0, "delta": -0.1}, "`delta` to be between 0 and 1, got -0.1"),
        ({"epsilon": 1.0, "rho": 1.0}, "either rho or epsilon"),
        ({"delta": 1e-9, "rho": 1.0}, "no delta beside rho"),
        ({"epsilon": 1.0}, "a delta beside epsilon"),
        ({"delta": 1e-9}, "an epsilon beside delta"),
        ({}, "a privacy budget, got none"),
        ({"rho": 0}, "`rho` to be a finite number above 0, got 0"),
        ({"rho": "1"}, "`rho` to be a number, got '1'"),
        ({"rho": 1.0, "rows_per_person": 0}, "`rows_per_person` to be a whole number above 0, got 0"),
        ({"rho": 1.0, "seed": -1}, "seed between 0 and"),
        ({"rho": 1.0, "min_share": 1.0}, "`min_share` to be at least 0 and below 1"),
        ({"rho": 1e-60}, "larger budget"),
    ],
)
def test_bad_parameters(budget, message):
    with pytest.raises(ResiduumError, match=message):
        aim(TABLE, WORKLOAD, **budget)


def test_an_unknown_allocation():
    with pytest.raises(ResiduumError, match="optimal"):
        aim(TABLE, WORKLOAD, rho=1.0, seed=1, allocation="optimal")


def test_a_table_of_another_domain():
    with pytest.raises(WorkloadError, match="different domains"):
        aim(table_of(Domain({"a": 3, "b": 2})), WORKLOAD, rho=1.0)


@pytest.mark.parametrize("wide_cells", [1 << 28, 0])
def test_counts_in_place_of_a_table(wide_cells, monkeypatch):
    monkeypatch.setattr(differences, "_WIDE_CELLS", wide_cells)
    counted = Counts(TABLE, WORKLOAD)
    ready = Counts.from_marginals(WORKLOAD, {gamma: counted.marginal(gamma) for gamma in counted.layout.maximal})
    one, two = (aim(source, WORKLOAD, rho=0.1, seed=1) for source in (TABLE, ready))
    assert one.lineage == two.lineage
    for gamma in WORKLOAD.closure:
        np.testing.assert_array_equal(one.marginal(gamma, "mle").values, two.marginal(gamma, "mle").values)
    again = aim(ready, WORKLOAD, rho=0.1, seed=1)  # the first run left them as they were
    assert again.lineage == one.lineage
    with pytest.raises(WorkloadError, match="do not include the marginal over"):
        aim(Counts(TABLE, Workload.all_kway(DOMAIN, 1)), WORKLOAD, rho=0.1)
    with pytest.raises(WorkloadError, match="Expected a Table, or the Counts of one, got ndarray"):
        aim(TABLE.columns, WORKLOAD, rho=0.1)


class TestProgress:
    def test_a_function_is_told(self, monkeypatch):
        hours = iter(range(10_000))
        monkeypatch.setattr(display.time, "monotonic", lambda: next(hours))
        reports = []
        release = aim(TABLE, WORKLOAD, rho=0.1, seed=1, progress=reports.append)
        spent = [report.spent for report in reports]
        assert spent == sorted(spent)
        assert 1 - 1e-8 <= spent[-1] <= 1
        assert [report.rounds for report in reports] == list(range(release.provenance["rounds"] + 1))
        chosen = {report.measured for report in reports[1:]}
        assert chosen <= {DOMAIN.name(gamma) for gamma in WORKLOAD.closure[1:]}

    def test_the_last_report_always_comes(self, monkeypatch):
        monkeypatch.setattr(display.time, "monotonic", lambda: 100.0)  # all within a tenth of a second
        reports = []
        aim(TABLE, WORKLOAD, rho=0.1, seed=1, progress=reports.append)
        assert reports[-1].spent > 1 - 1e-8

    @pytest.mark.parametrize("quiet", [False, None])
    def test_nothing_is_printed(self, quiet, capfd):
        aim(TABLE, WORKLOAD, rho=0.1, seed=1, progress=quiet)
        assert capfd.readouterr() == ("", "")

    def test_a_display(self, capfd, monkeypatch):
        monkeypatch.setenv("FORCE_COLOR", "1")
        aim(TABLE, WORKLOAD, rho=0.1, seed=1, progress=True)
        out, err = capfd.readouterr()
        assert out == ""
        assert "AIM+GReM" in err
        assert "0% counted" in err

    @pytest.mark.parametrize("mechanism", [aim, residual_planner])
    def test_first_the_counting_is_shown_and_then_the_budget(self, mechanism, monkeypatch):
        shown = []

        class Bars:
            def start(self):
                pass

            def stop(self):
                pass

            def add_task(self, *_, **__):
                return 0

            def reset(self, _):
                shown.append([])

            def update(self, _, **fields):
                shown[-1].append(fields)

        hours = iter(range(10_000))
        monkeypatch.setattr(display.time, "monotonic", lambda: next(hours))
        monkeypatch.setattr(display, "_bars", lambda _: Bars())
        mechanism(TABLE, WORKLOAD, rho=0.1, seed=1, progress=True)
        counting, spending = shown
        assert {fields["of"] for fields in counting} == {"counted"}
        assert {fields["details"] for fields in counting} == {""}  # a share, and nothing else about the table
        assert {fields["of"] for fields in spending} == {"of the budget"}
        for phase in (counting, spending):
            shares = [fields["completed"] for fields in phase]
            assert len(shares) > 3
            assert shares == sorted(shares)
            assert 1 - 1e-8 <= shares[-1] <= 1
        assert " rounds " in spending[-1]["details"]

    def test_an_interrupt_ends_the_display_and_reaches_the_caller(self, monkeypatch):
        class Bars:
            running = False

            def start(self):
                self.running = True

            def stop(self):
                self.running = False

            def add_task(self, *_, **__):
                return 0

            def reset(self, _):
                pass

            def update(self, *_, **__):
                assert self.running
                raise KeyboardInterrupt

        bars = Bars()
        monkeypatch.setattr(display, "_bars", lambda _: bars)
        with pytest.raises(KeyboardInterrupt):
            aim(TABLE, WORKLOAD, rho=0.1, seed=1, progress=True)
        assert not bars.running
