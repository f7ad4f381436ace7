import multiprocessing
import os
import sqlite3
from fractions import Fraction

import numpy as np
import pytest

from residuum import BudgetExceeded, BudgetFile, ReleaseError, ResiduumError
from residuum.core.neighbours import Neighbours
from residuum.core.zcdp import Spend, rho_of
from residuum.privacy.ledger import TOTAL

ADD_REMOVE = Neighbours("add-remove")


@pytest.fixture
def budget(tmp_path):
    return BudgetFile.create(tmp_path / "budget", rho=1.0)


def start(budget, rho, name="one", folder=None):
    return budget.start("AIM+GReM", rho, ADD_REMOVE, folder, name)


class TestCreating:
    def test_a_total_in_rho(self, budget):
        again = BudgetFile(budget.path)
        assert (again.total, again.epsilon, again.delta, again.free) == (1.0, None, None, 1.0)
        assert again.neighbours == ADD_REMOVE

    def test_a_total_in_epsilon_and_delta(self, tmp_path):
        budget = BudgetFile.create(tmp_path / "b", epsilon=np.float32(2), delta=1e-9, neighbours="replace")
        assert budget.total == rho_of(2.0, 1e-9)
        assert (budget.epsilon, budget.delta, budget.neighbours) == (2.0, 1e-9, Neighbours("replace"))

    def test_it_is_for_its_owner_alone(self, budget):
        assert budget.path.stat().st_mode & 0o777 == 0o600
        assert os.listdir(budget.path.parent) == ["budget"]

    def test_nothing_is_overwritten(self, budget):
        with pytest.raises(ReleaseError, match="is not started over"):
            BudgetFile.create(budget.path, rho=5.0)
        assert BudgetFile(budget.path).total == 1.0

    @pytest.mark.parametrize("wrong", [{}, {"rho": -1.0}, {"epsilon": 1.0}, {"rho": 1.0, "neighbours": "next door"}])
    def test_what_makes_no_sense_leaves_no_file(self, tmp_path, wrong):
        with pytest.raises(ResiduumError):
            BudgetFile.create(tmp_path / "b", **wrong)
        assert os.listdir(tmp_path) == []

    def test_where_no_file_can_be(self, tmp_path):
        with pytest.raises(ReleaseError, match=r"^Cannot create the budget file .*: No such file or directory\.$"):
            BudgetFile.create(tmp_path / "no" / "where", rho=1.0)

    def test_it_stays_where_it_was_when_the_process_moves(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        budget = BudgetFile.create("b", rho=1.0)
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert budget.free == 1.0


class TestReleases:
    def test_a_running_release_is_promised_all_and_frees_the_rest_when_it_ends(self, budget):
        account = start(budget, 0.75)
        assert budget.free == 0.25
        account.charge(TOTAL // 2, [])
        assert budget.free == 0.25
        account.end(TOTAL // 3, [], "finished")
        left = 1 - Fraction(3, 4) * Fraction(TOTAL // 3, TOTAL)
        assert Fraction(budget.free) <= left < Fraction(np.nextafter(budget.free, 2))
        (entry,) = budget.releases()
        assert (entry.state, entry.rho, entry.started <= entry.ended) == ("finished", 0.75, True)

    def test_what_does_not_fit_is_refused_with_what_is_left(self, budget):
        start(budget, 0.75)
        with pytest.raises(BudgetExceeded, match=r"asks for rho=0\.5, but of the rho=1\.0 of .* there is 0\.25 left"):
            start(budget, 0.5, "two")
        start(budget, 0.25, "three")
        assert budget.free == 0
        assert [entry.name for entry in budget.releases()] == ["one", "three"]

    def test_sums_are_exact(self, tmp_path):
        """Ten times 0.1 is above 1: the float 0.1 is above a tenth."""
        budget = BudgetFile.create(tmp_path / "b", rho=1.0)
        for number in range(9):
            start(budget, 0.1, str(number))
        with pytest.raises(BudgetExceeded):
            start(budget, 0.1, "9")
        start(budget, budget.free, "9")
        assert 0 <= budget.free < 1e-16

    def test_one_that_was_entered_goes_on(self, budget):
        first = start(budget, 0.75, folder="/place")
        first.charge(7, [("now", Spend("gaussian", (0,), 5, 0.75))])
        again = start(budget, 0.75)
        assert (again.charged, again.known, again.state) == (7, 1, "running")
        assert len(budget.releases()) == 1
        assert budget.releases()[0].folder == "/place"

    def test_charges_are_listed(self, budget):
        account = start(budget, 0.5)
        spends = [Spend("exponential", (), 2**70, 0.5), Spend("gaussian", (0, 2), 2**95 + 1, 0.5)]
        account.charge(2**95 + 2**71, [("2026-01-01", spends[0])])
        account.end(2**95 + 2**70 + 1, [("2026-01-02", spends[1])], "finished")
        assert budget.charges("one") == [("2026-01-01", spends[0]), ("2026-01-02", spends[1])]
        assert budget.releases()[0].charged >= sum(spend.rho for spend in spends)

    def test_what_is_charged_never_falls_while_it_runs(self, budget):
        account = start(budget, 0.5)
        account.charge(TOTAL // 2, [])
        account.charge(TOTAL // 4, [])
        budget.abandon("one")
        assert budget.free == 0.75

    def test_what_has_charged_nothing_shows_zero(self, budget):
        start(budget, 0.5)
        assert str(budget.releases()[0].charged) == "0.0"

    def test_abandoning_frees_what_was_not_charged(self, budget):
        start(budget, 0.5).charge(TOTAL // 2, [])
        budget.abandon("one")
        assert budget.free == 0.75
        with pytest.raises(ReleaseError, match="'one' is abandoned already"):
            budget.abandon("one")

    def test_one_that_was_abandoned_while_alive_charges_no_more_but_can_finish(self, budget):
        account = start(budget, 0.5)
        account.charge(TOTAL // 2, [])
        budget.abandon("one")
        with pytest.raises(ReleaseError, match=r"is abandoned in .* Start anew"):
            account.charge(TOTAL // 2 + 1, [])
        account.end(TOTAL // 4, [], "finished")
        assert (budget.releases()[0].state, budget.free) == ("finished", 0.875)

    def test_a_copy_of_a_run_does_not_charge_the_same_again(self, budget):
        one, two = start(budget, 0.5), start(budget, 0.5)
        one.charge(TOTAL // 200, [])
        with pytest.raises(ReleaseError, match="Another process charges the release 'one'"):
            two.charge(TOTAL // 200, [])
        one.charge(TOTAL // 100, [])

    def test_withdrawing(self, budget):
        start(budget, 0.5)
        budget.withdraw("one")
        assert budget.releases() == []
        start(budget, 0.5).charge(1, [])
        with pytest.raises(ReleaseError, match="Abandon it instead"):
            budget.withdraw("one")

    @pytest.mark.parametrize("method", ["charges", "abandon", "withdraw"])
    def test_releases_that_it_does_not_know(self, budget, method):
        with pytest.raises(ReleaseError, match="knows of no release 'nobody'"):
            getattr(budget, method)("nobody")

    def test_neighbours_must_be_the_same(self, budget):
        with pytest.raises(ReleaseError, match="counts neighbours by 'add-remove', the release by 'replace'"):
            budget.start("AIM+GReM", 0.1, Neighbours("replace"), None, "one")


class TestDamage:
    def test_a_file_that_is_not_there_is_not_made(self, tmp_path, budget):
        with pytest.raises(ReleaseError, match=r"There is no budget file .*BudgetFile\.create"):
            BudgetFile(tmp_path / "none")
        budget.path.unlink()
        with pytest.raises(ReleaseError, match="unable to open"):
            start(budget, 0.1)
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("content", [b"", b"age,sex\n3,1\n", b"\0" * 5000])
    def test_other_files(self, tmp_path, content):
        (tmp_path / "b").write_bytes(content)
        with pytest.raises(ReleaseError, match="is no budget file, or is damaged"):
            BudgetFile(tmp_path / "b")

    def test_other_databases(self, tmp_path):
        with sqlite3.connect(tmp_path / "b") as other:
            other.execute("CREATE TABLE people (age INTEGER)")
        other.close()
        with pytest.raises(ReleaseError, match="is no budget file, or is damaged"):
            BudgetFile(tmp_path / "b")

    def test_another_version(self, budget):
        with sqlite3.connect(budget.path) as other:
            other.execute("UPDATE budget SET format = 2")
        other.close()
        with pytest.raises(ReleaseError, match="another version"):
            BudgetFile(budget.path)

    @pytest.mark.parametrize("wrong", ["charged = NULL", "charged = 'x'"])
    def test_numbers_that_are_none(self, budget, wrong):
        start(budget, 0.1)
        with sqlite3.connect(budget.path) as other:
            other.execute(f"UPDATE releases SET {wrong}")
        other.close()
        with pytest.raises(ReleaseError, match="is damaged"):
            budget.releases()
        with pytest.raises(ReleaseError, match="is damaged"):
            start(budget, 0.1)

    def test_any_part_of_a_file(self, budget):
        start(budget, 0.5).charge(5, [("now", Spend("gaussian", (0,), 5, 0.5))] * 100)
        whole = budget.path.read_bytes()
        for length in range(1, len(whole), 499):
            budget.path.write_bytes(whole[:length])
            with pytest.raises(ReleaseError) as caught:
                BudgetFile(budget.path).charges("one")
            assert "\n" not in str(caught.value)

    def test_a_file_that_cannot_be_written(self, budget, unprivileged):
        budget.path.chmod(0o444)
        with unprivileged(budget.path), pytest.raises(ReleaseError, match="readonly database"):
            start(BudgetFile(budget.path), 0.1)


def _race(path, gate, name, entered):
    gate.wait()
    try:
        start(BudgetFile(path), 0.3, name)
        entered.put(name)
    except BudgetExceeded:
        entered.put(None)


def test_processes_that_race_do_not_overspend_together(tmp_path):
    """Of four that ask for 0.3 of 1, three get in, whoever they are."""
    context = multiprocessing.get_context("spawn" if os.name == "nt" else "forkserver")
    for turn in range(3):
        budget = BudgetFile.create(tmp_path / f"b{turn}", rho=1.0)
        gate, entered = context.Barrier(4), context.Queue()
        racers = [
            context.Process(target=_race, args=(budget.path, gate, f"racer {number}", entered)) for number in range(4)
        ]
        for racer in racers:
            racer.start()
        names = {entered.get(timeout=60) for _ in racers}
        for racer in racers:
            racer.join()
        assert len(names - {None}) == 3
        assert {entry.name for entry in budget.releases()} == names - {None}
        assert budget.free == pytest.approx(0.1)
