"""Between marginals and residuals: Decomp and Recon, and what a residual costs and contributes.

Paper: section 3 (Alg. 1, Alg. 2, Prop. 3.1) and Prop. 4.3, 4.4.

A marginal over γ is an array with one axis per attribute of γ; a residual over τ has one value less along each axis.
"""

from collections.abc import Mapping
from functools import lru_cache
from math import isfinite, prod

import numpy as np
from numpy.typing import ArrayLike

from residuum import kernels
from residuum.core import axis
from residuum.core.checks import Array, ascending, finite, real, sized, within
from residuum.core.domain import Clique
from residuum.core.workload import subsets
from residuum.errors import DomainError, ResiduumError


def decompose(mu: ArrayLike, gamma: Clique, tau: Clique) -> Array:
    """The residual over `tau` of a marginal over `gamma`.

    Paper: Alg. 1. `mu` has shape (n_i for i in γ), the result (n_i - 1 for i in τ).

    >>> decompose([[7, 5, 2], [3, 5, 11], [10, 2, 11], [9, 18, 17]], gamma=(0, 1), tau=(0,))
    array([ 5.,  9., 30.])
    """
    zeta = mu = real(mu, "mu")
    summed = _summed(mu.shape, ascending(gamma, "gamma"), ascending(tau, "tau"))
    if summed:
        with np.errstate(over="ignore", invalid="ignore"):
            zeta = np.asarray(mu.sum(axis=summed))
    zeta, witness = kernels.sub_all(zeta)
    if not isfinite(witness) or zeta.size == 0:
        _explain(mu, zeta, "mu")
    return zeta


def reconstruct(z: ArrayLike, tau: Clique, gamma: Clique, sizes: tuple[int, ...]) -> Array:
    """The part that a residual over `tau` has in the marginal over `gamma`, whose attributes have these sizes.

    Paper: Alg. 2. `z` has shape (n_i - 1 for i in τ), the result (n_i for i in γ).

    >>> reconstruct([5, 9, 30], tau=(0,), gamma=(0, 1), sizes=(4, 2))
    array([[-5.5, -5.5],
           [-3. , -3. ],
           [-1. , -1. ],
           [ 9.5,  9.5]])
    """
    z = real(z, "z")
    shape, expanded, smeared = _smeared(z.shape, ascending(tau, "tau"), *sized(gamma, sizes))
    component = kernels.center_all(z)
    if not isfinite(component.item(0)):  # this cell is the sum of all of z, up to a factor
        _explain(z, component, "z")
    if smeared == 1:
        return component.reshape(shape)
    component /= smeared
    out = np.empty(shape)
    out[...] = component.reshape(expanded)
    return out


def decompose_all(mu: ArrayLike, gamma: Clique) -> dict[Clique, Array]:
    """All residuals of a marginal, from ∅ to γ: one half of a bijection whose other half is `reconstruct_all`.

    Paper: Prop. 3.1. What two residuals have in common, the sums over the same attributes, is computed once.

    >>> decompose_all([[7, 5, 2], [3, 5, 11], [10, 2, 11], [9, 18, 17]], gamma=(0, 1))[(1,)]
    array([ 1., 12.])
    """
    mu = real(mu, "mu")
    finite(mu, "mu")
    gamma = _fitting(mu.shape, ascending(gamma, "gamma"))
    parts: dict[Clique, Array] = {(): mu if gamma else mu.copy()}
    for attribute in gamma:
        split: dict[Clique, Array] = {}
        for tau, part in parts.items():
            next_axis = len(tau)
            split[tau] = np.asarray(part.sum(axis=next_axis))
            split[(*tau, attribute)] = axis.subtract_first(part, next_axis)
        parts = split
    return {tau: parts[tau] for tau in subsets(gamma)}


