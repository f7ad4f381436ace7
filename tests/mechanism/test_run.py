import os
import resource
import shutil
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from residuum import (
    BudgetExceeded,
    BudgetFile,
    Domain,
    ReleaseError,
    ResiduumError,
    Table,
    Workload,
    aim,
    load,
    residual_planner,
    resume,
)
from residuum.mechanism.curator import AdaptiveCurator, Curator
from residuum.mechanism.journal import Journal
from residuum.mechanism.run import Run
from residuum.mechanism.terms import Terms
from tests.mechanism.killing import RELEASE, TABLE, WORKLOAD

TOTAL = 2**96
BLOCK = TOTAL // 200


def units(budget, name):
    """What a release has charged on disk, to the unit."""
    with budget._reading() as connection:
        return int(budget._row(connection, name)[1])


@pytest.fixture
def budget(place):
    return BudgetFile.create(place / "budget", rho=10.0)


class TestBlocks:
    @pytest.fixture
    def synced(self, monkeypatch):
        """How long each file was when it was last synced: no more of it would be there after a power cut."""
        lengths = {}

        def fsync(handle, _fsync=os.fsync):
            _fsync(handle)
            lengths[os.readlink(f"/proc/self/fd/{handle}")] = os.fstat(handle).st_size

        monkeypatch.setattr(os, "fsync", fsync)
        return lengths

    @pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="cannot tell which file is synced")
    @pytest.mark.parametrize("mechanism", [aim, residual_planner])
    def test_every_draw_is_charged_on_disk_before(self, place, budget, synced, monkeypatch, mechanism):
        """And what is charged ahead of it is a block, or the charge itself where that is larger."""
        drawn, journal = [], place / "run" / "journal"

        def once(curator, question, draws, draw, _once=Curator._once):
            def watched():
                spends = curator.ledger.spends[-draws:]
                spent = curator.ledger.spent_units
                used = spent - sum(spend.units for spend in spends)
                (place / "copy").mkdir()
                (place / "copy" / "journal").write_bytes(journal.read_bytes()[: synced[str(journal)]])
                kept, _ = Journal.open(place / "copy")
                kept.close()
                shutil.rmtree(place / "copy")
                (entry,) = budget.releases()
                assert spent <= kept.reserved == units(budget, entry.name) <= max(spent, used + BLOCK)
                drawn.append(spends)
                return draw()

            return _once(curator, question, draws, watched)

        def charge(*arguments, _charge=BudgetFile.charge):
            assert not journal.exists() or synced[str(journal)] == journal.stat().st_size
            _charge(*arguments)

        monkeypatch.setattr(Curator, "_once", once)
        monkeypatch.setattr(BudgetFile, "charge", charge)
        release = mechanism(TABLE, WORKLOAD, rho=1.0, output=place / "run", ledger=budget)
        assert [spend for spends in drawn for spend in spends] == list(release.spends)
        assert len(drawn) > 5

    @pytest.mark.parametrize("parts", [300, 333, 399, 401, 1000, 3])
    def test_a_crash_loses_a_block_or_one_charge(self, place, parts):
        """Whatever of the block before was left when the next one was begun."""
        run = Run.start("AIM+GReM", Terms.agree(rho=1.0), WORKLOAD, {}, output=place / "run")
        with run:
            for _ in range(parts - 1):
                used = run.ledger.spent_units
                run.ledger.charge_gaussian((), (1, 1), sigma2=parts / 2)
                assert run.ledger.spent_units <= run._reserved <= max(run.ledger.spent_units, used + BLOCK)

    @pytest.mark.parametrize(("with_budget", "most"), [(False, 210), (True, 420)])
    def test_a_long_run_does_not_wait_for_the_disk(self, place, budget, monkeypatch, with_budget, most):
        ledger = budget if with_budget else None
        run = Run.start("AIM+GReM", Terms.agree(rho=1.0), WORKLOAD, {}, output=place / "run", ledger=ledger)
        syncs = 0

        def fsync(_):
            nonlocal syncs
            syncs += 1

        monkeypatch.setattr(os, "fsync", fsync)
        with run:
            for _ in range(8192):
                run.ledger.charge_gaussian((), (1, 1), sigma2=4096.0)
        assert run.ledger.remaining == 0
        assert 200 <= syncs <= most


