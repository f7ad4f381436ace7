"""What leaves the curator for good: noisy residuals with their precisions, what they cost, and how they came about."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from residuum.core.domain import Clique, Domain
from residuum.core.grem import Estimates, NoisyResidual
from residuum.core.workload import Workload
from residuum.core.zcdp import Spend
from residuum.errors import ReleaseError
from residuum.estimate import latent
from residuum.estimate.intervals import REACH, model_stderr, noise_stderr
from residuum.estimate.latent import Watch
from residuum.estimate.mixture import Mixture
from residuum.estimate.nonnegative import to_integers, to_simplex
from residuum.estimate.reference import total_of
from residuum.estimate.rows import decode, draw
from residuum.estimate.shrink import shrunk

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Estimate = Literal["best", "mle", "nonnegative", "latent"]


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """A released table of counts over some attributes."""

    attributes: tuple[str, ...]
    values: NDArray[np.float64]
    """Estimated counts, with one axis per attribute, in the order asked for."""
    noise_stderr: float
    """The standard error that the noise gives each cell of the most likely estimate, if nothing is done about it."""
    unmeasured: tuple[tuple[str, ...], ...]
    """The components that nobody measured."""
    labels: tuple[tuple[Hashable, ...] | None, ...] = field(repr=False)
    """What the values of each attribute are called, or None where they only have codes, 0, 1, 2 and so on."""
    estimate: Estimate = "mle"
    """Which estimate the values are."""
    stderr: NDArray[np.float64] | None = field(default=None, repr=False)
    """The standard error of each cell, with all that is uncertain; None where that is not known."""

    @property
    def lower(self) -> NDArray[np.float64] | None:
        """Where the 95% interval of each cell begins; None where its standard error is not known.

        >>> Marginal(("sex",), np.array([8.0, 53.0]), 1.0, (), (("f", "m"),), "mle", np.full(2, 5.0)).lower.round(1)
        array([-1.8, 43.2])
        """
        if self.stderr is None:
            return None
        lower = self.values - REACH * self.stderr
        return lower if self.estimate == "mle" else np.maximum(lower, 0.0)

    @property
    def upper(self) -> NDArray[np.float64] | None:
        """Where the 95% interval of each cell ends; None where its standard error is not known.

        >>> Marginal(("sex",), np.array([8.0, 53.0]), 1.0, (), (("f", "m"),), "mle", np.full(2, 5.0)).upper.round(1)
        array([17.8, 62.8])
        """
        return None if self.stderr is None else self.values + REACH * self.stderr

    def to_integers(self) -> NDArray[np.int64]:
        """Whole numbers from 0 near the values, which add up to the rounded total.

        >>> Marginal(("sex",), np.array([48.4, 53.3]), 1.0, (), (("f", "m"),)).to_integers()
        array([49, 53])
        """
        return to_integers(self.values)

    def to_arrow(self) -> "pyarrow.Table":
        """A row per cell: a column per attribute, `value`, `stderr`, and a 95% interval, `lower` to `upper`.

        The last three are empty where they are not known. Labels of one kind keep their type, and those of several
        kinds become text; None is an empty cell. Attributes keep their names: beside one called "value", the column of
        values is `value_`, and so for the others.

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
        for name, numbers in {
            "value": self.values,
            "stderr": self.stderr,
            "lower": self.lower,
            "upper": self.upper,
        }.items():
            while name in columns:
                name += "_"
            columns[name] = (
                pa.nulls(self.values.size, pa.float64()) if numbers is None else pa.array(numbers.reshape(-1))
            )
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


