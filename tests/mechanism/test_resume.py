import errno
import os
import shutil
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

from residuum import (
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
    save,
)
from residuum.mechanism import run as run_module
from residuum.mechanism.curator import Curator
from residuum.mechanism.journal import Journal
from residuum.mechanism.run import Run
from residuum.release import measurements
from tests.mechanism import killing
from tests.mechanism.killing import RELEASE, TABLE, WORKLOAD

TOTAL = 2**96
PRIOR = aim(TABLE, Workload.all_kway(TABLE.domain, 1), rho=0.1, seed=9)
PRIOR_REPLACE = aim(TABLE, WORKLOAD, rho=0.1, seed=9, neighbours="replace")

PAPER = partial(aim, reference="none")
RUNS = {
    "all pairs": partial(aim),
    "latent": partial(aim, rounds=6),
    "independent": partial(aim, rounds=6, reference="independent"),
    "crp": PAPER,
    "iid": partial(PAPER, allocation="iid"),
    "planner": partial(residual_planner),
    "planner, max": partial(residual_planner, objective="max"),
    "latent, prior": partial(aim, rounds=6, prior=PRIOR),
    "crp, prior": partial(PAPER, prior=PRIOR),
    "planner, prior": partial(residual_planner, prior=PRIOR),
    "latent, replace": partial(aim, rounds=6, neighbours="replace", prior=PRIOR_REPLACE),
    "crp, replace": partial(PAPER, neighbours="replace", prior=PRIOR_REPLACE),
    "iid, replace": partial(PAPER, neighbours="replace", allocation="iid"),
    "planner, replace": partial(residual_planner, neighbours="replace"),
    "rows": partial(aim, rows_per_person=2),
}
every_run = pytest.mark.parametrize("how", RUNS.values(), ids=RUNS)


def everything(release):
    """All that was measured and how, bit for bit."""
    known = [(m.tau, m.values.tobytes(), m.sigma2) for m in measurements(release.estimates)]
    return known, release.spends, release.rho, release.lineage, dict(release.provenance)


def units(release):
    return [spend.units for spend in release.spends]


def interrupted(how, folder, after, **options):
    """Start a run that is interrupted when so many answers have been given; whether it was, or else the release."""
    try:
        return how(TABLE, WORKLOAD, rho=1.0, output=folder, progress=_after(after), **options)
    except KeyboardInterrupt:
        return None


def resumed(how, folder, after=None):
    try:
        return resume(folder, TABLE, prior=how.keywords.get("prior"), progress=_after(after))
    except KeyboardInterrupt:
        return None


def _after(reports):
    left = [reports]

    def listener(_):
        if left[0] is not None:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt

    return listener


def budget_of(place, how):
    return BudgetFile.create(place / "budget", rho=1.0, neighbours=how.keywords.get("neighbours", "add-remove"))


def answers(folder):
    """What a copy of the journal knows of answers, without losses."""
    return [entry for entry in killing._answers(folder)[0] if "question" in entry[0]]


class TestSeeded:
    @every_run
    def test_interrupted_anywhere_it_is_the_same_release(self, place, how):
        how = partial(how, seed=5)
        whole = how(TABLE, WORKLOAD, rho=1.0)
        for after in range(1, 1000):
            folder = place / str(after)
            done = interrupted(how, folder, after)
            if done is not None:
                break
            assert everything(resumed(how, folder)) == everything(whole)
        assert after > 5

    @every_run
    @pytest.mark.parametrize("times", [2, 5])
    def test_interrupted_often_it_is_the_same_release(self, place, how, times):
        how = partial(how, seed=6)
        budget = budget_of(place, how)
        release = interrupted(how, place / "run", 1, ledger=budget)
        for turn in range(2, times + 1):
            release = release or resumed(how, place / "run", after=turn)
        release = release or resumed(how, place / "run")
        assert everything(release) == everything(how(TABLE, WORKLOAD, rho=1.0))
        (entry,) = budget.releases()
        assert [spend.units for _, spend in budget.charges(entry.name)] == units(release)[
            -len(budget.charges(entry.name)) :
        ]
        assert killing._charged(entry, budget) == sum(spend.units for _, spend in budget.charges(entry.name))

    @pytest.mark.parametrize("verb", ["select", "measure"])
    def test_interrupted_between_charge_and_answer_it_is_the_same_release(self, place, monkeypatch, verb):
        whole = PAPER(TABLE, WORKLOAD, rho=1.0, seed=5)
        for after in (0, 1, 3, 6):
            _die_in(monkeypatch, verb, after)
            with pytest.raises(KeyboardInterrupt):
                PAPER(TABLE, WORKLOAD, rho=1.0, seed=5, output=place / f"{after}")
            monkeypatch.undo()
            assert everything(resume(place / f"{after}", TABLE)) == everything(whole)

    def test_cut_off_at_any_byte_of_the_last_records_it_is_the_same_release(self, place):
        whole = aim(TABLE, WORKLOAD, rho=1.0, seed=5)
        assert interrupted(partial(aim, seed=5), place / "run", 6) is None
        content = (place / "run" / "journal").read_bytes()
        for length in range(len(content) - 400, len(content), 3):
            (place / str(length)).mkdir()
            (place / str(length) / "journal").write_bytes(content[:length])
            assert everything(resume(place / str(length), TABLE)) == everything(whole)


