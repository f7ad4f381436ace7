from fractions import Fraction
from math import ceil, prod

import numpy as np
import pytest

from residuum import (
    BudgetExceeded,
    Domain,
    NoisyMarginal,
    NoisyResidual,
    Table,
    Workload,
    WorkloadError,
    kernels,
)
from residuum.core.neighbours import ADD_REMOVE, Neighbours
from residuum.core.residuals import decompose
from residuum.data.counts import Counts
from residuum.data.differences import Differences
from residuum.mechanism.curator import PUBLIC, AdaptiveCurator, Curator
from residuum.privacy.ledger import Ledger
from residuum.privacy.simulator import Simulator

DOMAIN = Domain({"a": 3, "b": 2, "c": 4})
WORKLOAD = Workload.all_kway(DOMAIN, 2)
REPLACE = Neighbours("replace")
TABLE = Table.from_codes(np.random.default_rng(0).integers(0, DOMAIN.sizes, size=(500, 3)), DOMAIN)


class Silence(Simulator):
    """No noise at all, and a record of what was asked for; `ledger` shows what had been spent by then."""

    def __init__(self, ledger):
        super().__init__(0)
        self.ledger = ledger
        self.calls = []

    def gaussian(self, shape, sigma2, scale=1):
        self.calls.append((shape, sigma2, scale, self.ledger.spent_units))
        return np.zeros(shape, dtype=np.int64)

    def uniform(self):
        self.calls.append(((), None, None, self.ledger.spent_units))
        return super().uniform()


def curators(rho):
    for kind, truth in ((Curator, Counts(TABLE, WORKLOAD)), (AdaptiveCurator, Differences(TABLE, WORKLOAD, 10.0))):
        ledger = Ledger(rho)
        noise = Silence(ledger)
        yield kind(truth, ledger, noise), ledger, noise


def exact(rho, items):
    """Units for Gaussian measurements, (sensitivity², σ²) each, rounded up one by one."""
    return sum(ceil(s / (2 * Fraction(sigma2)) / Fraction(rho) * 2**96) for s, sigma2 in items)


def test_without_noise_the_truth_comes_back():
    for curator, _, _ in curators(1e3):
        for residual in curator.measure(dict.fromkeys(WORKLOAD.closure, 1.0)):
            truth = Counts(TABLE, WORKLOAD).marginal(residual.tau)
            assert isinstance(residual, NoisyResidual)
            np.testing.assert_allclose(residual.values, decompose(truth, residual.tau, residual.tau))
        measured = curator.measure_marginal((0, 2), 2.5)
        assert isinstance(measured, NoisyMarginal)
        assert (measured.gamma, measured.sigma2) == ((0, 2), 2.5)
        np.testing.assert_array_equal(measured.values, Counts(TABLE, WORKLOAD).marginal((0, 2)))


def test_costs_are_p_over_two_sigma2_exactly():
    rho = 0.3
    wanted = {(): 7.0, (1,): 11.3, (0, 2): 1e3, (1, 2): 13.7}
    for curator, ledger, noise in curators(rho):
        curator.measure(wanted)
        p = {tau: prod((Fraction(n - 1, n) for n in DOMAIN.shape(tau)), start=Fraction(1)) for tau in wanted}
        units = exact(rho, [(p[tau], sigma2) for tau, sigma2 in wanted.items()])
        assert ledger.spent_units == units
        assert [spend.clique for spend in ledger.spends] == list(wanted)
        curator.measure_marginal((0, 1), 9.1)
        assert ledger.spent_units == units + exact(rho, [(1, 9.1)])
        shapes = [DOMAIN.shape(tau) for tau in wanted]
        drawn = [(shape, sigma2, prod(shape)) for shape, sigma2 in zip(shapes, wanted.values(), strict=True)]
        assert [call[:3] for call in noise.calls] == [*drawn, (DOMAIN.shape((0, 1)), 9.1, 1)]