class TestStarting:
    def test_a_run_with_a_folder_and_a_budget_file(self, place, budget):
        release = aim(TABLE, WORKLOAD, rho=1.0, output=place / "a" / "run", ledger=str(budget.path))
        assert sorted(os.listdir(place / "a" / "run")) == RELEASE
        assert load(place / "a" / "run").spends == release.spends
        (entry,) = budget.releases()
        assert (entry.mechanism, entry.folder, entry.state) == ("AIM+GReM", str(place / "a" / "run"), "finished")
        assert units(budget, entry.name) == sum(spend.units for spend in release.spends)
        charges = [(spend.mechanism, spend.clique, spend.units) for _, spend in budget.charges(entry.name)]
        assert charges == [(spend.mechanism, spend.clique, spend.units) for spend in release.spends]
        assert [when for when, _ in budget.charges(entry.name)] == sorted(w for w, _ in budget.charges(entry.name))

    def test_rows_per_person_do_not_change_what_a_person_is_charged(self, budget):
        aim(TABLE, WORKLOAD, rho=2.0, rows_per_person=3, ledger=budget)
        assert 8.0 <= budget.free < 8.0 + 1e-6

    def test_the_same_with_or_without_a_folder(self, place, budget):
        kept = aim(TABLE, WORKLOAD, rho=1.0, seed=1, output=place / "run", ledger=budget)
        assert kept.spends == aim(TABLE, WORKLOAD, rho=1.0, seed=1).spends

    def test_what_the_budget_file_refuses_leaves_nothing(self, place, budget):
        with pytest.raises(BudgetExceeded, match=r"there is 10\.0 left"):
            aim(TABLE, WORKLOAD, rho=11.0, output=place / "run", ledger=budget)
        assert os.listdir(place) == ["budget"]
        assert budget.releases() == []

    @pytest.mark.parametrize(
        "wrong",
        [
            {"seed": -1},
            {"neighbours": "replace"},
            {"min_share": float("nan")},
            {"output": None, "seed": -1},
            {"prior": "yesterday"},
            {"output": 5},
            {"ledger": 5},
            {"ledger": "nowhere"},
            {"progress": "often"},
        ],
    )
    def test_what_makes_no_sense_leaves_nothing(self, place, budget, wrong):
        with pytest.raises(ResiduumError) as caught:
            aim(TABLE, WORKLOAD, **{"rho": 1.0, "output": place / "run", "ledger": budget} | wrong)
        assert "\n" not in str(caught.value)
        assert os.listdir(place) == ["budget"]
        assert budget.releases() == []

    def test_another_table_leaves_nothing(self, place, budget):
        other = Table.from_codes(np.zeros((3, 1), dtype=int), Domain({"x": 2}))
        with pytest.raises(ResiduumError):
            aim(other, WORKLOAD, rho=1.0, output=place / "run", ledger=budget)
        assert os.listdir(place) == ["budget"]
        assert budget.releases() == []

    def test_labels_that_could_not_be_read_back_are_refused_before_anything_is_spent(self, place, budget):
        domain = Domain({"x": [Fraction(1, 3), Fraction(2, 3)], "y": 2})
        table, workload = Table.from_codes(np.zeros((9, 2), dtype=int), domain), Workload.all_kway(domain, 2)
        with pytest.raises(ReleaseError, match="labels"):
            aim(table, workload, rho=1.0, output=place / "run", ledger=budget)
        assert os.listdir(place) == ["budget"]
        assert budget.free == 10.0
        aim(table, workload, rho=1.0)  # without a folder there is nothing to read back

    def test_numbers_of_numpy(self, place):
        release = aim(TABLE, WORKLOAD, rho=np.float64(1), seed=np.int64(3), output=place / "run")
        assert load(place / "run").spends == release.spends

    def test_two_at_once_in_one_folder(self, place):
        def meanwhile(_):
            with pytest.raises(ReleaseError, match="is not empty"):
                aim(TABLE, WORKLOAD, rho=1.0, output=place / "run")
            with pytest.raises(ReleaseError, match="Another process is at work"):
                resume(place / "run", TABLE)
            tried.append(1)

        tried = []
        aim(TABLE, WORKLOAD, rho=1.0, output=place / "run", progress=meanwhile)
        assert tried
        assert sorted(os.listdir(place / "run")) == RELEASE

    def test_a_folder_that_is_a_file(self, place):
        (place / "run").touch()
        with pytest.raises(ReleaseError, match=r"cannot be kept in .*: File exists. Name another"):
            aim(TABLE, WORKLOAD, rho=1.0, output=place / "run")

    @pytest.mark.parametrize(
        "how", [aim, partial(aim, rounds=2), partial(aim, allocation="iid", reference="none"), residual_planner]
    )
    def test_the_journal_holds_what_the_curator_told_and_nothing_else(self, place, monkeypatch, how):
        """What leaves the curator is noisy and paid for; so is what is written down, number for number."""
        told, written = [], []

        def keep(owner, name, kept):
            inner = getattr(owner, name)

            def kept_too(*arguments):
                result = inner(*arguments)
                kept.append((arguments, result))
                return result

            monkeypatch.setattr(owner, name, kept_too)

        for owner, name in [(Curator, "measure"), (Curator, "measure_marginal"), (AdaptiveCurator, "select")]:
            keep(owner, name, told)
        keep(Journal, "write", written)
        how(TABLE, WORKLOAD, rho=1.0, output=place / "run")

        ((_, start, *nothing), _), *records = written
        assert nothing == []
        assert set(start) == {
            "name", "mechanism", "parameters", "terms", "domain", "workload", "ledger", "origin", "prior", "software"
        }  # fmt: skip
        answered = [arguments for arguments, _ in records if "question" in arguments[1]]
        others = [set(arguments[1]) for arguments, _ in records if "question" not in arguments[1]]
        assert all(keys in ({"reserved"}, {"end", "charges"}) for keys in others)
        for (_, record, arrays), (_, result) in zip(answered, told, strict=True):
            assert set(record) == {"question", "arrays"}
            if "select" in record["question"]:
                (chosen,) = arrays
                assert WORKLOAD.closure[1:][int(chosen)] == result
            else:
                measured = result if isinstance(result, list) else [result]
                for array, measurement in zip(arrays, measured, strict=True):
                    np.testing.assert_array_equal(array, measurement.values)


