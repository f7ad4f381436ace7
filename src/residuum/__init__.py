"""residuum: private statistics of wide tables.

The names below are the public ones. Importing them does no work and compiles nothing.
"""

from residuum.core.domain import Domain
from residuum.core.grem import Estimates, NoisyMarginal, NoisyResidual
from residuum.core.residuals import decompose, decompose_all, reconstruct, reconstruct_all
from residuum.core.workload import Workload
from residuum.data.table import Table
from residuum.errors import BudgetExceeded, DomainError, ReleaseError, ResiduumError, WorkloadError
from residuum.mechanism.aim import aim
from residuum.mechanism.batch import residual_planner
from residuum.mechanism.resume import resume
from residuum.privacy.budget import BudgetFile
from residuum.release import Marginal, Release
from residuum.store import load, save

__all__ = [
    "BudgetExceeded",
    "BudgetFile",
    "Domain",
    "DomainError",
    "Estimates",
    "Marginal",
    "NoisyMarginal",
    "NoisyResidual",
    "Release",
    "ReleaseError",
    "ResiduumError",
    "Table",
    "Workload",
    "WorkloadError",
    "aim",
    "decompose",
    "decompose_all",
    "load",
    "reconstruct",
    "reconstruct_all",
    "residual_planner",
    "resume",
    "save",
]
