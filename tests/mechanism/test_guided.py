from functools import partial
from itertools import combinations
from math import pi, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residuum import Domain, ReleaseError, ResiduumError, Table, Workload, WorkloadError, aim, residual_planner, resume
from residuum.core import planner
from residuum.core.neighbours import Neighbours
from residuum.data import differences, memory
from residuum.data.counts import Counts
from residuum.data.memory import cells_of
from residuum.estimate.mixture import Mixture
from residuum.estimate.reference import independent
from residuum.kernels import threads
from residuum.mechanism import batch, guided
from residuum.mechanism import run as run_module
from residuum.mechanism.curator import Curator
from tests.mechanism.test_aim import CASES, DOMAIN, TABLE, WORKLOAD, check, everything, spent_units, table_of, workloads

TOTAL = 2**96
BINARY = Domain({f"x{i}": 2 for i in range(8)})
PAIRS = Workload.all_kway(BINARY, 2)
PEOPLE = table_of(BINARY)
"""2,000 rows and 28 pairs: at ρ = 0.01 some 13 pairs stand out of the noise."""

REFERENCES = ["latent", "independent"]


def choices(release):
    """What every selection of a run cost, in units."""
    return [spend.units for spend in release.spends if spend.mechanism == "exponential"]


def measured(release, order):
    """The residuals over so many attributes that were measured."""
    closure, estimates = release.workload.closure, release.estimates
    return [tau for tau in closure if len(tau) == order and estimates.precision(tau) > 0]


class TestBudget:
    @settings(max_examples=60)
    @given(
        workloads(),
        st.floats(-6, 8).map(lambda x: 10**x),
        st.integers(0, 300),
        st.integers(0, 2**64 - 1),
        st.sampled_from([None, 1, 2, 3]),
        st.sampled_from(["add-remove", "replace"]),
        st.sampled_from(REFERENCES),
    )
    def test_spent_is_never_above_the_budget(self, workload, rho, rows, seed, rounds, neighbours, reference):
        """Budgets from next to nothing, where only single attributes are measured, to those that reach all orders."""
        table = table_of(workload.domain, rows)
        options = {"seed": seed, "rounds": rounds, "neighbours": neighbours, "reference": reference}
        check(aim(table, workload, rho=rho, **options), rho)

    @pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
    @pytest.mark.parametrize("rho", [1e-3, 0.5, 1e6])
    @pytest.mark.parametrize("rows", [0, 1000])
    @pytest.mark.parametrize("cliques", CASES.values(), ids=CASES.keys())
    def test_all_kinds_of_workloads(self, cliques, rows, rho, neighbours):
        workload = Workload(DOMAIN, cliques)
        release = aim(table_of(DOMAIN, rows), workload, rho=rho, seed=1, neighbours=neighbours)
        check(release, rho)
        assert set(measured(release, 1)) == {tau for tau in workload.closure if len(tau) == 1}
        if neighbours == "replace":
            assert release.marginal((), "mle").values == rows
            assert () not in [spend.clique for spend in release.spends if spend.mechanism == "gaussian"]

    @pytest.mark.parametrize("share", [2.0**-40, 0.5, 1 - 2.0**-53])
    @pytest.mark.parametrize("rounds", [None, 2])
    def test_any_share_for_single_attributes(self, share, rounds):
        release = aim(PEOPLE, PAIRS, rho=0.01, seed=1, share_singles=share, rounds=rounds)
        assert TOTAL * (1 - 1e-5) <= spent_units(release) <= TOTAL
        first = [spend for spend in release.spends if len(spend.clique) < 2 and spend.mechanism == "gaussian"][:9]
        assert sum(spend.units for spend in first) == pytest.approx(min(share, 1 - 2.0**-30) * TOTAL)

    def test_a_share_of_next_to_all_is_not_rounded_above_the_budget(self):
        domain = Domain({"a": 8, "b": 2, "c": 2, "d": 6})
        for reference in ("latent", "none"):
            release = aim(
                table_of(domain),
                Workload.all_kway(domain, 1),
                rho=0.00024212722015012225,  # the costs of these attributes are rounded up together
                share_singles=1 - 2.0**-53,
                reference=reference,
            )
            assert spent_units(release) <= TOTAL

    def test_budgets_beyond_computing(self):
        for rho in (1e-310, 1e-60):
            with pytest.raises(ResiduumError, match=r"too small|more than can be computed"):
                aim(TABLE, WORKLOAD, rho=rho)


@pytest.fixture
def never_plenty(monkeypatch):
    """No budget is so large that all is measured as planned."""
    monkeypatch.setattr(guided, "_PLENTY", 0.0)