class TestPrivate:
    @every_run
    def test_what_was_measured_is_kept_and_the_rest_of_the_block_is_lost(self, place, how):
        budget = budget_of(place, how)
        prior = how.keywords.get("prior")
        own = slice(len(prior.spends) if prior else 0, None)
        assert interrupted(how, place / "run", 3, ledger=budget) is None
        before = answers(place / "run")
        (entry,) = budget.releases()
        charged = killing._charged(entry, budget)
        seen = []
        release = resume(place / "run", TABLE, prior=prior, progress=lambda _: seen.append(answers(place / "run")))
        assert before
        assert all(known[: len(before)] == before for known in seen)
        spends = release.spends[own]
        lost = [number for number, spend in enumerate(spends) if spend.mechanism == "lost"]
        if lost:
            (first,) = lost
            assert sum(spend.units for spend in spends[: first + 1]) == charged
            assert spends[first].units <= TOTAL // 200
        assert sum(spend.units for spend in spends) <= TOTAL
        assert sum(spend.units for spend in spends) == killing._charged(budget.releases()[0], budget)
        assert [spend.units for _, spend in budget.charges(entry.name)] == [spend.units for spend in spends]
        assert budget.releases()[0].state == "finished"
        assert everything(load(place / "run"))[:2] == everything(release)[:2]
        for gamma in WORKLOAD.targets:
            assert np.isfinite(release.marginal(gamma, "mle").values).all()

    @every_run
    def test_interrupted_often(self, place, how):
        budget = budget_of(place, how)
        release, turn = interrupted(how, place / "run", 1, ledger=budget), 1
        while release is None:
            turn += 1
            release = resumed(how, place / "run", after=turn)
        (entry,) = budget.releases()
        assert turn > 2
        assert killing._charged(entry, budget) == sum(spend.units for _, spend in budget.charges(entry.name)) <= TOTAL

    def test_a_charge_whose_answer_was_not_written_is_lost(self, place, monkeypatch):
        """Even where it was drawn: nobody has the number, but nobody can be sure of that."""
        _die_in(monkeypatch, "measure", 0)
        with pytest.raises(KeyboardInterrupt):
            aim(TABLE, WORKLOAD, rho=1.0, output=place / "run")
        monkeypatch.undo()
        release = resume(place / "run", TABLE)
        assert release.spends[0].mechanism == "lost"
        assert sum(units(release)) <= TOTAL

    @pytest.mark.parametrize("verb", ["select", "measure"])
    @pytest.mark.parametrize("allocation", ["crp", "iid"])
    def test_what_dies_in_its_last_block_ends_there(self, place, monkeypatch, verb, allocation):
        """All that is left was charged and is lost: before the answer to a selection, or after it."""
        monkeypatch.setattr(run_module, "_BLOCK", TOTAL)  # so that the first block is the last
        _die_in(monkeypatch, verb, 3, allocation)
        with pytest.raises(KeyboardInterrupt):
            PAPER(TABLE, WORKLOAD, rho=1.0, output=place / "run", allocation=allocation)
        monkeypatch.undo()
        release = resume(place / "run", TABLE)
        assert release.spends[-1].mechanism == "lost"
        assert sum(units(release)) == TOTAL

    @pytest.mark.parametrize("how", [aim, residual_planner])
    def test_nothing_is_left_of_a_run_that_lost_all(self, place, monkeypatch, how):
        monkeypatch.setattr(run_module, "_BLOCK", TOTAL)
        _die_in(monkeypatch, "measure", 0)
        with pytest.raises(KeyboardInterrupt):
            how(TABLE, WORKLOAD, rho=1.0, output=place / "run")
        monkeypatch.undo()
        for _ in range(2):
            with pytest.raises(ReleaseError, match="had taken its whole budget, and nothing of them was kept"):
                resume(place / "run", TABLE)

    def test_ten_kills(self):
        met = killing.survive(kills=10, seed=1)
        assert met["killed"] == 10
        assert met["killed: finish"] > 0
        assert met["killed: delay"] > 0


