import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum import DomainError, ResiduumError, decompose, decompose_all, reconstruct, reconstruct_all
from residuum.core.residuals import p, v
from residuum.core.workload import subsets
from tests.core import dense

AGE, EDUC = 0, 1
MU = np.array([[7, 5, 2], [3, 5, 11], [10, 2, 11], [9, 18, 17]])
RESIDUALS = {
    (): np.array(100),
    (AGE,): np.array([5, 9, 30]),
    (EDUC,): np.array([1, 12]),
    (AGE, EDUC): np.array([[4, 13], [-6, 6], [11, 13]]),
}
TWELFTHS = {
    (): np.full((4, 3), 100),
    (AGE,): np.repeat([[-44], [-24], [-8], [76]], 3, axis=1),
    (EDUC,): np.repeat([[-13, -10, 23]], 4, axis=0),
    (AGE, EDUC): np.array([[41, 14, -55], [-27, -6, 33], [41, -58, 17], [-55, 50, 5]]),
}
"""The four components of the paper's example, times 12. The paper prints 32 where 33 stands: a slip, because every row
and column of this component adds up to 0, and the four cells in that place to 12 · 11 = 100 - 24 + 23 + 33."""


class TestThePapersExample:
    """Paper: App. A."""

    @pytest.mark.parametrize("tau", RESIDUALS)
    def test_residuals(self, tau):
        np.testing.assert_array_equal(decompose(MU, (AGE, EDUC), tau), RESIDUALS[tau])

    @pytest.mark.parametrize("tau", RESIDUALS)
    def test_components(self, tau):
        component = reconstruct(RESIDUALS[tau], tau, (AGE, EDUC), (4, 3))
        np.testing.assert_allclose(component, TWELFTHS[tau] / 12, rtol=1e-14, atol=1e-14)

    def test_all_at_once(self):
        residuals = decompose_all(MU, (AGE, EDUC))
        assert list(residuals) == list(RESIDUALS)
        for tau, zeta in residuals.items():
            np.testing.assert_array_equal(zeta, RESIDUALS[tau])
        np.testing.assert_allclose(reconstruct_all(residuals, (AGE, EDUC), (4, 3)), MU, rtol=1e-14)