class TestEnding:
    def test_one_that_dies_without_a_folder_is_abandoned_with_what_it_charged(self, budget):
        with pytest.raises(KeyboardInterrupt):
            aim(TABLE, WORKLOAD, rho=1.0, ledger=budget, progress=interrupt)
        (entry,) = budget.releases()
        assert entry.state == "abandoned"
        assert 0 < units(budget, entry.name) < TOTAL
        assert budget.free > 9.0

    def test_one_that_dies_with_a_folder_keeps_its_budget(self, place, budget):
        with pytest.raises(KeyboardInterrupt):
            aim(TABLE, WORKLOAD, rho=1.0, output=place / "run", ledger=budget, progress=interrupt)
        assert os.listdir(place / "run") == ["journal"]
        assert budget.releases()[0].state == "running"
        assert budget.free == 9.0

    def test_one_that_was_abandoned_while_alive_draws_no_more(self, place, budget):
        spent = []

        def abandon(report):
            if not spent:
                budget.abandon(budget.releases()[0].name)
            spent.append(report.spent)

        with pytest.raises(ReleaseError, match="is abandoned in the budget file"):
            aim(TABLE, WORKLOAD, rho=1.0, output=place / "run", ledger=budget, progress=abandon)
        assert spent[-1] <= budget.releases()[0].charged
        with pytest.raises(ReleaseError, match="is abandoned in its budget file"):
            resume(place / "run", TABLE)

    def test_a_budget_file_that_vanishes_stops_the_run(self, place, budget):
        with pytest.raises(ReleaseError, match=r"Cannot use the budget file .*: unable to open database file"):
            aim(TABLE, WORKLOAD, rho=1.0, ledger=budget, progress=lambda _: budget.path.unlink(missing_ok=True))
        assert os.listdir(place) == []

    @pytest.mark.parametrize("most", [100, 2000, 4096, 6000])
    def test_a_full_disk(self, place, budget, most):
        """Files may not grow beyond a length; whichever hits it first, the run ends in one line, and can be resumed."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        try:
            with pytest.raises(ReleaseError) as caught:
                aim(TABLE, WORKLOAD, rho=1.0, seed=1, output=place / "run", ledger=budget)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert "\n" not in str(caught.value)
        if not (place / "run").exists():
            assert budget.releases() == []
            return
        release = resume(place / "run", TABLE)
        assert sum(spend.units for spend in release.spends) == units(budget, budget.releases()[0].name) <= TOTAL
        assert sorted(os.listdir(place / "run")) == RELEASE


def interrupt(report):
    if report.spent > 0.5:
        raise KeyboardInterrupt
