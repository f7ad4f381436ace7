"""The rival of the in-axis operations: Kronecker products times a vector, by the shuffle algorithm.

Each step views the array as a matrix with one axis in front and multiplies that axis by its factor. The transposed
product puts the axis last, so that after a round every axis is back in place and nothing was ever copied to turn it.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]


@cache
def subtraction(n: int) -> Array:
    """The matrix S of one attribute: Decomp multiplies by it. Paper: App. C."""
    return np.hstack([-np.ones((n - 1, 1)), np.eye(n - 1)])


@cache
def pseudoinverse(n: int) -> Array:
    """Its pseudoinverse S⁺: Recon multiplies by it."""
    return np.vstack([np.zeros((1, n - 1)), np.eye(n - 1)]) - 1 / n


@cache
def _csr(n: int) -> sparse.csr_array:
    return sparse.csr_array(subtraction(n))


def decompose_dense(mu: Array) -> Array:
    """Decomp by one BLAS product per axis."""
    return _shuffle(mu, lambda x, n: x.T @ subtraction(n).T, mu.shape, -1)


def decompose_sparse(mu: Array) -> Array:
    """Decomp by one sparse product per axis: S has two entries in a row, but the result has to be turned."""
    return _shuffle(mu, lambda x, n: np.ascontiguousarray((_csr(n) @ x).T), mu.shape, -1)


def reconstruct_dense(z: Array) -> Array:
    """Recon by one BLAS product per axis."""
    return _shuffle(z, lambda x, n: x.T @ pseudoinverse(n).T, tuple(n + 1 for n in z.shape), 1)


def reconstruct_rank_one(z: Array) -> Array:
    """Recon with S⁺ as a sparse identity and a matrix of rank one."""

    def step(x: Array, n: int) -> Array:
        out = np.empty((x.shape[1], n))
        mean = x.sum(axis=0) / n
        out[:, 0] = -mean
        np.subtract(x.T, mean[:, None], out=out[:, 1:])
        return out

    return _shuffle(z, step, tuple(n + 1 for n in z.shape), 1)


DECOMPOSE: tuple[Callable[[Array], Array], ...] = (decompose_dense, decompose_sparse)
RECONSTRUCT: tuple[Callable[[Array], Array], ...] = (reconstruct_dense, reconstruct_rank_one)


def _shuffle(x: Array, step: Callable[[Array, int], Array], sizes: tuple[int, ...], change: int) -> Array:
    """Apply a step to each axis in turn; `sizes` are those of the marginal, `change` what an axis gains or loses."""
    shape = x.shape
    for n, length in zip(sizes, shape, strict=True):
        x = step(x.reshape(length, -1), n)
    return x.reshape([length + change for length in shape])
