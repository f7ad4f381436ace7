"""A task measures what it says, whatever the method."""

import os
from itertools import pairwise

import numpy as np
import pytest
from bench import data, errors, job, methods

from residuum import Workload, aim
from residuum.core import zcdp
from residuum.data.counts import Counts

TREE = {"table": "tree", "sizes": [3, 2, 4, 2], "rows": 500, "epsilon": 1.0, "seed": 3}
TABLE = data.tree(TREE["sizes"], TREE["rows"])
WORKLOAD = Workload.all_kway(TABLE.domain, 3)
TRUTH = Counts(TABLE, WORKLOAD)


@pytest.mark.parametrize("method", methods.METHODS)
def test_every_method_is_measured(method):
    task = methods.task(method, **TREE)
    assert methods.method_of(task) == method
    result = job.run(task)
    (estimate,) = task["estimates"]
    assert result["seconds"] > 0
    assert result["answer seconds"][estimate] > 0
    assert result["errors"]["independent"] == pytest.approx(
        errors.errors(errors.independent(TRUTH), TRUTH, WORKLOAD.targets)
    )
    assert result["compared"] == 4


def test_the_errors_are_those_of_the_release():
    result = job.run(methods.task(methods.PAPER, **TREE))
    release = aim(TABLE, WORKLOAD, epsilon=1.0, delta=job.DELTA, seed=3, reference="none", progress=False)
    expected = errors.errors(release.estimates.marginal, TRUTH, WORKLOAD.targets)
    assert result["errors"]["mle"] == pytest.approx(expected)
    assert result["rounds"] == release.provenance["rounds"]


def test_strategies_of_the_fixed_sequence_differ_in_cost_alone():
    """With isotropic noise the same draws give the same estimates, whether they are updated or put together anew."""
    found = {
        reconstruction: job.run(
            {"mechanism": "fixed", "allocation": "iid", "reconstruction": reconstruction, "estimates": ["mle"], **TREE}
        )
        for reconstruction in ("lazy", "full")
    }
    assert found["lazy"]["steps"] == found["lazy"]["of"] == 4
    assert found["lazy"]["errors"]["mle"] == pytest.approx(found["full"]["errors"]["mle"])


@pytest.mark.parametrize("reconstruction", ["lazy", "full"])
def test_some_steps_of_a_fixed_sequence_stand_for_all(reconstruction):
    task = {"mechanism": "fixed", "allocation": "iid", "reconstruction": reconstruction, **TREE}
    some = job.run({**task, "steps": 3, "every": 2})
    assert (some["steps"], some["timed"], some["of"]) == (3, 1, 4)
    assert some["residuals"] == [3, 9, 9, 3]  # of every subset of three triples
    beyond = job.run({**task, "steps": 2, "every": 100})
    assert (beyond["steps"], beyond["timed"]) == (2, 1)
    assert beyond["seconds"] > 0


def test_conditional_residual_planner_measures_no_total_again():
    result = job.run({"mechanism": "fixed", "allocation": "crp", "reconstruction": "lazy", **TREE})
    assert result["residuals"][0] < result["of"]
    assert result["residuals"][3] == result["of"]
    assert sum(result["residuals"]) < 8 * result["of"]


def test_an_estimate_that_a_method_does_not_have_is_named():
    task = {"mechanism": "fixed", "allocation": "iid", "reconstruction": "lazy", "estimates": ["best"], **TREE}
    with pytest.raises(ValueError, match="no estimate but 'mle' of fixed"):
        job.run(task)


def test_errors_do_not_depend_on_how_much_truth_is_counted_at_a_time(monkeypatch):
    answers = errors.one_by_one(lambda gamma: np.zeros(TABLE.domain.shape(gamma)))
    whole = errors.errors_of({"zero": answers}, TABLE, WORKLOAD.targets)
    monkeypatch.setattr(errors, "PORTION", 1)
    assert errors.errors_of({"zero": answers}, TABLE, WORKLOAD.targets) == whole
    assert whole["zero"]["L1"] == 1.0  # nothing at all is everybody away from the truth


def test_a_file_that_cannot_be_read_ends_in_one_line(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("ACS", str(tmp_path / "nowhere.csv"))
    with pytest.raises(job.subprocess.CalledProcessError) as ended:
        job.measured(mechanism="none", table="acs")
    assert ended.value.returncode == 2
    assert capfd.readouterr().err == f"Error: There is no file {tmp_path / 'nowhere.csv'}.\n"


@pytest.mark.skipif(not os.environ.get("RESIDUUM_PGM"), reason="run by: make test-pgm; JAX lets no other test fork")
@pytest.mark.filterwarnings("ignore")
def test_the_rival_spends_its_budget_and_keeps_its_size():
    from bench.pgm.aim import aim_pgm

    rho = zcdp.rho_of(1.0, job.DELTA)
    fitted = aim_pgm(TABLE, WORKLOAD, rho=rho, megabytes=1.0, seed=0, steps=50, last_steps=50)
    assert sum(fitted.charges) == pytest.approx(rho, rel=1e-12)
    assert fitted.rounds > 1
    rounds = fitted.charges[1:-1]  # the last one spends what is left
    assert len(rounds) > 1
    assert all(after >= before for before, after in pairwise(rounds))  # annealing only ever spends more
    assert rounds[-1] > rounds[0]
    assert 0 < fitted.compiling < fitted.seconds["fit"]
    singles = [fitted.tree.marginal((i,)) for i in range(4)]
    assert all(marginal.min() >= 0 for marginal in singles)
    np.testing.assert_allclose([marginal.sum() for marginal in singles], fitted.tree.total)
    again = aim_pgm(TABLE, WORKLOAD, rho=rho, megabytes=1.0, seed=0, steps=50, last_steps=50)
    np.testing.assert_array_equal(fitted.tree.marginal((0, 1, 2)), again.tree.marginal((0, 1, 2)))
    pairs_at_most = 12 * 8 / 2**20
    small = aim_pgm(TABLE, WORKLOAD, rho=100.0, megabytes=pairs_at_most, seed=0, steps=50, last_steps=50)
    assert small.megabytes <= pairs_at_most
    exact = errors.errors_of({"rival": errors.one_by_one(small.tree.marginal)}, TABLE, WORKLOAD.targets)
    alone = errors.errors(errors.independent(TRUTH), TRUTH, WORKLOAD.targets)
    assert exact["rival"]["L1"] < alone["L1"]
