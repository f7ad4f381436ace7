"""Kill runs at random, resume them until they are done, and check after every kill what must hold.

    python -m tests.mechanism.killing --kills 200

A run is a forked process. It is killed after a random time, or at a random one of its steps: before, after and in the
middle of writing to the journal, around commits of the budget file, syncs, renames and draws of noise. Before it draws,
it writes down what the draw costs. So after every kill it is known what everything that was ever drawn has cost, and
that must have been charged on disk.
"""

import argparse
import os
import random
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np

from residuum import BudgetFile, Domain, ReleaseError, Table, Workload, aim, load, residual_planner, resume
from residuum.mechanism.curator import Curator
from residuum.mechanism.journal import Journal
from residuum.mechanism.run import Run
from residuum.privacy.noise import Noise
from residuum.privacy.simulator import Simulator

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2, "e": 3, "f": 2})
WORKLOAD = Workload.all_kway(DOMAIN, 2)
CODES = np.random.default_rng(0).integers(0, 4, size=(800, 1)) + np.random.default_rng(1).integers(0, 2, size=(800, 6))
TABLE = Table.from_codes(CODES % np.array(DOMAIN.sizes), DOMAIN)
TOTAL = 2**96
RELEASE = ["manifest.json", "residuals.arrow", "spends.arrow", "values.arrow"]

DONE, FAILED, USED_UP = 0, 1, 2


def scratch():
    """A folder that goes away; in memory where that is possible, as a sync to disk takes a hundredth of a second."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


def survive(kills, seed):
    """Kill runs so many times, and check what they leave behind."""
    rng = random.Random(seed)
    paper = partial(aim, reference="none", allocation="iid")
    for mechanism in (aim, residual_planner):
        mechanism(TABLE, WORKLOAD, rho=1.0)  # so that all is compiled and imported
    with scratch() as place:
        budget = BudgetFile.create(Path(place, "budget"), rho=1e6)
        folder, met = None, Counter()
        while met["killed"] < kills or folder is not None:
            if folder is None:
                folder, before = Path(place, f"run{met['runs']}"), []
                Path(place, "drawn").write_text("")
                how = rng.choice([aim, partial(aim, rounds=2), paper, partial(aim, seed=3), residual_planner])
                met["runs"] += 1
            kill = _plan(rng) if met["killed"] < kills else ("never", 0)
            status = _attempt(how, folder, budget, kill)
            if status is None:
                met["killed"] += 1
                met[f"killed: {kill[0]}"] += 1
                before = _check_remains(folder, budget, before)
            elif status == DONE:
                release = _check_release(folder, budget)
                if release.provenance["seed"] is not None:
                    whole = how(TABLE, WORKLOAD, rho=1.0)
                    assert (release.spends, release.lineage) == (whole.spends, whole.lineage)
                folder = None
            else:
                _check_remains(folder, budget, before)
                budget.abandon(_entry(folder, budget).name)
                met["used up"] += 1
                folder = None
        assert sorted(os.listdir(place))[:2] == ["budget", "drawn"]
    return met


def _plan(rng):
    """When to kill: after so many seconds, or at a step, counted from the start or from where the release is saved."""
    kind = rng.choice(["delay", "step", "step", "early", "finish"])
    return kind, {"delay": rng.uniform(0, 0.05), "step": rng.randrange(250), "early": rng.randrange(25)}.get(
        kind, rng.randrange(45)
    )


def _attempt(how, folder, budget, kill):
    """Start or resume a run in another process; its status, or None if it was killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # on forking beside threads, which are idle here
        child = os.fork()
    if child == 0:
        status = FAILED
        try:
            _arm(folder.parent / "drawn", kill)
            status = _go(how, folder, budget)
        except BaseException:
            (folder.parent / "error").write_text(traceback.format_exc())
        finally:
            os._exit(status)
    if kill[0] == "delay":
        time.sleep(kill[1])
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return None
    if os.WEXITSTATUS(status) == FAILED:
        raise AssertionError(f"{kill}: {(folder.parent / 'error').read_text()}")
    return os.WEXITSTATUS(status)


def _go(how, folder, budget):
    try:
        if folder.exists() and os.listdir(folder):
            resume(folder, TABLE)
            return DONE
    except ReleaseError as error:
        if "whole budget" in str(error):
            return USED_UP
        if "died before it began" not in str(error):
            raise
        shutil.rmtree(folder)
    how(TABLE, WORKLOAD, rho=1.0, output=folder, ledger=budget)
    return DONE


