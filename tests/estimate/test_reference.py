import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum import Domain, Estimates, NoisyMarginal, NoisyResidual, ResiduumError, Workload
from residuum.estimate.reference import check, independent, single_shares, total_of

DOMAIN = Domain({"a": 3, "b": 2, "c": 4})
WORKLOAD = Workload.all_kway(DOMAIN, 2)


@st.composite
def noisy(draw):
    """Estimates in which noise is as large as the counts; some attributes are not measured."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cliques = draw(st.lists(st.sampled_from(WORKLOAD.closure), max_size=4))
    return Estimates(WORKLOAD, [NoisyMarginal(g, rng.normal(3, 9, DOMAIN.shape(g)), 81.0) for g in cliques])


@pytest.mark.parametrize("name", ["latent", "independent", "none"])
def test_names_of_references(name):
    check(name)


@pytest.mark.parametrize("name", ["Latent", "", None, 1])
def test_other_names_are_refused(name):
    with pytest.raises(ResiduumError, match="Expected the reference 'latent', 'independent' or 'none', got "):
        check(name)


@pytest.mark.parametrize(("measured", "total"), [(250.5, 250.5), (0.2, 1.0), (-40.0, 1.0)])
def test_the_total_is_the_measured_one_and_one_at_least(measured, total):
    assert total_of(Estimates(WORKLOAD, [NoisyResidual((), measured, 1.0)])) == total


def test_nothing_measured():
    estimates = Estimates(WORKLOAD)
    assert total_of(estimates) == 1
    np.testing.assert_allclose(independent(estimates).marginal((0, 2)), np.full((3, 4), 1 / 12), rtol=1e-6)


@given(noisy())
def test_shares_are_a_distribution_for_each_attribute(estimates):
    shares = single_shares(estimates)
    assert shares.min() >= 0
    for part in np.split(shares, [3, 5]):
        assert part.sum() == pytest.approx(1, rel=1e-12)


def test_shares_are_those_measured_where_none_is_negative():
    noisy = [NoisyMarginal((0,), [20.0, 30.0, 50.0], 1.0), NoisyMarginal((1,), [110.0, -10.0], 1.0)]
    shares = single_shares(Estimates(WORKLOAD, noisy))
    np.testing.assert_allclose(shares, [0.2, 0.3, 0.5, 1, 0, 0.25, 0.25, 0.25, 0.25], atol=1e-12)


def test_an_attribute_outside_the_workload_is_spread_evenly():
    estimates = Estimates(Workload(DOMAIN, [("a",)]), [NoisyMarginal((0,), [20.0, 30.0, 50.0], 1.0)])
    np.testing.assert_allclose(single_shares(estimates)[3:], [0.5, 0.5, 0.25, 0.25, 0.25, 0.25])


@given(noisy())
def test_attributes_do_not_depend_on_one_another(estimates):
    model, total = independent(estimates), total_of(estimates)
    a, b, c = np.split(single_shares(estimates), [3, 5])
    expected = total * np.einsum("a,b,c->abc", a, b, c)
    np.testing.assert_allclose(model.marginal((0, 1, 2)), expected, rtol=1e-5, atol=1e-6 * total)
    assert model.weights.shape == (1, 1)
