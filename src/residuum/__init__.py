"""residuum: private statistics of wide tables.

The names below are the public ones. Importing them does no work and compiles nothing.
"""

from residuum.core.domain import Domain
from residuum.core.grem import Estimates, NoisyMarginal, NoisyResidual
from residuum.core.residuals import decompose, decompose_all, reconstruct, reconstruct_all
from residuum.core.workload import Workload
from residuum.errors import DomainError, ResiduumError, WorkloadError

__all__ = [
    "Domain",
    "DomainError",
    "Estimates",
    "NoisyMarginal",
    "NoisyResidual",
    "ResiduumError",
    "Workload",
    "WorkloadError",
    "decompose",
    "decompose_all",
    "reconstruct",
    "reconstruct_all",
]