@st.composite
def cliques(draw, max_attributes=6, max_cells=4000):
    """Attributes with gaps between their indices, and a size each, attributes of size 2 among them."""
    gamma = tuple(sorted(draw(st.sets(st.integers(0, 12), max_size=max_attributes))))
    sizes = []
    for _ in gamma:
        sizes.append(draw(st.integers(1, max(2, min(12, max_cells // int(np.prod(sizes, dtype=int)))))))
    return gamma, tuple(sizes)


def marginal(draw, shape):
    return np.random.default_rng(draw(st.integers(0, 2**32))).normal(scale=100, size=shape)


def subset(draw, gamma):
    return tuple(i for i in gamma if draw(st.booleans()))


@given(cliques(), st.data())
def test_bijection(clique, data):
    gamma, sizes = clique
    mu = marginal(data.draw, sizes)
    residuals = decompose_all(mu, gamma)
    assert sum(z.size for z in residuals.values()) == mu.size
    np.testing.assert_allclose(reconstruct_all(residuals, gamma, sizes), mu, rtol=1e-9, atol=1e-9)
    summed = sum((reconstruct(z, tau, gamma, sizes) for tau, z in residuals.items()), np.zeros(sizes))
    np.testing.assert_allclose(summed, mu, rtol=1e-9, atol=1e-9)


@given(cliques(), st.data())
def test_all_at_once_equals_one_by_one(clique, data):
    gamma, sizes = clique
    mu = marginal(data.draw, sizes)
    for tau, z in decompose_all(mu, gamma).items():
        np.testing.assert_allclose(z, decompose(mu, gamma, tau), rtol=1e-9, atol=1e-9)


@given(cliques(), st.data())
def test_a_residual_is_the_same_from_every_superset(clique, data):
    gamma, sizes = clique
    mu = marginal(data.draw, sizes)
    middle = subset(data.draw, gamma)
    tau = subset(data.draw, middle)
    smaller = mu.sum(axis=tuple(k for k, i in enumerate(gamma) if i not in middle))
    np.testing.assert_allclose(decompose(smaller, middle, tau), decompose(mu, gamma, tau), rtol=1e-9, atol=1e-8)


@given(cliques(), st.data())
def test_overlapping_marginals_of_a_reconstruction_agree(clique, data):
    gamma, sizes = clique
    size = dict(zip(gamma, sizes, strict=True))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    residuals = {tau: rng.normal(size=[size[i] - 1 for i in tau]) for tau in subsets(gamma) if data.draw(st.booleans())}
    overlap = subset(data.draw, gamma)
    whole = reconstruct_all(residuals, gamma, sizes)
    part = reconstruct_all(
        {tau: z for tau, z in residuals.items() if set(tau) <= set(overlap)}, overlap, tuple(size[i] for i in overlap)
    )
    summed = whole.sum(axis=tuple(k for k, i in enumerate(gamma) if i not in overlap))
    np.testing.assert_allclose(summed, part, rtol=1e-9, atol=1e-9)


@given(cliques(), st.data(), st.floats(-3, 3), st.floats(-3, 3))
def test_linearity(clique, data, a, b):
    gamma, sizes = clique
    tau = subset(data.draw, gamma)
    one, two = marginal(data.draw, sizes), marginal(data.draw, sizes)
    z, z_one, z_two = (decompose(mu, gamma, tau) for mu in (a * one + b * two, one, two))
    np.testing.assert_allclose(z, a * z_one + b * z_two, rtol=1e-8, atol=1e-8)
    m, m_one, m_two = (reconstruct(y, tau, gamma, sizes) for y in (z, z_one, z_two))
    np.testing.assert_allclose(m, a * m_one + b * m_two, rtol=1e-8, atol=1e-8)


@given(cliques(max_attributes=6, max_cells=200), st.data())
def test_parity_with_explicit_kronecker_matrices(clique, data):
    gamma, sizes = clique
    tau = subset(data.draw, gamma)
    t = dense.decomposition(gamma, tau, sizes)
    mu = marginal(data.draw, sizes)
    zeta = decompose(mu, gamma, tau)
    np.testing.assert_allclose(zeta.ravel(), t @ mu.ravel(), rtol=1e-9, atol=1e-9)
    component = reconstruct(zeta, tau, gamma, sizes)
    np.testing.assert_allclose(component.ravel(), np.linalg.pinv(t) @ zeta.ravel(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("degree", range(7))
def test_parity_at_every_degree_with_binary_attributes(degree):
    gamma, sizes = tuple(range(degree)), (2, 3, 2, 2, 3, 2)[:degree]
    mu = np.random.default_rng(degree).normal(size=sizes)
    for tau in subsets(gamma):
        t = dense.decomposition(gamma, tau, sizes)
        zeta = decompose(mu, gamma, tau)
        np.testing.assert_allclose(zeta.ravel(), t @ mu.ravel(), atol=1e-10)
        np.testing.assert_allclose(
            reconstruct(zeta, tau, gamma, sizes).ravel(), np.linalg.pinv(t) @ zeta.ravel(), atol=1e-10
        )


@given(cliques(max_attributes=4, max_cells=80), st.data())
def test_p_and_v_are_the_cost_and_the_variance_of_the_matrices(clique, data):
    """Paper: Prop. 4.3 and 4.4, from the Gaussian mechanism's general formula and from the covariance of Recon."""
    gamma, sizes = clique
    tau = subset(data.draw, gamma)
    tau_sizes = tuple(n for i, n in zip(gamma, sizes, strict=True) if i in tau)
    covariance = dense.covariance(tau_sizes)
    query = dense.decomposition(tau, tau, tau_sizes)
    cost = np.diag(query.T @ np.linalg.inv(covariance) @ query)
    np.testing.assert_allclose(cost, p(tau_sizes), rtol=1e-9)
    back = np.linalg.pinv(dense.decomposition(gamma, tau, sizes))
    np.testing.assert_allclose(np.diag(back @ covariance @ back.T), v(tau, gamma, sizes), rtol=1e-9)


def test_input_is_left_alone_and_may_be_a_view():
    mu = np.arange(24.0).reshape(2, 3, 4)
    before = mu.copy()
    turned = np.ascontiguousarray(mu.transpose(2, 1, 0)).transpose(2, 1, 0)
    for tau in subsets((0, 1, 2)):
        np.testing.assert_array_equal(decompose(turned, (0, 1, 2), tau), decompose(mu, (0, 1, 2), tau))
    decompose_all(mu, (0, 1, 2))
    reconstruct(mu, (0, 1, 2), (0, 1, 2, 3), (3, 4, 5, 2))
    np.testing.assert_array_equal(mu, before)


def test_results_never_share_memory_with_the_input():
    for mu, gamma in ((np.array(3.0), ()), (np.arange(3.0), (0,))):
        for tau in subsets(gamma):
            assert not np.shares_memory(decompose(mu, gamma, tau), mu)
        assert not any(np.shares_memory(z, mu) for z in decompose_all(mu, gamma).values())
    z = np.array(3.0)
    assert not np.shares_memory(reconstruct(z, (), (), ()), z)
    assert not np.shares_memory(reconstruct_all({(): z}, (), ()), z)


def test_an_axis_of_one_value_has_an_empty_residual():
    mu = np.arange(3.0).reshape(3, 1)
    assert decompose(mu, (0, 1), (0, 1)).shape == (2, 0)
    assert decompose(mu, (0, 1), (0,)).tolist() == [1.0, 2.0]
    assert reconstruct(np.empty((2, 0)), (0, 1), (0, 1), (3, 1)).tolist() == [[0.0], [0.0], [0.0]]


def test_kinds_of_arrays():
    mu = np.arange(12.0).reshape(4, 3)
    expected = decompose(mu, (0, 1), (0, 1))
    frozen = mu.copy()
    frozen.flags.writeable = False
    for other in (frozen, mu.astype(np.float32), mu.astype(np.int16), mu.tolist(), np.asfortranarray(mu)):
        np.testing.assert_array_equal(decompose(other, (0, 1), (0, 1)), expected)
    frozen_z = expected.copy()
    frozen_z.flags.writeable = False
    assert reconstruct(frozen_z, (0, 1), (0, 1), (4, 3)).shape == (4, 3)


class TestBadInput:
    @pytest.mark.parametrize(
        ("gamma", "tau", "message"),
        [
            ((0, 1), (0, 2), r"2 of \(0, 2\) is not in \(0, 1\)"),
            ((1, 0), (0,), r"Expected ascending attribute indices without duplicates in `gamma`, got \(1, 0\)"),
            ((0, 0), (0,), r"without duplicates in `gamma`, got \(0, 0\)"),
            ((0, 1), (1, 1), r"without duplicates in `tau`, got \(1, 1\)"),
            ((0, 1, 2), (0,), r"an axis for each attribute of \(0, 1, 2\), got an array of shape \(4, 3\)"),
            ((-1, 1), (1,), r"Expected attribute indices >= 0 in `gamma`, got \(-1, 1\)"),
            (("age", "educ"), ("age",), "Expected `gamma` to be a tuple of attribute indices"),
        ],
    )
    def test_cliques(self, gamma, tau, message):
        with pytest.raises(DomainError, match=message):
            decompose(MU, gamma, tau)

    @pytest.mark.parametrize(
        "operation", [lambda mu: decompose(mu, (0, 1), (0,)), lambda mu: decompose_all(mu, (0, 1))]
    )
    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
    def test_not_finite(self, operation, bad):
        mu = MU.astype(float)
        mu[2, 1] = bad
        with pytest.raises(ResiduumError, match=rf"`mu`, got {bad} at index \(2, 1\)"):
            operation(mu)

    def test_not_finite_in_a_residual(self):
        for z in ([1.0, np.nan, 2.0], [np.inf, -np.inf, 0.0]):
            with pytest.raises(ResiduumError, match="Expected finite numbers in `z`"):
                reconstruct(z, (0,), (0, 1), (4, 3))
            with pytest.raises(ResiduumError, match=r"Expected finite numbers in `residuals\[\(0,\)\]`"):
                reconstruct_all({(0,): z}, (0, 1), (4, 3))

    def test_not_finite_beside_an_axis_of_one_value(self):
        with pytest.raises(ResiduumError, match="got nan at index"):
            decompose([[np.nan], [1.0]], (0, 1), (0, 1))

    @pytest.mark.parametrize(
        ("shape", "tau", "gamma", "sizes", "message"),
        [
            ((4,), (0,), (0, 1), (4, 3), r"Expected shape \(3,\) for the residual over \(0,\), got \(4,\)"),
            ((3, 2), (0, 2), (0, 1), (4, 3), r"2 of \(0, 2\) is not in \(0, 1\)"),
            ((3,), (0,), (0, 1), (4,), r"a size for each attribute of \(0, 1\), got \(4,\)"),
            ((3,), (0,), (0, 1), (4, 0), r"Expected whole sizes above 0, got \(4, 0\)"),
            ((3,), (0,), (0, 1), (4, 2.5), "Expected whole sizes above 0"),
        ],
    )
    def test_shapes(self, shape, tau, gamma, sizes, message):
        with pytest.raises(DomainError, match=message):
            reconstruct(np.zeros(shape), tau, gamma, sizes)
        with pytest.raises(DomainError, match=message):
            reconstruct_all({tau: np.zeros(shape)}, gamma, sizes)

    @pytest.mark.parametrize("gamma", [None, 0, 1.5, ([0],), (True,), (7.0,), "a"])
    def test_not_a_clique(self, gamma):
        decompose([1, 2], (7,), (7,))
        for call in (
            lambda: decompose([1, 2], gamma, gamma),
            lambda: decompose_all([1, 2], gamma),
            lambda: reconstruct([1], gamma, gamma, (2,)),
            lambda: reconstruct_all({}, gamma, (2,)),
        ):
            with pytest.raises(DomainError, match="to be a tuple of attribute indices"):
                call()

    @pytest.mark.parametrize("sizes", [None, 2, (2.0,), ("2",), (True,)])
    def test_not_sizes(self, sizes):
        with pytest.raises(DomainError, match="Expected whole sizes above 0"):
            reconstruct([1], (0,), (0,), sizes)

    def test_not_residuals(self):
        with pytest.raises(DomainError, match="Expected a mapping of cliques to residuals, got list"):
            reconstruct_all([[1.0]], (0,), (2,))
        with pytest.raises(DomainError, match="Expected `tau` to be a tuple"):
            reconstruct_all({0: [1.0]}, (0,), (2,))
        assert reconstruct_all({frozenset({0}): [2.0]}, (0,), (2,)).tolist() == [-1.0, 1.0]

    def test_numbers_too_large_to_add_up(self):
        huge = [[1e308, -1e308], [-1e308, 1e308]]
        with pytest.raises(ResiduumError, match="`mu` are too large to add up"):
            decompose(huge, (0, 1), (0, 1))
        with pytest.raises(ResiduumError, match="`z` are too large to add up"):
            reconstruct(np.full((2, 2), 1e308), (0, 1), (0, 1), (3, 3))

    def test_a_mask_is_not_ignored(self):
        with pytest.raises(ResiduumError, match="got a masked array"):
            decompose(np.ma.masked_equal([1, 2], 2), (0,), (0,))

    def test_sizes_of_p(self):
        for sizes in ((0,), (2.5,), (-1,)):
            with pytest.raises(DomainError, match="Expected whole sizes above 0"):
                p(sizes)

    def test_an_empty_axis(self):
        with pytest.raises(DomainError, match="at least one value along each axis"):
            decompose(np.zeros((3, 0)), (0, 1), (0,))

    def test_v_of_a_residual_outside(self):
        with pytest.raises(DomainError, match="not in"):
            v((2,), (0, 1), (4, 3))
