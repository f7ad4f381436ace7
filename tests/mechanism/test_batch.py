from fractions import Fraction

import numpy as np
import pytest

from residuum import (
    Domain,
    ReleaseError,
    ResiduumError,
    Table,
    Workload,
    WorkloadError,
    aim,
    decompose,
    residual_planner,
)
from residuum.core.planner import plan
from residuum.data import counts, memory
from residuum.data.counts import Counts

DOMAIN = Domain({"a": 3, "b": 2, "c": 4})
WORKLOAD = Workload(DOMAIN, {(0, 1): 2.0, (1, 2): 1.0, (0,): 1.0})
TABLE = Table.from_codes(np.random.default_rng(0).integers(0, DOMAIN.sizes, size=(500, 3)), DOMAIN)
COUNTS = Counts(TABLE, WORKLOAD)


@pytest.mark.parametrize("objective", ["sum", "max"])
def test_every_residual_is_measured_as_planned(objective):
    release = residual_planner(TABLE, WORKLOAD, rho=0.5, seed=1, objective=objective)
    planned = plan(WORKLOAD, 0.5, objective)
    assert release.provenance["objective"] == objective
    assert 0 <= release.provenance["duality_gap"] == planned.gap <= 0.01
    for gamma in WORKLOAD.closure:
        assert release.marginal(gamma, "mle").unmeasured == ()
        assert release.estimates.precision(gamma) == 1 / planned.sigma2[gamma]
    assert [spend.clique for spend in release.spends] == list(WORKLOAD.closure)
    assert Fraction(release.rho) <= Fraction(1, 2)
    assert release.rho == pytest.approx(0.5, rel=1e-9)


def test_max_and_sum_each_do_what_they_promise():
    largest, total = {}, {}
    for objective in ("sum", "max"):
        release = residual_planner(TABLE, WORKLOAD, rho=0.5, seed=1, objective=objective)
        variances = {gamma: release.marginal(gamma, "mle").noise_stderr ** 2 for gamma in WORKLOAD.targets}
        largest[objective] = max(WORKLOAD.weights[gamma] * x for gamma, x in variances.items())
        total[objective] = sum(WORKLOAD.weights[gamma] * DOMAIN.size(gamma) * x for gamma, x in variances.items())
    assert largest["max"] < largest["sum"]
    assert total["sum"] < total["max"]


@pytest.mark.parametrize("with_prior", [False, True])
def test_the_error_is_what_noise_stderr_says(with_prior):
    errors = {gamma: [] for gamma in WORKLOAD.closure}
    for seed in range(200):
        prior = residual_planner(TABLE, WORKLOAD, rho=0.3, seed=10_000 + seed) if with_prior else None
        release = residual_planner(TABLE, WORKLOAD, rho=0.2, seed=seed, prior=prior, objective="max")
        for gamma in WORKLOAD.closure:
            marginal = release.marginal(gamma, "mle")
            errors[gamma].append((marginal.values - COUNTS.marginal(gamma)) / marginal.noise_stderr)
    pooled = np.mean([np.mean(np.square(some)) for some in errors.values()])
    assert pooled == pytest.approx(1, rel=0.1)
    for some in errors.values():
        # The mean of n squared standard normals that are all the same draw is off by 4.5 √(2 / n) once in 10^5.
        assert np.mean(np.square(some)) == pytest.approx(1, abs=4.5 * np.sqrt(2 / 200))
        assert np.abs(np.mean(some)) < 4.5 / np.sqrt(200)
    widest = np.array(errors[(1, 2)])
    assert np.mean(widest**2) == pytest.approx(1, rel=0.15)


def test_a_prior_is_averaged_in():
    prior = aim(TABLE, WORKLOAD, rho=0.3, seed=1)
    alone = residual_planner(TABLE, WORKLOAD, rho=0.2, seed=2)
    release = residual_planner(TABLE, WORKLOAD, rho=0.2, seed=2, prior=prior)
    assert release.rho == pytest.approx(0.5)
    assert release.spends == prior.spends + alone.spends
    for tau in WORKLOAD.closure:
        a, b = prior.estimates.precision(tau), alone.estimates.precision(tau)
        assert release.estimates.precision(tau) == pytest.approx(a + b)
        new = ((a + b) * release.estimates.residual(tau) - a * prior.estimates.residual(tau)) / b
        true = decompose(COUNTS.marginal(tau), tau, tau)
        assert np.abs(new - true).max() < 12 / np.sqrt(b)