class TestPlenty:
    @pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
    def test_all_is_measured_as_residual_planner_would(self, neighbours):
        release = aim(TABLE, WORKLOAD, rho=50.0, seed=1, neighbours=neighbours)
        check(release, 50.0)
        assert (release.provenance["path"], release.provenance["rounds"]) == ("plan", 0)
        assert choices(release) == []
        planned = planner.plan(WORKLOAD, 50.0, neighbours=Neighbours(neighbours)).sigma2
        for tau in WORKLOAD.closure[1:]:
            assert 1 - 1e-6 < 1 / (release.estimates.precision(tau) * planned[tau]) < 1.3  # but for the first look

    def test_by_the_noisy_total_and_the_noise_in_l1(self):
        """Just below and just above where the plan pays."""
        for factor, pays in ((0.8, False), (1.3, True)):
            rho = factor * plenty(WORKLOAD, 2000)
            release = aim(TABLE, WORKLOAD, rho=rho, seed=1, neighbours="replace")
            planned = planner.plan(WORKLOAD, rho, neighbours=Neighbours("replace")).sigma2
            precisions = np.array([release.estimates.precision(tau) * planned[tau] for tau in WORKLOAD.closure[1:]])
            assert (np.ptp(precisions) < 1e-6) == pays

    def test_not_where_rounds_or_shares_are_told(self):
        for options in ({"rounds": 3}, {"share_singles": 0.5}):
            release = aim(TABLE, WORKLOAD, rho=50.0, seed=1, **options)
            single = [spend.units for spend in release.spends if len(spend.clique) < 2]
            assert sum(single) >= 0.2 * TOTAL

    def test_not_where_the_workload_has_too_many_cells(self, monkeypatch):
        monkeypatch.setattr(guided, "_HIGHER_CELLS", cells_of(WORKLOAD) - 1)
        assert measured(aim(TABLE, WORKLOAD, rho=50.0, seed=1), 3) == []


def plenty(workload, rows):
    """The budget from which on the plan pays, where the number of rows is public."""
    stderr = planner.plan(workload, 1.0, neighbours=Neighbours("replace")).stderr
    away = [sqrt(2 / pi) * stderr[gamma] * workload.domain.size(gamma) for gamma in workload.targets]
    return (np.mean(away) / (guided._PLENTY * rows)) ** 2


@pytest.mark.usefixtures("never_plenty")
class TestRounds:
    @pytest.mark.parametrize("reference", REFERENCES)
    @pytest.mark.parametrize("rounds", [1, 2, 3, 7])
    def test_as_many_as_are_asked_for_that_spend_alike(self, rounds, reference):
        release = aim(PEOPLE, PAIRS, rho=0.01, seed=1, rounds=rounds, reference=reference)
        assert release.provenance["rounds"] == len(choices(release)) == rounds
        assert max(choices(release)) <= min(choices(release)) * (1 + 1e-8)
        assert sum(choices(release)) == pytest.approx(0.1 * 0.55 * TOTAL)  # of what single attributes leave

    @pytest.mark.parametrize("reference", REFERENCES)
    def test_as_many_as_pairs_stand_out_of_the_noise(self, reference):
        """Where a row is replaced the number of rows is public, and so is this."""
        release = aim(PEOPLE, PAIRS, rho=0.01, seed=1, neighbours="replace", reference=reference)
        assert release.provenance["rounds"] == len(choices(release)) == int(2000 * sqrt(0.01 / 2) / 15) == 9
        release = aim(PEOPLE, PAIRS, rho=0.01, seed=1, reference=reference)
        assert 12 <= release.provenance["rounds"] == len(choices(release)) <= 14

    def test_none_where_no_pair_does(self):
        release = aim(PEOPLE, PAIRS, rho=1e-6, seed=1)
        assert (release.provenance["path"], release.provenance["rounds"]) == ("singles", 0)
        assert {len(spend.clique) for spend in release.spends} == {0, 1}
        check(release, 1e-6)

    @pytest.mark.parametrize("rounds", [None, 22, 1000])
    def test_all_pairs_are_measured_where_nearly_all_do(self, rounds):
        release = aim(PEOPLE, PAIRS, rho=0.1 if rounds is None else 0.001, seed=1, rounds=rounds)
        assert choices(release) == []
        assert release.provenance["path"] == "pairs"
        assert measured(release, 2) == list(PAIRS.targets)
        check(release, release.rho)

    def test_pairs_are_measured_by_their_weight(self):
        workload = Workload(DOMAIN, {(0, 1, 2): 4.0, (1, 3): 1.0})
        precision = aim(TABLE, workload, rho=0.01, seed=1).estimates.precision
        assert precision((0, 1)) == precision((0, 2)) == precision((1, 2)) == pytest.approx(2 * precision((1, 3)))

    def test_only_what_was_asked_for_is_measured(self):
        workload = Workload(DOMAIN, [(0, 1), (3,)])
        release = aim(TABLE, workload, rho=0.5, seed=1)
        assert [measured(release, order) for order in (1, 2)] == [[(0,), (1,), (3,)], [(0, 1)]]


