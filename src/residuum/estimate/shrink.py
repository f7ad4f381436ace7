"""Shrinkage: measured residuals are drawn towards a reference as far as their noise suggests.

The positive-part estimator of James and Stein. The noise of a residual z over τ is N(0, σ² V_τ), so its distance from
a reference r has the norm ‖z - r‖²_V / σ² = λ ‖centre(z - r)‖², in which the noise alone comes to m = Π (n_i - 1).
Of the difference, the share max(0, 1 - (m - 2) / that) is kept.
"""

import numpy as np

from residuum import kernels
from residuum.core.checks import Array
from residuum.core.domain import Clique
from residuum.core.grem import Estimates
from residuum.core.residuals import decompose_all
from residuum.core.workload import subsets
from residuum.estimate.mixture import Mixture


def kept_share(difference: Array, precision: float) -> float:
    """How much of the difference between a measured residual and its reference is taken for real.

    `difference` has shape (n_i - 1 for i in τ). With one or two numbers, nothing is better than all of it.

    >>> kept_share(np.array([3.0, 4.0, 5.0]), precision=0.01), kept_share(np.array([3.0, 4.0, 5.0]), precision=100.0)
    (0.0, 0.9992857142857143)
    """
    if difference.size <= 2:
        return 1.0
    distance = precision * float(np.square(kernels.center_all(difference)).sum())
    return max(0.0, 1 - (difference.size - 2) / distance) if distance > 0 else 0.0


def shrunk(estimates: Estimates, reference: Mixture, gamma: Clique) -> Array:
    """A marginal whose measured residuals are drawn towards the reference, and whose others are the reference's.

    The result has shape (n_i for i in γ); it may have negative cells. The total is the measured one.

    >>> from residuum import Domain, NoisyMarginal, Workload
    >>> from residuum.estimate.reference import independent
    >>> workload = Workload.all_kway(Domain({"age": 3, "sex": 2}), 2)
    >>> singles = [NoisyMarginal((0,), [20, 30, 50], sigma2=1.0), NoisyMarginal((1,), [90, 10], sigma2=1.0)]
    >>> estimates = Estimates(workload, singles)
    >>> shrunk(estimates, independent(estimates), (0, 1)).round(3)
    array([[18.,  2.],
           [27.,  3.],
           [45.,  5.]])
    """
    marginal = reference.marginal(gamma)
    assumed = decompose_all(marginal, gamma)
    for tau in subsets(gamma):
        precision = estimates.precision(tau)
        if precision == 0:
            continue
        difference = np.asarray(estimates.residual(tau) - assumed[tau])
        share = kept_share(difference, precision)
        if share > 0:
            kernels.add_component(marginal, kernels.center_all(share * difference), tuple(map(gamma.index, tau)))
    return marginal