def reconstruct_all(residuals: Mapping[Clique, ArrayLike], gamma: Clique, sizes: tuple[int, ...]) -> Array:
    """The marginal over `gamma`, whose attributes have these sizes, from its residuals; one that is absent is zero.

    Paper: Prop. 3.1, and Alg. 3, line 2. The result has shape `sizes`.

    >>> mu = [[7, 5, 2], [3, 5, 11], [10, 2, 11], [9, 18, 17]]
    >>> bool(np.allclose(reconstruct_all(decompose_all(mu, (0, 1)), (0, 1), (4, 3)), mu))
    True
    """
    gamma, sizes = sized(gamma, sizes)
    if not isinstance(residuals, Mapping):
        raise DomainError(f"Expected a mapping of cliques to residuals, got {type(residuals).__name__}.")
    parts: dict[Clique, Array | None] = dict.fromkeys(subsets(gamma))
    for clique, values in residuals.items():
        tau, z = ascending(clique, "tau"), real(values, f"residuals[{clique}]")
        finite(z, f"residuals[{clique}]")
        _smeared(z.shape, tau, gamma, sizes)
        parts[tau] = z
    for attribute, n in zip(reversed(gamma), reversed(sizes), strict=True):
        parts = {
            tau: _merge(part, parts[(*tau, attribute)], len(tau), n)
            for tau, part in parts.items()
            if attribute not in tau
        }
    mu = parts[()]
    if mu is None:
        return np.zeros(sizes)
    return mu if gamma else mu.copy()


def p(sizes: tuple[int, ...]) -> float:
    """What measuring a residual costs: with variance σ², p / (2 σ²) of the budget ρ. `sizes` are those of τ.

    Paper: Prop. 4.3, p_τ = Π_{i ∈ τ} (n_i - 1) / n_i.

    >>> p((4, 2))
    0.375
    """
    _, sizes = sized(range(len(sizes)), sizes)
    return prod((n - 1) / n for n in sizes)


def v(tau: Clique, gamma: Clique, sizes: tuple[int, ...]) -> float:
    """The variance that one cell of the marginal over `gamma` gets from a residual measured with variance 1.

    Paper: Prop. 4.4, v_τ = Π_{i ∈ τ} (n_i - 1) / n_i · Π_{j ∈ γ \\ τ} 1 / n_j². `sizes` are those of γ. The squared
    error of the whole marginal is n_γ times as large.

    >>> v(tau=(0,), gamma=(0, 1), sizes=(4, 2))
    0.1875
    """
    tau = ascending(tau, "tau")
    gamma, sizes = sized(gamma, sizes)
    within(tau, gamma)
    return prod((n - 1) / n if i in tau else 1 / n**2 for i, n in zip(gamma, sizes, strict=True))


def _merge(total: Array | None, difference: Array | None, position: int, n: int) -> Array | None:
    """Put an axis back: from the sums along it and the differences along it."""
    if difference is not None:
        return axis.join(total, difference, position)
    if total is None:
        return None
    return np.repeat(np.expand_dims(total / n, position), n, axis=position)


@lru_cache(maxsize=65536)
def _summed(shape: tuple[int, ...], gamma: Clique, tau: Clique) -> tuple[int, ...]:
    """The axes of γ that τ does not have."""
    within(tau, _fitting(shape, gamma))
    return tuple(position for position, i in enumerate(gamma) if i not in tau)


@lru_cache(maxsize=65536)
def _smeared(
    shape: tuple[int, ...], tau: Clique, gamma: Clique, sizes: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """The shape of γ, the same with 1 for the attributes that τ does not have, and the product of those."""
    within(tau, gamma)
    expected = tuple(n - 1 for i, n in zip(gamma, sizes, strict=True) if i in tau)
    if shape != expected:
        raise DomainError(f"Expected shape {expected} for the residual over {tau}, got {shape}.")
    expanded = tuple(n if i in tau else 1 for i, n in zip(gamma, sizes, strict=True))
    return sizes, expanded, prod(sizes) // prod(expanded)


def _fitting(shape: tuple[int, ...], gamma: Clique) -> Clique:
    if len(shape) != len(gamma):
        raise DomainError(f"Expected an axis for each attribute of {gamma}, got an array of shape {shape}.")
    if 0 in shape:
        raise DomainError(f"Expected at least one value along each axis, got an array of shape {shape}.")
    return gamma


def _explain(values: Array, result: Array, name: str) -> None:
    """Refuse values that are not finite, or too large for a finite result."""
    finite(values, name)
    if not np.isfinite(result).all():
        raise ResiduumError(f"The numbers in `{name}` are too large to add up. Use a coarser unit.")