@pytest.mark.usefixtures("never_plenty")
class TestHigherOrders:
    @pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
    def test_measured_where_the_pairs_are_fine(self, neighbours):
        release = aim(TABLE, WORKLOAD, rho=1e3, seed=1, neighbours=neighbours)
        assert measured(release, 3) == list(WORKLOAD.targets)
        check(release, 1e3)

    def test_by_their_weight(self):
        workload = Workload(DOMAIN, {(0, 1, 2): 4.0, (1, 3, 4): 1.0, (2, 3, 4): 1.0})
        precision = aim(TABLE, workload, rho=1e3, seed=1).estimates.precision
        assert (
            precision((0, 1, 2)) == pytest.approx(2 * precision((1, 3, 4))) == pytest.approx(2 * precision((2, 3, 4)))
        )

    def test_never_more_precisely_than_the_pairs_below(self):
        for rho in (10.0, 1e3, 1e5, 1e7):
            precision = aim(TABLE, WORKLOAD, rho=rho, seed=1).estimates.precision
            pairs, higher = ([precision(tau) for tau in WORKLOAD.closure if len(tau) == order] for order in (2, 3))
            assert 0 < max(higher) <= min(pairs) * (1 + 1e-8)

    def test_not_where_they_are_not(self):
        assert measured(aim(TABLE, WORKLOAD, rho=0.1, seed=1), 3) == []

    def test_not_where_the_workload_has_too_many_cells(self, monkeypatch):
        monkeypatch.setattr(guided, "_HIGHER_CELLS", cells_of(WORKLOAD) - 1)
        release = aim(TABLE, WORKLOAD, rho=1e3, seed=1)
        assert (measured(release, 2), measured(release, 3)) == (list(combinations(range(5), 2)), [])
        check(release, 1e3)

    def test_the_free_memory_decides_nothing(self, monkeypatch):
        """Where it does not suffice the run ends, and can be resumed where there is more."""
        needed = batch.memory(WORKLOAD)
        plenty = aim(TABLE, WORKLOAD, rho=1e3, seed=1)
        monkeypatch.setattr(memory, "_available_memory", lambda: needed)
        assert everything(aim(TABLE, WORKLOAD, rho=1e3, seed=1)) == everything(plenty)
        monkeypatch.setattr(memory, "_available_memory", lambda: needed - 1)
        with pytest.raises(WorkloadError, match=f"{needed:,} bytes"):
            aim(TABLE, WORKLOAD, rho=1e3, seed=1)

    def test_a_large_budget_finds_the_truth(self):
        release = aim(TABLE, WORKLOAD, rho=1e7, seed=1)
        for gamma in WORKLOAD.targets:
            mu = np.zeros(DOMAIN.shape(gamma))
            np.add.at(mu, tuple(TABLE.columns[i] for i in gamma), 1)
            np.testing.assert_allclose(release.marginal(gamma, "mle").values, mu, atol=1.0)


