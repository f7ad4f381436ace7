"""The paper's matrices written out: what the in-axis operations must agree with on small domains. Paper: App. C."""

from functools import reduce

import numpy as np


def subtraction(n):
    return np.hstack([-np.ones((n - 1, 1)), np.eye(n - 1)])


def kron(factors):
    return reduce(np.kron, factors, np.ones((1, 1)))


def decomposition(gamma, tau, sizes):
    """T_{τ,γ}: from the γ-marginal to the τ-residual."""
    return kron(subtraction(n) if i in tau else np.ones((1, n)) for i, n in zip(gamma, sizes, strict=True))


def marginalization(gamma, sizes):
    """M_γ: from the data vector over all attributes to the γ-marginal."""
    return kron(np.eye(n) if i in gamma else np.ones((1, n)) for i, n in enumerate(sizes))


def residual_query(tau, sizes):
    """R_τ: from the data vector over all attributes to the τ-residual."""
    return decomposition(range(len(sizes)), tau, sizes)


def covariance(tau_sizes):
    """V_τ, the covariance of a residual measured with unit variance."""
    return kron(subtraction(n) @ subtraction(n).T for n in tau_sizes)
