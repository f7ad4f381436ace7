from fractions import Fraction

import numpy as np
import pytest

from residuum import Domain, ResiduumError, Table, Workload
from residuum.data.counts import Counts
from residuum.mechanism.fixed import fixed_sequence

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})
WORKLOAD = Workload.all_kway(DOMAIN, 3)
TABLE = Table.from_codes(np.random.default_rng(0).integers(0, DOMAIN.sizes, size=(500, 4)), DOMAIN)
COUNTS = Counts(TABLE, WORKLOAD)
SEQUENCE = [(0, 1, 2), (1, 2), (0, 1, 3), (0, 1, 2), (3,), (0, 2, 3)]


@pytest.mark.parametrize("allocation", ["crp", "iid"])
def test_lazy_and_full_give_the_same_estimates(allocation):
    lazy, full = (
        fixed_sequence(COUNTS, SEQUENCE, rho=0.5, seed=1, allocation=allocation, reconstruction=how)
        for how in ("lazy", "full")
    )
    for gamma in WORKLOAD.closure:
        one, two = lazy.marginal(gamma, "mle"), full.marginal(gamma, "mle")
        np.testing.assert_allclose(one.values, two.values, rtol=1e-9, atol=1e-7)
        assert (one.noise_stderr, one.unmeasured) == (two.noise_stderr, two.unmeasured)
    assert lazy.spends == full.spends
    assert lazy.lineage == full.lineage
    assert (lazy.provenance["reconstruction"], full.provenance["reconstruction"]) == ("lazy", "full")


@pytest.mark.parametrize("allocation", ["crp", "iid"])
def test_half_of_the_budget_goes_to_the_sequence(allocation):
    rho = 0.3
    release = fixed_sequence(COUNTS, SEQUENCE, rho=rho, seed=1, allocation=allocation)
    assert Fraction(release.rho) <= Fraction(rho)
    assert release.rho == pytest.approx(rho, rel=1e-9)
    start = sum(spend.units for spend in release.spends[:5])
    assert [spend.clique for spend in release.spends[:5]] == [(), (0,), (1,), (2,), (3,)]
    assert start / 2**96 == pytest.approx(0.5)
    if allocation == "iid":
        assert [spend.clique for spend in release.spends[5:]] == SEQUENCE
        for spend in release.spends[5:]:
            assert spend.units / 2**96 == pytest.approx(0.5 / len(SEQUENCE))


def test_crp_knows_more_for_the_same_budget():
    """Each step is optimal for its own marginal, so after one step that marginal is better known."""
    errors = {
        allocation: fixed_sequence(COUNTS, [(0, 1, 2)], rho=0.5, seed=1, allocation=allocation)
        .marginal((0, 1, 2), "mle")
        .noise_stderr
        for allocation in ("crp", "iid")
    }
    assert errors["crp"] < errors["iid"]


def test_a_prefix_spends_as_the_whole_does():
    whole = fixed_sequence(COUNTS, SEQUENCE, rho=0.5, seed=1)
    part = fixed_sequence(COUNTS, SEQUENCE, rho=0.5, seed=1, steps=2)
    assert whole.spends[: len(part.spends)] == part.spends
    assert sum(spend.rho for spend in part.spends) == pytest.approx(0.25 + 0.25 * 2 / len(SEQUENCE))


def test_unknown_strategies():
    for strategy in ({"allocation": "best"}, {"reconstruction": "eager"}):
        with pytest.raises(ResiduumError, match="take lazy or full, crp or iid"):
            fixed_sequence(COUNTS, SEQUENCE, rho=0.5, seed=1, **strategy)