def _arm(drawn, kill):
    """Have this process kill itself at a step, and write down what its draws cost."""
    kind, left = kill
    counting = kind in ("step", "early")

    def step(*_):
        nonlocal left
        if counting:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def around(owner, name):
        inner = getattr(owner, name)

        def stepped(*arguments, **options):
            step()
            result = inner(*arguments, **options)
            step()
            return result

        setattr(owner, name, stepped)

    def finish(run, *arguments, _finish=Run.finish):
        nonlocal counting
        counting = counting or kind == "finish"
        return _finish(run, *arguments)

    def append(journal, content, _append=Journal._append):
        step()
        half = len(content) // 2
        _append(journal, content[:half])
        step()
        _append(journal, content[half:])
        step()

    def once(curator, question, draws, draw, _once=Curator._once):
        def noted():
            os.write(notes, b"".join(b"%d\n" % spend.units for spend in curator.ledger.spends[-draws:]))
            return draw()

        return _once(curator, question, draws, noted if draws and not isinstance(curator._noise, Simulator) else draw)

    notes = os.open(drawn, os.O_WRONLY | os.O_APPEND)
    Run.finish, Journal._append, Curator._once = finish, append, once
    for owner, name in [
        (os, "fsync"),
        (os, "replace"),
        (Path, "unlink"),
        (Path, "mkdir"),
        (shutil, "rmtree"),
        (BudgetFile, "start"),
        (BudgetFile, "charge"),
        (Noise, "gaussian"),
        (Noise, "uniform"),
    ]:
        around(owner, name)


def _check_remains(folder, budget, before):
    """After a kill: what was known is known, and all that was drawn is charged. The answers that are known now."""
    entry = _entry(folder, budget)
    charged = _charged(entry, budget) if entry else 0
    drawn = sum(map(int, (folder.parent / "drawn").read_text().split()))
    listed = sum(spend.units for _, spend in budget.charges(entry.name)) if entry else 0
    assert drawn <= charged <= TOTAL
    assert listed <= charged
    assert budget.free >= 0
    if (folder / "manifest.json").exists():
        assert sum(spend.units for spend in load(folder).spends) <= charged
    if not (folder / "journal").exists():
        return before
    assert (folder / "journal").stat().st_mode & 0o777 == 0o600
    known, reserved = _answers(folder)
    assert known[: len(before)] == before
    assert reserved <= charged
    return known


def _check_release(folder, budget):
    """Once done: a release that is whole, and what it says that it cost is what the budget file says, to the unit."""
    assert sorted(os.listdir(folder)) == RELEASE
    release, entry = load(folder), _entry(folder, budget)
    spent = sum(spend.units for spend in release.spends)
    drawn = sum(map(int, (folder.parent / "drawn").read_text().split()))
    assert entry.state == "finished"
    assert drawn <= spent == _charged(entry, budget) <= TOTAL
    told = [(spend.mechanism, spend.clique, spend.units) for spend in release.spends]
    assert told == [(spend.mechanism, spend.clique, spend.units) for _, spend in budget.charges(entry.name)]
    for gamma in WORKLOAD.targets:
        values = release.marginal(gamma, "mle").values
        assert np.isfinite(values).all()
        for axis in (0, 1):
            np.testing.assert_allclose(values.sum(axis), release.marginal(gamma[1 - axis], "mle").values, atol=1e-6)
    return release


def _entry(folder, budget):
    return next((entry for entry in budget.releases() if entry.folder == str(folder)), None)


def _charged(entry, budget):
    """In units, exactly."""
    with budget._reading() as connection:
        return int(budget._row(connection, entry.name)[1])


def _answers(folder):
    """All that a copy of the journal knows, and the units it had reserved."""
    copy = folder.parent / "copy"
    copy.mkdir()
    try:
        shutil.copy(folder / "journal", copy)
        journal, _ = Journal.open(copy)
        journal.close()
        return list(journal._known), journal.reserved
    except ReleaseError as error:
        if "died before it began" not in str(error):
            raise
        return [], 0
    finally:
        shutil.rmtree(copy)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=survive.__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    for what, times in sorted(survive(chosen.kills, chosen.seed).items()):
        print(f"{what}: {times}")
