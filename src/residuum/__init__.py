"""residuum: private statistics of wide tables.

The names below are the public ones. Importing them does no work and compiles nothing.
"""

from typing import TYPE_CHECKING, Any

from residuum.core.domain import Domain
from residuum.core.grem import Estimates, NoisyMarginal, NoisyResidual
from residuum.core.residuals import decompose, decompose_all, reconstruct, reconstruct_all
from residuum.core.workload import Workload
from residuum.data.table import Table
from residuum.errors import (
    BudgetExceeded,
    DomainError,
    ReleaseError,
    ResiduumError,
    SchemaError,
    SourceError,
    WorkloadError,
)
from residuum.mechanism.aim import aim
from residuum.mechanism.batch import residual_planner
from residuum.mechanism.resume import resume
from residuum.privacy.budget import BudgetFile
from residuum.release import Marginal, Release
from residuum.store import load, save

if TYPE_CHECKING:
    from residuum import spark
    from residuum.data.schema import Schema
    from residuum.data.sources import read

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
    "Schema",
    "SchemaError",
    "SourceError",
    "Table",
    "Workload",
    "WorkloadError",
    "aim",
    "decompose",
    "decompose_all",
    "load",
    "read",
    "reconstruct",
    "reconstruct_all",
    "residual_planner",
    "resume",
    "save",
    "spark",
]

_LATER = {"Schema": "residuum.data.schema", "read": "residuum.data.sources"}
"""Names whose modules bring in engines, and so are imported when first asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LATER and name != "spark":
        raise AttributeError(f"module 'residuum' has no attribute {name!r}")
    from importlib import import_module

    return import_module("residuum.spark") if name == "spark" else getattr(import_module(_LATER[name]), name)
