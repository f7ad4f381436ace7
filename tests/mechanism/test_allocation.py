from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum import Domain, Estimates, NoisyMarginal, NoisyResidual, Table, Workload
from residuum.core.neighbours import ADD_REMOVE, Neighbours
from residuum.core.workload import subsets
from residuum.data.counts import Counts
from residuum.mechanism.allocation import evenly, initial, optimal, singles
from residuum.mechanism.curator import Curator
from residuum.privacy.ledger import Ledger
from residuum.privacy.simulator import Simulator

DOMAIN = Domain({"a": 3, "b": 2, "c": 4})
WORKLOAD = Workload.all_kway(DOMAIN, 2)
REPLACE = Neighbours("replace")
TABLE = Table.from_codes(np.random.default_rng(0).integers(0, DOMAIN.sizes, size=(500, 3)), DOMAIN)


def test_initial_measurements_are_those_of_the_one_way_marginals():
    """Paper: Alg. 6. Merging the measurements of the total changes neither what is known nor what it costs."""
    sigma2 = 8.0
    separate = Estimates(WORKLOAD)
    for i in range(3):
        separate.absorb(NoisyMarginal((i,), np.zeros(DOMAIN.sizes[i]), sigma2))
    merged = initial(WORKLOAD, sigma2)
    assert {tau: 1 / variance for tau, variance in merged.items()} == pytest.approx(
        {tau: separate.precision(tau) for tau in [(), (0,), (1,), (2,)]}
    )
    ledger = Ledger(1e3)
    Curator(Counts(TABLE, WORKLOAD), ledger, Simulator(0)).measure(merged)
    assert ledger.spent == pytest.approx(3 / (2 * sigma2))


def test_optimal_costs_what_the_marginal_would():
    estimates = Estimates(WORKLOAD, [NoisyResidual((), 100.0, 0.5), NoisyResidual((0,), [1.0, 2.0], 3.0)])
    for gamma in WORKLOAD.closure:
        variances = optimal(estimates, gamma, 1 / 7.0, 1e-3)
        assert set(variances) <= set(subsets(gamma))
        p = {tau: prod((n - 1) / n for n in DOMAIN.shape(tau)) for tau in variances}
        assert sum(p[tau] / sigma2 for tau, sigma2 in variances.items()) == pytest.approx(1 / 7.0)
    assert () not in optimal(estimates, (0, 1), 1e-4, 1e-3)  # known well enough already


def test_optimal_leaves_a_public_total_out():
    estimates = Estimates(WORKLOAD)
    for gamma in WORKLOAD.closure[1:]:
        variances = optimal(estimates, gamma, 2 / 7.0, 1e-3, REPLACE)
        assert () not in variances
        cost = sum(REPLACE.cost(DOMAIN.shape(tau)) / sigma2 for tau, sigma2 in variances.items())
        assert cost == pytest.approx(2 / 7.0)


def test_only_attributes_that_are_asked_about_count_as_single_ones():
    assert singles(Workload(DOMAIN, [(0, 2), (2,)])) == 2
    assert set(initial(Workload(DOMAIN, [(0, 2), (2,)]), 1.0)) == {(), (0,), (2,)}


@given(
    st.dictionaries(st.sampled_from(WORKLOAD.closure[1:]), st.floats(1e-6, 1e6), min_size=1),
    st.floats(1e-6, 1e6),
    st.sampled_from([ADD_REMOVE, REPLACE]),
)
def test_evenly_spends_next_to_all_of_the_budget_in_proportion_to_the_weights(weights, rho, neighbours):
    variances = evenly(weights, DOMAIN, rho, neighbours)
    sensitivities = {tau: Fraction(*neighbours.sensitivity2(DOMAIN.shape(tau))) for tau in weights}
    spent = sum(sensitivities[tau] / (2 * Fraction(sigma2)) for tau, sigma2 in variances.items())
    assert Fraction(rho) * (1 - Fraction(1, 10**8)) <= spent <= Fraction(rho)
    units = [weights[tau] * sigma2 for tau, sigma2 in variances.items()]
    np.testing.assert_allclose(units, units[0])
    ledger = Ledger(rho)
    ledger.charge_gaussians(
        [(tau, neighbours.sensitivity2(DOMAIN.shape(tau)), sigma2) for tau, sigma2 in variances.items()]
    )  # does not raise


def test_evenly_gives_a_public_total_what_it_costs():
    with_total, without = (evenly(dict.fromkeys(taus, 1.0), DOMAIN, 1.0, REPLACE) for taus in ([(), (0,)], [(0,)]))
    assert with_total[0,] == without[0,]
