"""What leaves the curator for good: noisy residuals with their precisions, what they cost, and how they came about."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf, nextafter, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residuum.core.domain import Domain
from residuum.core.grem import Estimates, NoisyResidual
from residuum.core.residuals import v
from residuum.core.workload import Workload, subsets
from residuum.core.zcdp import Spend
from residuum.errors import ReleaseError


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """A released table of counts over some attributes."""

    attributes: tuple[str, ...]
    values: NDArray[np.float64]
    """Estimated counts, with one axis per attribute, in the order asked for. They may be negative."""
    noise_stderr: float
    """The standard error that the noise gives each cell. It says nothing about components in `unmeasured`."""
    unmeasured: tuple[tuple[str, ...], ...]
    """The components that nobody measured: they are taken as zero, and how far off that is, the noise does not tell."""


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """The outcome of a private run: any marginal of the workload's closure, on demand.

    All of it is noisy and paid for: unless its caveats say otherwise, it needs no protection.
    """

    estimates: Estimates
    rho: float
    """The budget of all runs inside, in zero-concentrated differential privacy, per person."""
    spends: tuple[Spend, ...] = field(repr=False)
    """Every charge, per row."""
    provenance: Mapping[str, Any]
    """Mechanism, parameters, number of rounds, caveats."""
    lineage: frozenset[str] = field(repr=False)
    """Fingerprints of the runs whose measurements are inside, so that none is counted twice."""

    @property
    def domain(self) -> Domain:
        """The attributes."""
        return self.estimates.workload.domain

    @property
    def workload(self) -> Workload:
        """The marginals that were asked for."""
        return self.estimates.workload

    def marginal(self, attributes: Iterable[str | int] | str | int) -> Marginal:
        """The estimate of a marginal over attributes of the closure, given by name or index, in any order."""
        asked: list[Any] = (
            list(attributes) if isinstance(attributes, Iterable) and not isinstance(attributes, str) else [attributes]
        )
        domain = self.domain
        gamma = domain.clique(asked)
        if gamma not in self.workload:
            raise ReleaseError(
                f"The release holds no marginal over {', '.join(map(repr, domain.name(gamma)))}. "
                "Ask for attributes that one of the workload's cliques contains together."
            )
        order = [gamma.index(domain.clique(attribute)[0]) for attribute in asked]
        sizes = domain.shape(gamma)
        variance, unmeasured = 0.0, []
        for tau in subsets(gamma):
            precision = self.estimates.precision(tau)
            if precision > 0:
                variance += v(tau, gamma, sizes) / precision
            else:
                unmeasured.append(domain.name(tau))
        values = np.ascontiguousarray(self.estimates.marginal(gamma).transpose(order))
        names = tuple(domain.names[gamma[position]] for position in order)
        return Marginal(names, values.reshape([sizes[k] for k in order]), sqrt(variance), tuple(unmeasured))

    def combine(self, other: "Release") -> "Release":
        """One release from two of the same table and workload: every residual averaged by precision.

        What both cost is added up. Two releases that share a run, because one is the other's prior, cannot be combined.
        """
        if self.domain != other.domain or dict(self.workload.weights) != dict(other.workload.weights):
            raise ReleaseError("Only releases with the same domain and the same workload can be combined.")
        if self.lineage & other.lineage:
            raise ReleaseError("These releases share measurements or a seed, and would count the same noise twice.")
        if self.provenance.get("rows_per_person") != other.provenance.get("rows_per_person"):
            raise ReleaseError("Only releases with the same rows_per_person can be combined.")
        merged = Estimates(self.workload, [*measurements(self.estimates), *measurements(other.estimates)])
        caveats = dict.fromkeys([*self.provenance["caveats"], *other.provenance["caveats"]])
        provenance = {
            "mechanism": "combined",
            "rows_per_person": self.provenance.get("rows_per_person"),
            "parts": (self.provenance, other.provenance),
            "caveats": tuple(caveats),
        }
        rho = nextafter(self.rho + other.rho, inf)
        return Release(merged, rho, self.spends + other.spends, provenance, self.lineage | other.lineage)


def measurements(estimates: Estimates) -> list[NoisyResidual]:
    """All that is known, as one measurement per residual: enough to build the same estimates again."""
    return [
        NoisyResidual(tau, estimates.residual(tau), 1 / estimates.precision(tau))
        for tau in estimates.workload.closure
        if estimates.precision(tau) > 0
    ]


def fingerprint(estimates: Estimates) -> str:
    """A short name for a run that tells it from every other."""
    digest = sha256()
    for tau in estimates.workload.closure:
        if estimates.precision(tau) > 0:
            digest.update(repr((tau, estimates.precision(tau))).encode())
            digest.update(estimates.residual(tau).tobytes())
    return digest.hexdigest()[:16]