class TestSelection:
    def test_it_turns_to_what_the_reference_does_not_tell(self):
        """Two attributes hang together, all others do not: what single attributes tell of those is no news."""
        codes = np.random.default_rng(0).integers(0, 2, size=(2000, 8))
        codes[:, 5] = codes[:, 2]
        reports = []
        aim(Table.from_codes(codes, BINARY), PAIRS, rho=0.1, rounds=1, seed=1, progress=reports.append)
        assert reports[-1].measured == ("x2", "x5")

    def test_it_knows_what_was_measured_before_the_model_learns_it(self, monkeypatch):
        """Two pairs hang together alike: one is selected, and then the other."""
        monkeypatch.setattr(guided, "_REFITS", 1)
        codes = np.random.default_rng(0).integers(0, 2, size=(2000, 8))
        codes[:, 5], codes[:, 7] = codes[:, 2], codes[:, 1]
        reports = []
        aim(Table.from_codes(codes, BINARY), PAIRS, rho=1.0, rounds=2, seed=1, progress=reports.append)
        assert {report.measured for report in reports[-2:]} == {("x2", "x5"), ("x1", "x7")}

    def test_of_many_pairs_the_model_learns_less_often(self, monkeypatch):
        """Comparing all of them takes long: with a thousand columns an hour, if the model learnt 128 times."""
        learnt: list[int] = []
        monkeypatch.setattr(guided, "independent", lambda estimates: learnt.append(1) or independent(estimates))
        for most in (guided._MOST_COMPARED, 12 * len(PAIRS.closure), 1):
            monkeypatch.setattr(guided, "_MOST_COMPARED", most)
            learnt.append(0)
            aim(PEOPLE, PAIRS, rho=0.1, rounds=20, seed=1, reference="independent")
        runs = "".join(map(str, learnt)).split("0")[1:]
        assert [len(run) for run in runs] == [20, 10, 7]  # once before the first round, and never after the last

    def test_it_knows_the_prior(self):
        """All pairs but one are known, so every run turns to that one first."""
        domain = Domain({"a": 3, "b": 4, "c": 4})
        table = table_of(domain)
        prior = residual_planner(table, Workload(domain, [(0, 1), (0, 2)]), rho=1e6, seed=1)
        for seed in range(8):
            reports = []
            workload = Workload.all_kway(domain, 2)
            aim(table, workload, rho=10.0, rounds=1, seed=seed, prior=prior, progress=reports.append)
            assert reports[-1].measured == ("b", "c")

    @pytest.mark.parametrize("wide", [True, False], ids=["64 bits", "32 bits"])
    @pytest.mark.parametrize("reference", REFERENCES)
    def test_the_same_with_any_number_of_threads(self, reference, wide, monkeypatch):
        monkeypatch.setattr(threads, "WORTHWHILE", 1)
        if not wide:
            monkeypatch.setattr(differences, "_WIDE_CELLS", 0)
        runs = []
        for count in ("1", "2"):
            monkeypatch.setenv("RESIDUUM_THREADS", count)
            runs.append(everything(aim(PEOPLE, PAIRS, rho=0.01, rounds=5, reference=reference, seed=5)))
        assert runs[0] == runs[1]

    def test_without_a_matrix_of_all_pairs_where_that_is_too_large(self, monkeypatch):
        domain = Domain({"a": 6000, "b": 3000, "c": 2})
        codes = np.random.default_rng(0).integers(0, domain.sizes, size=(100, 3))
        monkeypatch.setattr(Mixture, "pairs", lambda _: pytest.fail("made the matrix"))
        release = aim(Table.from_codes(codes, domain), Workload(domain, [(0, 2), (1, 2)]), rho=1.0, rounds=1, seed=1)
        assert len(choices(release)) == 1


class TestPrior:
    @pytest.mark.parametrize("how", [{}, {"rounds": 3}, {"rounds": 3, "reference": "independent"}], ids=str)
    @pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
    def test_it_is_built_upon_and_costs_nothing_again(self, neighbours, how):
        prior = aim(TABLE, WORKLOAD, rho=0.2, seed=1, neighbours=neighbours)
        before = everything(prior)
        release = aim(TABLE, WORKLOAD, rho=0.1, seed=2, prior=prior, neighbours=neighbours, **how)
        assert release.rho == pytest.approx(0.3)
        assert release.spends[: len(prior.spends)] == prior.spends
        assert TOTAL * (1 - 1e-8) <= spent_units(release) - spent_units(prior) <= TOTAL
        for tau in WORKLOAD.closure:
            assert release.estimates.precision(tau) >= prior.estimates.precision(tau) * (1 - 1e-12)
        assert prior.lineage < release.lineage
        assert everything(prior) == before

    def test_one_that_knew_next_to_nothing_is_left_out(self):
        prior = residual_planner(PEOPLE, PAIRS, rho=1e-30, seed=1)
        release = aim(PEOPLE, PAIRS, rho=0.01, rounds=3, seed=2, prior=prior)
        assert 0 < len(measured(release, 2)) < 28
        assert all(release.marginal(gamma, "mle").noise_stderr < 1e3 for gamma in measured(release, 2))