@dataclass(frozen=True, eq=False)
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
    kept_model: Callable[[], Mixture | None] | None = field(default=None, repr=False)
    """Where to look for a model that was fitted earlier."""

    @property
    def domain(self) -> Domain:
        """The attributes."""
        return self.estimates.workload.domain

    @property
    def workload(self) -> Workload:
        """The marginals that were asked for."""
        return self.estimates.workload

    def marginal(self, attributes: Iterable[str | int] | str | int, estimate: Estimate = "best") -> Marginal:
        """The estimate of a marginal over attributes of the closure, given by name or index, in any order.

        - "mle" is the most likely one under the noise alone: unbiased where all was measured, with exact intervals, and
          with negative cells. What was never measured is zero.
        - "nonnegative" is the nearest to that without negative cells.
        - "latent" is what latent classes predict: mixtures fitted to all measurements together.
        - "best" is measured residuals drawn towards the latent classes as far as their noise suggests, without negative
          cells: mostly the least error.

        The last two fit the latent classes when they are first asked for (`fit`), and their intervals account for what
        was not measured.
        """
        if estimate not in get_args(Estimate):
            names = ", ".join(map(repr, get_args(Estimate)))
            raise ReleaseError(f"Expected an estimate among {names}, got {estimate!r}.")
        asked: list[Any] = (
            list(attributes) if isinstance(attributes, Iterable) and not isinstance(attributes, str) else [attributes]
        )
        domain = self.domain
        gamma = domain.clique(asked)
        noise, unmeasured = self.noise(gamma)
        values, stderr = self._estimated(gamma, estimate)
        order = [gamma.index(domain.clique(attribute)[0]) for attribute in asked]
        return Marginal(
            tuple(domain.names[gamma[k]] for k in order),
            np.ascontiguousarray(values.transpose(order)).reshape([values.shape[k] for k in order]),
            noise,
            unmeasured,
            tuple(domain.labels[gamma[k]] for k in order),
            estimate,
            None if stderr is None else stderr.transpose(order),
        )

    def _estimated(self, gamma: Clique, estimate: Estimate) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """The values of a marginal, and their standard errors where these are known."""
        if estimate in ("mle", "nonnegative"):
            values = self.estimates.marginal(gamma)
            if estimate == "nonnegative":
                return to_simplex(values, total_of(self.estimates)), None
            noise, unmeasured = noise_stderr(self.estimates, gamma)
            return values, None if unmeasured else np.full(values.shape, noise)
        model = self.fit()
        if estimate == "latent":
            return model.marginal(gamma), model_stderr(model, gamma)
        return to_simplex(shrunk(self.estimates, model, gamma), model.total), model_stderr(model, gamma)

    def fit(self, watch: Watch | None = None) -> Mixture:
        """The latent classes of this release: fitted when first asked for, and kept. They cost no privacy.

        `watch` is told the share of the fit that is done. The outcome is the same each time: what is random about the
        fit is drawn with a seed made from the release.
        """
        if "_model" not in self.__dict__:
            seed = int.from_bytes(sha256("".join(sorted(self.lineage)).encode()).digest()[:8], "big")
            self.__dict__["_model"] = (self.kept_model and self.kept_model()) or latent.fit(
                self.estimates, seed=seed, watch=watch
            )
        return self.__dict__["_model"]

    def sample(self, n: int | None = None, *, seed: int | None = None) -> "pyarrow.Table":
        """Synthetic rows in the original labels and units, drawn from the latent classes; as many as the noisy total.

        Numbers are drawn evenly inside their bins. A seed makes the rows repeatable; they cost no privacy either way.
        """
        model = self.fit()
        rng = np.random.default_rng(seed)
        rows = round(model.total) if n is None else n
        return decode(draw(model, rows, rng), self.domain, rng)

    def noise(self, attributes: Iterable[str | int] | str | int) -> tuple[float, tuple[tuple[str, ...], ...]]:
        """The `noise_stderr` of a marginal and its components that are `unmeasured`, without its values."""
        domain = self.domain
        gamma = domain.clique(attributes)
        if gamma not in self.workload:
            raise ReleaseError(
                f"The release holds no marginal over {', '.join(map(repr, domain.name(gamma)))}. "
                "Ask for attributes that one of the workload's cliques contains together."
            )
        stderr, unmeasured = noise_stderr(self.estimates, gamma)
        return stderr, tuple(map(domain.name, unmeasured))

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
