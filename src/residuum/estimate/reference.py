"""Reference models: what a residual is taken for while nobody has measured it.

The paper takes it as zero, which is the additive model with its negative cells. A reference is a `Mixture` instead: the
product of the single attributes, or latent classes that know the measured pairs too (`latent.py`).
"""

from typing import Literal, get_args

import numpy as np

from residuum import kernels
from residuum.core.checks import Array
from residuum.core.grem import Estimates
from residuum.errors import ResiduumError
from residuum.estimate.mixture import Mixture
from residuum.estimate.nonnegative import to_simplex

Reference = Literal["latent", "independent", "none"]


def check(reference: Reference) -> None:
    """Refuse a name that stands for no reference.

    >>> check("latent")
    """
    if reference not in get_args(Reference):
        raise ResiduumError(f"Expected the reference 'latent', 'independent' or 'none', got {reference!r}.")


def total_of(estimates: Estimates) -> float:
    """The noisy total, or 1 where noise has taken it below.

    >>> from residuum import Domain, NoisyMarginal, Workload
    >>> total_of(Estimates(Workload.all_kway(Domain({"sex": 2}), 1), [NoisyMarginal((0,), [20, 30], sigma2=1.0)]))
    50.0
    """
    return max(1.0, float(estimates.residual(())))


def single_shares(estimates: Estimates) -> Array:
    """The shares of all values of each attribute, in one row, non-negative: of shape (Σ n_i,).

    An attribute that nobody measured is spread evenly.

    >>> from residuum import Domain, NoisyMarginal, Workload
    >>> estimates = Estimates(Workload.all_kway(Domain({"sex": 2, "age": 4}), 1))
    >>> estimates.absorb(NoisyMarginal((0,), [20, 30], sigma2=1.0))[()].item()
    50.0
    >>> single_shares(estimates)
    array([0.4 , 0.6 , 0.25, 0.25, 0.25, 0.25])
    """
    total = total_of(estimates)
    parts = []
    for i, n in enumerate(estimates.workload.domain.sizes):
        part = np.full(n, 1 / n)
        if (i,) in estimates.workload:
            part += kernels.center_all(estimates.residual((i,))) / total
        parts.append(to_simplex(part, 1.0))
    return np.concatenate(parts)


def independent(estimates: Estimates) -> Mixture:
    """The product of the single attributes: a mixture of one class.

    >>> from residuum import Domain, NoisyMarginal, Workload
    >>> noisy = [NoisyMarginal((0,), [20, 30, 50], sigma2=1.0), NoisyMarginal((1,), [90, 10], sigma2=1.0)]
    >>> independent(Estimates(Workload.all_kway(Domain({"age": 3, "sex": 2}), 2), noisy)).marginal((0, 1)).round(3)
    array([[18.,  2.],
           [27.,  3.],
           [45.,  5.]])
    """
    shares = single_shares(estimates).astype(np.float32)
    sizes = estimates.workload.domain.sizes
    return Mixture(sizes, total_of(estimates), np.ones((1, 1), dtype=np.float32), shares[None, None, :])