class TestSources:
    def test_counts_in_place_of_a_table(self):
        for rho in (0.01, 1e3):
            one, two = (aim(source, WORKLOAD, rho=rho, seed=1) for source in (TABLE, Counts(TABLE, WORKLOAD)))
            assert everything(one) == everything(two)

    def test_counts_that_lack_a_higher_order_are_refused_before_anything_is_spent(self, tmp_path):
        """Not where the run comes to that order, which depends on noisy answers."""
        for rho in (0.01, 1e3):
            with pytest.raises(WorkloadError, match="do not include the marginal over"):
                aim(Counts(TABLE, Workload.all_kway(DOMAIN, 2)), WORKLOAD, rho=rho, output=tmp_path / "run")
            assert not (tmp_path / "run").exists()

    def test_what_is_no_table(self):
        with pytest.raises(WorkloadError, match="Expected a Table, or the Counts of one, got ndarray"):
            aim(TABLE.columns, WORKLOAD, rho=0.1)

    def test_parameters_that_make_no_sense(self):
        with pytest.raises(ResiduumError, match="Allocation 'iid' is a variant of the paper's algorithm"):
            aim(TABLE, WORKLOAD, rho=1.0, allocation="iid")
        with pytest.raises(ResiduumError, match="Expected the reference 'latent', 'independent' or 'none', got 'tea'"):
            aim(TABLE, WORKLOAD, rho=1.0, reference="tea")
        with pytest.raises(ResiduumError, match="Expected `rounds` to be a whole number above 0, got 0"):
            aim(TABLE, WORKLOAD, rho=1.0, rounds=0)


class TestResumed:
    """What holds of every mechanism is in test_resume.py."""

    def test_what_is_asked_does_not_depend_on_the_model(self, place, monkeypatch):
        """On another machine its floating point may differ; the journal must fit there as well."""
        died = partial(interrupt, after=4)
        with pytest.raises(KeyboardInterrupt):
            aim(PEOPLE, PAIRS, rho=0.01, rounds=8, output=place / "run", progress=died())
        monkeypatch.setattr(guided.Learner, "learn", lambda _, estimates: independent(estimates))
        release = resume(place / "run", PEOPLE)
        assert release.provenance["rounds"] == len(choices(release)) >= 7
        assert TOTAL * (1 - 1e-8) <= spent_units(release) <= TOTAL

    @pytest.mark.parametrize(
        ("rho", "rounds", "verb", "after"),
        [
            (1e-6, None, "measure", 1),  # single attributes, for the first time
            (1e-6, None, "measure", 2),  # once more, instead of pairs
            (0.01, 5, "measure", 2),  # once more, before pairs
            (0.01, 5, "select", 0),
            (0.01, 5, "measure", 4),
            (0.01, 5, "select", 4),
            (0.01, None, "measure", 2),  # the first pair
            (0.01, None, "measure", 11),  # the last pair
            (1e4, None, "measure", 1),  # the first of what is planned
            (1e4, None, "measure", 15),
        ],
    )
    def test_what_dies_in_its_last_block_ends_there(self, rho, rounds, verb, after, place, monkeypatch):
        monkeypatch.setattr(run_module, "_BLOCK", TOTAL)  # so that the first block is the last
        with monkeypatch.context() as patch:
            die_in(patch, verb, after)
            with pytest.raises(KeyboardInterrupt):
                aim(TABLE, WORKLOAD, rho=rho, rounds=rounds, output=place / "run")
        release = resume(place / "run", TABLE)
        assert release.spends[-1].mechanism == "lost"
        assert spent_units(release) == TOTAL
        check(release, rho)

    def test_upon_another_prior(self, place):
        prior = aim(PEOPLE, PAIRS, rho=0.01, seed=1)
        with pytest.raises(KeyboardInterrupt):
            aim(PEOPLE, PAIRS, rho=0.01, rounds=4, prior=prior, output=place / "run", progress=interrupt(after=2))
        with pytest.raises(ReleaseError, match="upon another prior release"):
            resume(place / "run", PEOPLE)
        assert resume(place / "run", PEOPLE, prior=prior).rho == pytest.approx(0.02)


def interrupt(after):
    """A listener that interrupts a run after so many reports."""
    left = [after]

    def listener(_):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt

    return listener


def die_in(monkeypatch, verb, after):
    """Have the curator die when it draws for the so-manieth time what a verb asks for, once that is charged."""
    left = [after]

    def once(curator, question, draws, draw, _once=Curator._once):
        def dying():
            left[0] -= verb in question
            if left[0] < 0:
                raise KeyboardInterrupt
            return draw()

        return _once(curator, question, draws, dying)

    monkeypatch.setattr(Curator, "_once", once)


def test_memory_is_that_of_the_model_where_there_is_one():
    few, many = (Workload.all_kway(Domain({"a": n, "b": n, "c": n}), 2) for n in (2000, 3000))
    assert guided.memory(few) - differences.keeping(few) == 32 * 6000**2
    assert guided.memory(many) == differences.keeping(many)
