"""Error bars: how far an estimate may be from the truth.

For what was measured, the noise tells exactly: `noise_stderr`. For what a model adds, its members do: each was fitted
to the measurements with their noise drawn anew, from another start, so they lie apart by what the measurements leave
open. That spread is somewhat too small, as all members share the same assumptions; `_WIDER` was chosen by measuring
coverage on tables whose truth is known (`make bench-accuracy`). A table is a finite draw from any smooth model, so its
counts vary as Poisson's do; and they are whole numbers, hence the half.
"""

from math import sqrt

import numpy as np

from residuum.core.checks import Array
from residuum.core.domain import Clique
from residuum.core.grem import Estimates
from residuum.core.residuals import v
from residuum.core.workload import subsets
from residuum.estimate.mixture import Mixture

REACH = 1.959963984540054
"""How many standard errors a 95% interval reaches to either side, for the normal distribution."""

_WIDER = 1.25


def noise_stderr(estimates: Estimates, gamma: Clique) -> tuple[float, tuple[Clique, ...]]:
    """The standard error that the noise gives each cell of the most likely marginal, and what was never measured.

    Paper: Prop. 4.4. It is exact: the noise is normal, and all cells have the same.

    >>> from residuum import Domain, NoisyMarginal, Workload
    >>> estimates = Estimates(Workload.all_kway(Domain({"age": 3, "sex": 2}), 2), [NoisyMarginal((0,), [2, 3, 5], 4.0)])
    >>> noise_stderr(estimates, (0,)), noise_stderr(estimates, (0, 1))
    ((2.0, ()), (1.0, ((1,), (0, 1))))
    """
    sizes = estimates.workload.domain.shape(gamma)
    precisions = {tau: estimates.precision(tau) for tau in subsets(gamma)}
    variance = sum(v(tau, gamma, sizes) / precision for tau, precision in precisions.items() if precision > 0)
    return sqrt(variance), tuple(tau for tau, precision in precisions.items() if precision == 0)


def best_stderr(estimates: Estimates, model: Mixture, gamma: Clique, values: Array) -> Array | None:
    """The standard error of each cell of a marginal drawn towards a model: the smaller of what noise and model say.

    Where measurements keep a cell away from the model, that distance counts as an error of the model's. The noise says
    nothing of a marginal that lacks a component. `values` and the result have shape (n_i for i in γ).

    >>> from residuum import Domain, NoisyMarginal, Workload
    >>> estimates = Estimates(Workload.all_kway(Domain({"sex": 2}), 1), [NoisyMarginal((0,), [48, 53], sigma2=4.0)])
    >>> shares = np.array([[[0.5, 0.5]], [[0.3, 0.7]]], dtype=np.float32)
    >>> mixture = Mixture((2,), 100.0, np.ones((2, 1), dtype=np.float32), shares)
    >>> best_stderr(estimates, mixture, (0,), np.array([48.0, 53.0]))
    array([2., 2.])
    """
    modelled = model_stderr(model, gamma)
    if modelled is not None:
        modelled = np.hypot(modelled, values - model.marginal(gamma))
    noise, unmeasured = noise_stderr(estimates, gamma)
    if unmeasured:
        return modelled
    return np.full(model.shape(gamma), noise) if modelled is None else np.minimum(modelled, noise)


def model_stderr(model: Mixture, gamma: Clique) -> Array | None:
    """The standard error of each cell of a model's marginal, of shape (n_i for i in γ); None for a single member.

    >>> shares = np.array([[[0.5, 0.5]], [[0.3, 0.7]]], dtype=np.float32)
    >>> model_stderr(Mixture((2,), 10.0, np.ones((2, 1), dtype=np.float32), shares), (0,)).round(3)
    array([3.203, 3.524])
    """
    members = len(model.weights)
    if members < 2:
        return None
    variance = _WIDER**2 * (1 + 1 / members) * model.variance(gamma) + model.marginal(gamma)
    return np.sqrt(variance) + 0.5 / REACH