def test_everything_is_charged_before_anything_is_drawn():
    for curator, ledger, noise in curators(10.0):
        curator.measure({(): 1.0, (0,): 1.0, (0, 1): 1.0})
        assert {spent for *_, spent in noise.calls} == {ledger.spent_units}
        curator.measure_marginal((1, 2), 1.0)
        assert noise.calls[-1][-1] == ledger.spent_units
    curator.select(0.5, 1.0)
    assert noise.calls[-1] == ((), None, None, ledger.spent_units)
    assert ledger.spends[-1].mechanism == "exponential"
    assert ledger.spends[-1].units == Fraction(1, 4) / 8 / 10 * 2**96 // 1 + 1


def test_too_little_budget_and_the_noise_is_not_touched():
    for curator, ledger, noise in curators(0.1):
        with pytest.raises(BudgetExceeded):
            curator.measure({(): 1e6, (0,): 1e6, (0, 1): 1.0})
        with pytest.raises(BudgetExceeded):
            curator.measure_marginal((0, 1), 4.999)
        if isinstance(curator, AdaptiveCurator):
            with pytest.raises(BudgetExceeded):
                curator.select(1.0, 1.0)
        assert noise.calls == []
        assert ledger.spent_units == 0


def test_nothing_to_measure():
    for curator, ledger, noise in curators(0.1):
        assert curator.measure({}) == []
        assert (ledger.spends, noise.calls) == ((), [])


def test_the_selection_follows_the_estimates():
    ledger = Ledger(1e9)
    curator = AdaptiveCurator(Differences(TABLE, WORKLOAD, 10.0), ledger, Simulator(3))
    curator.follow([((), np.array(500.0))])
    for gamma in ((0,), (1,), (2,), (0, 1), (0, 2)):
        mu = Counts(TABLE, WORKLOAD).marginal(gamma)
        curator.follow([(gamma, decompose(mu, gamma, gamma))])
    assert curator.select(1e3, 1e-12) == (1, 2)  # the only one whose estimate is not the truth
    gamma = (1, 2)
    curator.follow([(gamma, decompose(Counts(TABLE, WORKLOAD).marginal(gamma), gamma, gamma))])
    assert curator.select(1e-9, 1e-12) in WORKLOAD.closure[1:]


def test_the_selection_compares_with_whatever_it_is_told():
    ledger = Ledger(1e9)
    curator = AdaptiveCurator(Differences(TABLE, WORKLOAD, 10.0), ledger, Simulator(3))
    truth = {gamma: Counts(TABLE, WORKLOAD).marginal(gamma).astype(float) for gamma in WORKLOAD.closure}
    for off in WORKLOAD.closure[1:]:
        estimates = {gamma: mu + 5.0 * (gamma == off) for gamma, mu in truth.items()}
        curator.compare(iter(estimates.items()))
        assert curator.select(1e3, 1e-12) == off
        curator.compare([(off, truth[off]), ((0, 2), truth[0, 2] - 5.0)])
        assert curator.select(1e3, 1e-12) == (0, 2)
    assert {spend.mechanism for spend in ledger.spends} == {"exponential"}  # to compare costs nothing


def test_measured_residuals_have_the_variance_they_say():
    tau, sigma2 = (0, 2), 5.0
    truth = decompose(Counts(TABLE, WORKLOAD).marginal(tau), tau, tau)
    curator = Curator(Counts(TABLE, WORKLOAD), Ledger(1e9), Simulator(8))
    errors = np.array([(curator.measure({tau: sigma2})[0].values - truth).ravel() for _ in range(3000)])
    covariance = np.kron(np.eye(2) + 1, np.eye(3) + 1) * sigma2  # V for sizes 3 and 4
    np.testing.assert_allclose(errors.T @ errors / len(errors), covariance, atol=0.1 * covariance.max())


