"""What leaves the curator for good: noisy residuals with their precisions, what they cost, and how they came about."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from residuum.core.checks import whole
from residuum.core.domain import Clique, Domain
from residuum.core.grem import Estimates, NoisyResidual
from residuum.core.workload import Workload
from residuum.core.zcdp import Spend
from residuum.display import Bar
from residuum.errors import ReleaseError
from residuum.estimate import latent
from residuum.estimate.intervals import best_stderr, model_stderr, noise_stderr
from residuum.estimate.mixture import Mixture
from residuum.estimate.nonnegative import to_simplex
from residuum.estimate.reference import total_of
from residuum.estimate.rows import batches
from residuum.estimate.shrink import shrunk
from residuum.marginal import Estimate, Marginal

if TYPE_CHECKING:
    import pyarrow


class Shelf(Protocol):
    """Where the latent classes of a release are kept once they are fitted, because that takes a while."""

    def take(self) -> Mixture | None:
        """Those that were put there, if any."""

    def put(self, model: Mixture) -> None:
        """Keep these."""


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
    shelf: Shelf | None = field(default=None, repr=False)
    """Where its latent classes are kept, beside memory."""

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
        values = to_simplex(shrunk(self.estimates, model, gamma), model.total)
        return values, best_stderr(self.estimates, model, gamma, values)

    def fit(self, progress: bool | Callable[[float], None] | None = None) -> Mixture:
        """The latent classes of this release: fitted when first asked for, and kept. They cost no privacy.

        The outcome is the same each time: what is random about it follows from the release. `progress` shows how far it
        is, as in `residuum.aim`; a function is told the share that is done.

        >>> from residuum import NoisyMarginal
        >>> estimates = Estimates(Workload.all_kway(Domain({"sex": 2}), 1), [NoisyMarginal((0,), [48, 53], sigma2=1.0)])
        >>> release = Release(estimates, 0.5, (), {"caveats": ()}, frozenset())
        >>> release.fit() is release.fit()
        True
        """
        if self.fitted is None:
            self.__dict__["_model"] = self._fitted(progress)
            if self.shelf:
                self.shelf.put(self.__dict__["_model"])
        return self.__dict__["_model"]

    @property
    def fitted(self) -> Mixture | None:
        """The latent classes, if they were fitted before.

        >>> estimates = Estimates(Workload.all_kway(Domain({"sex": 2}), 1))
        >>> Release(estimates, 0.5, (), {"caveats": ()}, frozenset()).fitted
        """
        if "_model" not in self.__dict__ and self.shelf and (model := self.shelf.take()):
            self.__dict__["_model"] = model
        return self.__dict__.get("_model")

    def _fitted(self, progress: bool | Callable[[float], None] | None) -> Mixture:
        seed = int.from_bytes(sha256("".join(sorted(self.lineage)).encode()).digest()[:8], "big")
        if callable(progress):
            return latent.fit(self.estimates, seed=seed, watch=progress)
        with Bar("Latent classes", progress) as bar:
            return latent.fit(self.estimates, seed=seed, watch=lambda share: bar.tell(share, "fitted"))

    def sample(self, n: int | None = None, *, seed: int | None = None) -> "pyarrow.Table":
        """Synthetic rows in the original labels and units, drawn from the latent classes; as many as the noisy total.

        Numbers are drawn evenly inside their bins. A seed makes the rows repeatable; they cost no privacy either way.

        >>> from residuum import NoisyMarginal
        >>> domain = Domain({"sex": ["f", "m"]})
        >>> estimates = Estimates(Workload.all_kway(domain, 1), [NoisyMarginal((0,), [30, 70], sigma2=1.0)])
        >>> rows = Release(estimates, 0.5, (), {"caveats": ()}, frozenset()).sample(1000, seed=0)
        >>> round(rows.to_pydict()["sex"].count("f"), -2)
        300
        """
        import pyarrow as pa

        return pa.concat_tables(self.sample_batches(n, seed=seed))

    def sample_batches(self, n: int | None = None, *, seed: int | None = None) -> "Iterator[pyarrow.Table]":
        """The rows of `sample`, about a million at a time, so that any number of them can be written to a file.

        >>> estimates = Estimates(Workload.all_kway(Domain({"sex": 2}), 1))
        >>> batches = Release(estimates, 0.5, (), {"caveats": ()}, frozenset()).sample_batches(3_000_000, seed=0)
        >>> [table.num_rows for table in batches]
        [1048576, 1048576, 902848]
        """
        if seed is not None and not (whole(seed) and seed >= 0):
            raise ReleaseError(f"Expected a seed to be a whole number from 0, got {seed!r}.")
        model = self.fit()
        rows = round(model.total) if n is None else n
        return batches(model, self.domain, rows, np.random.default_rng(seed))

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
