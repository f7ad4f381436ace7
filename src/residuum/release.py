"""What leaves the curator for good: noisy residuals with their precisions, what they cost, and how they came about."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from math import inf, nextafter, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from residuum.core.domain import Domain
from residuum.core.grem import Estimates, NoisyResidual
from residuum.core.residuals import v
from residuum.core.workload import Workload, subsets
from residuum.core.zcdp import Spend
from residuum.errors import ReleaseError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_REACH = 1.959963984540054
"""How many standard errors a 95% interval reaches to either side, for the normal distribution."""


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
    labels: tuple[tuple[Hashable, ...] | None, ...] = field(repr=False)
    """What the values of each attribute are called, or None where they only have codes, 0, 1, 2 and so on."""

    def to_arrow(self) -> "pyarrow.Table":
        """A row per cell: a column per attribute, `value`, `noise_stderr`, and a 95% interval, `lower` to `upper`.

        There is no interval where a component is `unmeasured`: the noise alone would make it too narrow. Labels of one
        kind keep their type, and those of several kinds become text; None is an empty cell. Attributes keep their
        names: beside one called "value", the column of values is `value_`, and so for the others.

        >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),))
        >>> marginal.to_arrow().to_pydict()["sex"]
        ['f', 'm']
        """
        pa = _library("pyarrow", "residuum")
        codes = np.indices(self.values.shape).reshape(self.values.ndim, self.values.size)
        columns: dict[str, Any] = {
            name: _labelled(pa, labels, code)
            for name, labels, code in zip(self.attributes, self.labels, codes, strict=True)
        }
        value = self.values.reshape(-1)
        reach = _REACH * self.noise_stderr
        unknown = pa.nulls(value.size, pa.float64())
        for name, column in {
            "value": value,
            "noise_stderr": np.full(value.size, self.noise_stderr),
            "lower": unknown if self.unmeasured else value - reach,
            "upper": unknown if self.unmeasured else value + reach,
        }.items():
            while name in columns:
                name += "_"
            columns[name] = pa.array(column)
        return pa.table(columns)

    def to_pandas(self) -> "pandas.DataFrame":
        """The same as `to_arrow`, for pandas.

        >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),))
        >>> marginal.to_pandas().set_index("sex").loc["m", "value"].item()
        53.0
        """
        _library("pandas", "residuum[pandas]")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """The same as `to_arrow`, for Polars.

        >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),))
        >>> marginal.to_polars().shape
        (2, 5)
        """
        frame: Any = _library("polars", "residuum[polars]").from_arrow(self.to_arrow())
        return frame


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
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    """How the table was read, as plain entries, where that is known."""

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
        stderr, unmeasured = self.noise(gamma)
        order = [gamma.index(domain.clique(attribute)[0]) for attribute in asked]
        sizes = domain.shape(gamma)
        values = np.ascontiguousarray(self.estimates.marginal(gamma).transpose(order))
        return Marginal(
            tuple(domain.names[gamma[k]] for k in order),
            values.reshape([sizes[k] for k in order]),
            stderr,
            unmeasured,
            tuple(domain.labels[gamma[k]] for k in order),
        )

    def noise(self, attributes: Iterable[str | int] | str | int) -> tuple[float, tuple[tuple[str, ...], ...]]:
        """The `noise_stderr` of a marginal and its components that are `unmeasured`, without its values."""
        domain = self.domain
        gamma = domain.clique(attributes)
        if gamma not in self.workload:
            raise ReleaseError(
                f"The release holds no marginal over {', '.join(map(repr, domain.name(gamma)))}. "
                "Ask for attributes that one of the workload's cliques contains together."
            )
        sizes = domain.shape(gamma)
        precisions = {tau: self.estimates.precision(tau) for tau in subsets(gamma)}
        variance = sum(v(tau, gamma, sizes) / precision for tau, precision in precisions.items() if precision > 0)
        return sqrt(variance), tuple(domain.name(tau) for tau, precision in precisions.items() if not precision > 0)

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
        schema = self.schema if self.schema == other.schema else None
        return Release(merged, rho, self.spends + other.spends, provenance, self.lineage | other.lineage, schema)


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


def _library(name: str, requirement: str) -> Any:
    """A library that only those need who ask for its tables."""
    try:
        return import_module(name)
    except ImportError:
        raise ReleaseError(f"This needs {name}, which is not installed. Run: pip install '{requirement}'") from None


def _labelled(pa: Any, labels: Sequence[Any] | None, codes: NDArray[np.intp]) -> Any:
    """An Arrow column of labels, or of the codes where there are none."""
    if labels is None:
        return pa.array(codes)
    try:
        names = pa.array(labels)
    except (pa.ArrowException, OverflowError, TypeError):
        texts = [None if label is None else str(label) for label in labels]
        names = pa.array(texts if len(set(texts)) == len(texts) else [repr(label) for label in labels])
    return names.take(pa.array(codes))