class TestReplacement:
    """Neighbours that differ in one row replaced."""

    def curator(self, rho=1e3):
        ledger = Ledger(rho)
        noise = Silence(ledger)
        return Curator(Counts(TABLE, WORKLOAD), ledger, noise, REPLACE), ledger, noise

    def test_the_total_is_public_and_free(self):
        curator, ledger, noise = self.curator()
        (total,) = curator.measure({(): 5.0})
        assert (float(total.values), total.sigma2) == (500.0, PUBLIC)
        assert (ledger.spent_units, noise.calls) == (0, [])

    def test_costs(self):
        curator, ledger, _ = self.curator()
        curator.measure({(): 5.0, (0,): 7.0, (0, 2): 11.0})
        assert ledger.spent_units == exact(1e3, [(2, 7.0), (2 * Fraction(3, 4), 11.0)])
        curator.measure_marginal((0, 1), 3.0)
        assert ledger.spends[-1].units == exact(1e3, [(2, 3.0)])


def test_what_is_released_of_a_residual_has_its_sensitivity():
    """Enumerate all tables of one row more: the centred marginal, in whole numbers, moves by p (Π n)² at most.

    This is what the charge is for. The curator releases a function of it, which the last lines check.
    """
    for sizes in ((2,), (5,), (2, 3), (3, 4), (2, 2, 3), (2, 3, 4)):
        tau = tuple(range(len(sizes)))
        cells = prod(sizes)
        moved = []
        for place in np.ndindex(sizes):
            row = np.zeros(sizes, dtype=np.int64)
            row[place] = 1
            centred = row
            for axis, n in enumerate(sizes):
                centred = n * centred - centred.sum(axis=axis, keepdims=True)
            moved.append(centred)
            np.testing.assert_allclose(
                kernels.difference(centred.copy(), cells), kernels.difference(row.copy(), 1), atol=1e-12
            )
        for neighbours, steps in (
            (ADD_REMOVE, moved),
            (REPLACE, [one - two for one in moved for two in moved]),
        ):
            top, bottom = neighbours.sensitivity2(sizes)
            assert max(int((step**2).sum()) for step in steps) == Fraction(top, bottom) * cells**2, (tau, neighbours)


def test_noise_is_what_is_left_of_noise_on_the_centred_marginal():
    """Noise on the scaled marginal and on the scaled, centred marginal give the same residual, to the last bit."""
    rng = np.random.default_rng(0)
    for sizes in ((4,), (3, 2), (2, 3, 4)):
        mu, cells = rng.integers(0, 1000, size=sizes), prod(sizes)
        noise = rng.integers(-(10**6), 10**6, size=sizes)
        centred = mu
        for axis, n in enumerate(sizes):
            centred = n * centred - centred.sum(axis=axis, keepdims=True)
        np.testing.assert_array_equal(
            kernels.difference(mu * cells + noise, cells), kernels.difference(centred + noise, cells)
        )


def test_a_marginal_too_large_for_whole_numbers():
    domain = Domain({f"x{i}": 2**11 for i in range(3)})

    class Truth:
        workload = Workload(domain, [(0, 1, 2)])

    ledger = Ledger(1.0)
    with pytest.raises(WorkloadError, match="too many cells to be measured"):
        Curator(Truth(), ledger, Silence(ledger)).measure({(0, 1, 2): 1e9})
    assert ledger.spent_units == 0


def test_scaled_counts_beyond_32_bits():
    """A count times the number of cells is a 64-bit number before any noise is in, whatever the counts are kept in."""
    domain = Domain({"a": 50, "b": 40})
    workload = Workload.all_kway(domain, 2)
    counts = Counts(Table.from_codes(np.zeros((10, 2), dtype=int), domain), workload)
    counts.cells[counts.layout.place((0, 1))][0] = 2**31 - 1
    ledger = Ledger(1.0)
    (residual,) = Curator(counts, ledger, Silence(ledger)).measure({(0, 1): 1e4})
    assert counts.marginal((0, 1)).dtype == np.int32
    assert (residual.values == 2**31 - 1).all()