def _die_in(monkeypatch, verb, after, allocation="crp"):
    """Have the curator die when it draws for the so-manieth time what a verb asks for, once that is charged."""
    left = [after]
    asked = {"select": "select", "measure": "measure" if allocation == "crp" or not after else "measure marginal"}[verb]

    def once(curator, question, draws, draw, _once=Curator._once):
        def dying():
            left[0] -= asked in question
            if left[0] < 0:
                raise KeyboardInterrupt
            return draw()

        return _once(curator, question, draws, dying)

    monkeypatch.setattr(Curator, "_once", once)


class TestFinishing:
    @pytest.mark.parametrize("seed", [None, 4])
    def test_it_may_die_at_every_step(self, place, monkeypatch, seed):
        """Every sync, rename and removal, every commit of the budget file: before it, and after it."""
        steps, finished = 0, False
        while not finished:
            folder, steps = place / f"run{steps}", steps + 1
            budget = BudgetFile.create(place / f"budget{steps}", rho=1.0)
            run = partial(aim, TABLE, WORKLOAD, rho=1.0, seed=seed, output=folder, ledger=budget)
            finished = _finish_for(monkeypatch, steps, run)
            release = resume(folder, TABLE)
            assert sorted(os.listdir(folder)) == RELEASE
            assert everything(load(folder))[:3] == everything(release)[:3]
            (entry,) = budget.releases()
            assert entry.state == "finished"
            assert killing._charged(entry, budget) == sum(units(release)) <= TOTAL
            assert [spend.units for _, spend in budget.charges(entry.name)] == units(release)
            if seed:
                assert everything(release) == everything(aim(TABLE, WORKLOAD, rho=1.0, seed=seed))
        assert steps > 30

    def test_a_release_is_simply_loaded(self, place):
        release = aim(TABLE, WORKLOAD, rho=1.0, output=place / "run")
        assert everything(resume(place / "run"))[:2] == everything(release)[:2]

    def test_one_that_was_abandoned_when_all_was_measured_is_finished(self, place, monkeypatch):
        budget = BudgetFile.create(place / "budget", rho=1.0)
        monkeypatch.setattr(run_module, "save", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            aim(TABLE, WORKLOAD, rho=1.0, output=place / "run", ledger=budget)
        monkeypatch.undo()
        budget.abandon(budget.releases()[0].name)
        release = resume(place / "run", TABLE)
        (entry,) = budget.releases()
        assert (entry.state, killing._charged(entry, budget)) == ("finished", sum(units(release)))

    def test_a_release_of_another_run_does_not_end_this_one(self, place):
        assert interrupted(aim, place / "run", 3) is None
        save(PRIOR, place / "run")
        with pytest.raises(ReleaseError, match=r"is not of the run whose journal is there. Move it elsewhere"):
            resume(place / "run", TABLE)
        assert (place / "run" / "journal").exists()

    def test_a_full_disk_when_it_is_saved(self, place, monkeypatch):
        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(ReleaseError, match=r"could not be written to .*: No space left on device"):
            aim(TABLE, WORKLOAD, rho=1.0, output=place / "run")
        monkeypatch.undo()
        assert os.listdir(place / "run") == ["journal"]
        resume(place / "run", TABLE)
        assert sorted(os.listdir(place / "run")) == RELEASE


def _interrupt(*_):
    raise KeyboardInterrupt


def _finish_for(monkeypatch, steps, run):
    """Run and die at a step of finishing; whether there were fewer steps than that."""
    left, finishing = [steps], []

    def stepped(inner):
        def around(*arguments, **options):
            for part in (lambda: None, lambda: inner(*arguments, **options)):
                result = part()
                left[0] -= bool(finishing)
                if left[0] == 0:
                    raise KeyboardInterrupt
            return result

        return around

    def finish(*arguments, _finish=Run.finish):
        finishing.append(1)
        return _finish(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "finish", finish)
        for owner, name in [
            (os, "fsync"),
            (os, "replace"),
            (Journal, "_append"),
            (Journal, "remove"),
            (shutil, "rmtree"),
            (BudgetFile, "charge"),
        ]:
            patch.setattr(owner, name, stepped(getattr(owner, name)))
        try:
            run()
        except KeyboardInterrupt:
            return False
    return True


@contextmanager
def suppress_damage():
    """Errors that say that something is damaged are as they should be; others are not."""
    try:
        yield
    except ReleaseError as error:
        if "is damaged" not in str(error):
            raise


class TestTrouble:
    @pytest.fixture
    def budget(self, place):
        return BudgetFile.create(place / "budget", rho=1.0)

    @pytest.fixture
    def folder(self, place, budget):
        """A run that died half-way, charged to a budget file."""
        assert interrupted(aim, place / "run", 3, ledger=budget) is None
        return place / "run"

    def test_without_the_table(self, folder):
        with pytest.raises(ReleaseError, match=r"is not complete. Give the table"):
            resume(folder)
        resume(folder, TABLE)

    def test_with_another_table(self, folder):
        other = Table.from_codes(np.zeros((3, 1), dtype=int), Domain({"x": 2}))
        with pytest.raises(ResiduumError):
            resume(folder, other)
        resume(folder, TABLE)

    def test_with_another_prior(self, folder):
        with pytest.raises(ReleaseError, match="was started upon another prior release"):
            resume(folder, TABLE, prior=PRIOR)

    @pytest.mark.parametrize("path", ["nowhere", "", "budget"])
    def test_where_there_is_no_run(self, place, budget, path):
        assert budget.path.exists()
        with pytest.raises(ReleaseError, match="There is no run to resume in"):
            resume(place / path, TABLE)

    def test_a_budget_file_that_was_moved(self, place, budget, folder):
        budget.path.rename(place / "elsewhere")
        with pytest.raises(ReleaseError, match=r"which is gone\. Put it back where it was"):
            resume(folder, TABLE)
        assert not budget.path.exists()
        (place / "elsewhere").rename(budget.path)
        resume(folder, TABLE)

    def test_an_older_copy_of_the_budget_file_learns_what_was_charged(self, place, budget):
        shutil.copy(budget.path, place / "older")
        assert interrupted(aim, place / "run", 3, ledger=budget) is None
        charged = budget.releases()[0].charged
        shutil.copy(place / "older", budget.path)
        assert resumed(partial(aim), place / "run", after=0) is None
        assert budget.releases()[0].charged >= charged
        release = resume(place / "run", TABLE)
        (entry,) = budget.releases()
        assert [spend.units for _, spend in budget.charges(entry.name)] == units(release)

    def test_a_journal_that_is_behind_the_budget_file(self, budget, folder, place):
        """An older copy of it would have the same measured again; what is known to be charged tells."""
        shutil.copytree(folder, place / "older")
        assert resumed(partial(aim), folder, after=8) is None
        shutil.rmtree(folder)
        (place / "older").rename(folder)
        before = killing._charged(budget.releases()[0], budget)
        with pytest.raises(ReleaseError, match="the budget file lists charges that it lacks"):
            resume(folder, TABLE)
        assert killing._charged(budget.releases()[0], budget) == before

    def test_a_copy_of_the_folder_does_not_draw_for_the_same_charge(self, budget, folder, place):
        shutil.copytree(folder, place / "copy")
        failed = []

        def meanwhile(_):
            if not failed:
                try:
                    resume(place / "copy", TABLE)
                    failed.append(None)
                except ReleaseError as error:
                    failed.append(str(error))

        with pytest.raises(ReleaseError, match=r"is finished|Another process charges"):
            resume(folder, TABLE, progress=meanwhile)
        assert killing._charged(budget.releases()[0], budget) <= TOTAL

    def test_a_run_that_died_before_it_was_entered(self, place, budget, monkeypatch):
        monkeypatch.setattr(BudgetFile, "start", _interrupt)
        monkeypatch.setattr(Journal, "remove", lambda _: None)  # as if killed
        with pytest.raises(KeyboardInterrupt):
            aim(TABLE, WORKLOAD, rho=1.0, output=place / "run", ledger=budget)
        monkeypatch.undo()
        assert budget.releases() == []
        resume(place / "run", TABLE)
        assert budget.releases()[0].state == "finished"

    @pytest.mark.parametrize("wrong", [{"mechanism": "tea leaves"}, {"terms": {"colour": "red"}}, {"terms": 5}])
    def test_a_journal_of_another_version(self, place, folder, wrong):
        journal, start = Journal.open(folder)
        journal.close()
        Journal.create(place / "other", start | wrong).close()
        with pytest.raises(ReleaseError, match="by another version of the program"):
            resume(place / "other", TABLE)

    def test_every_byte_of_the_journal_in_turn(self, place):
        """Never a run that starts over: an error, or one that has all but the last answer."""
        assert interrupted(aim, place / "run", 6) is None
        content = (place / "run" / "journal").read_bytes()
        before = answers(place / "run")
        recovered = 0
        for position in range(0, len(content), 7):
            folder = place / "damaged"
            folder.mkdir()
            (folder / "journal").write_bytes(
                content[:position] + bytes([content[position] ^ 0x10]) + content[position + 1 :]
            )
            with suppress_damage():
                assert resumed(partial(aim), folder, after=0) is None
                assert answers(folder)[: len(before) - 1] == before[:-1]
                recovered += 1
            shutil.rmtree(folder)
        assert 0 < recovered < 200