def test_reproducible_and_rows_per_person():
    one = residual_planner(TABLE, WORKLOAD, rho=0.4, seed=3, rows_per_person=2)
    two = residual_planner(TABLE, WORKLOAD, rho=0.1, seed=3)
    assert one.lineage == two.lineage
    assert one.spends == two.spends
    assert one.rho == one.provenance["rho"] == 0.4
    assert one.provenance["caveats"] == ("not private: seeded",)


def test_no_rows():
    release = residual_planner(Table.from_codes([], DOMAIN), WORKLOAD, rho=1e8, seed=3)
    assert np.abs(release.marginal((1, 2), "mle").values).max() < 0.1


def test_progress():
    reports = []
    residual_planner(TABLE, WORKLOAD, rho=1.0, seed=3, progress=reports.append)
    assert reports[0].rounds == 1


def test_counts_in_place_of_a_table():
    ready = Counts.from_marginals(WORKLOAD, {gamma: COUNTS.marginal(gamma) for gamma in COUNTS.layout.maximal})
    one, two = (residual_planner(source, WORKLOAD, rho=0.5, seed=1) for source in (TABLE, ready))
    assert one.lineage == two.lineage
    for gamma in WORKLOAD.closure:
        np.testing.assert_array_equal(one.marginal(gamma, "mle").values, two.marginal(gamma, "mle").values)
    smaller = Workload(DOMAIN, [(0, 1)])
    assert residual_planner(ready, smaller, rho=0.5, seed=1).workload is smaller
    with pytest.raises(WorkloadError, match=r"do not include the marginal over \('a', 'c'\)"):
        residual_planner(ready, Workload(DOMAIN, [(0, 2)]), rho=0.5)
    with pytest.raises(WorkloadError, match="Expected a Table, or the Counts of one, got ndarray"):
        residual_planner(TABLE.columns, WORKLOAD, rho=0.5)


def test_large_marginals_are_counted_in_turn(monkeypatch):
    whole = residual_planner(TABLE, WORKLOAD, rho=0.5, seed=1)
    monkeypatch.setattr(counts, "_DENSE", 4)
    monkeypatch.setattr(counts, "_AHEAD", 8)
    in_turn = residual_planner(TABLE, WORKLOAD, rho=0.5, seed=1)
    for gamma in WORKLOAD.closure:
        np.testing.assert_array_equal(in_turn.marginal(gamma, "mle").values, whole.marginal(gamma, "mle").values)


def test_memory_is_asked_for_before_it_is_taken(monkeypatch):
    estimates = 8 * COUNTS.layout.cells + memory.measuring(WORKLOAD)
    for source, needed in ((TABLE, estimates + counts.counting(WORKLOAD, in_turn=True)), (COUNTS, estimates)):
        monkeypatch.setattr(memory, "_available_memory", lambda needed=needed: needed - 1)
        with pytest.raises(WorkloadError, match=f"{needed:,} bytes"):
            residual_planner(source, WORKLOAD, rho=0.5)
        monkeypatch.setattr(memory, "_available_memory", lambda needed=needed: needed)
        residual_planner(source, WORKLOAD, rho=0.5)


def test_bad_input():
    for budget in ({}, {"epsilon": 0, "delta": 1e-9}, {"epsilon": 1, "delta": 1}, {"rho": 1.0, "epsilon": 1.0}):
        with pytest.raises(ResiduumError, match="Expected"):
            residual_planner(TABLE, WORKLOAD, **budget)
    with pytest.raises(ResiduumError, match='"sum" or "max", got \'mean\''):
        residual_planner(TABLE, WORKLOAD, rho=1.0, objective="mean")
    other = Domain({"a": 3, "b": 2})
    with pytest.raises(WorkloadError, match="different domains"):
        residual_planner(Table.from_codes([], other), WORKLOAD, rho=1.0)
    prior = residual_planner(Table.from_codes([], other), Workload.all_kway(other, 1), rho=1.0)
    with pytest.raises(ReleaseError, match="same domain"):
        residual_planner(TABLE, WORKLOAD, rho=1.0, prior=prior)
