"""AIM+PGM: AIM with Private-PGM, as the paper compares with it. Paper: section 5.1 and app. F.1; McKenna et al. (AIM).

Selection, annealing and budget are the paper's; mbi fits the graphical model to the noisy marginals. Noise is drawn in
floating point from a seed: a rival to be measured, not a mechanism to release with.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import fsum, pi, sqrt
from typing import Any

import jax  # pyright: ignore[reportMissingImports]
import mbi  # pyright: ignore[reportMissingImports]
import numpy as np
from mbi.junction_tree import (  # pyright: ignore[reportMissingImports]
    hypothetical_model_size,
    make_junction_tree,
)
from numpy.typing import NDArray

from bench.pgm import LAST_STEPS, STEPS
from bench.pgm.tree import JunctionTree
from residuum import Table, Workload
from residuum.core.domain import Clique
from residuum.data.counts import Counts

jax.config.update("jax_enable_x64", True)  # as private-pgm computes

_COMPILING = ("/jax/core/compile/jaxpr_to_mlir_module_duration", "/jax/core/compile/backend_compile_duration")
_compiled: list[float] = []
"""Seconds of every program that was compiled so far."""


def _note(event: str, duration_secs: float, **_: Any) -> None:
    if event in _COMPILING:
        _compiled.append(duration_secs)


jax.monitoring.register_event_duration_secs_listener(_note)

Answers = dict[Clique, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a run ended with."""

    tree: JunctionTree
    charges: tuple[float, ...]
    """The ρ of the single attributes together, and of each round; less than the budget where the time was up."""
    megabytes: float
    """The size of the last model."""
    seconds: dict[str, float]
    """Where the time went: fitting, choosing, and listing what may be chosen."""
    compiling: float
    """How many seconds of all were the compiler's."""

    @property
    def rounds(self) -> int:
        return len(self.charges) - 1


def aim_pgm(
    table: Table,
    workload: Workload,
    *,
    rho: float,
    megabytes: float,
    seed: int,
    most_seconds: float = float("inf"),
    steps: int = STEPS,
    last_steps: int = LAST_STEPS,
) -> Fitted:
    """Fit a graphical model of at most so many megabytes to marginals that AIM chooses and measures.

    After `most_seconds` no round is begun.
    """
    rng = np.random.default_rng(seed)
    counts = Counts(table, workload)
    truth: Answers = {gamma: counts.marginal(gamma) for gamma in workload.closure if gamma}
    weights = {gamma: workload.weight(gamma) for gamma in truth}
    clock, compiled = Clock(), len(_compiled)
    model = Model(workload.domain.sizes)
    rounds = 16 * len(workload.domain)
    sigma2, epsilon_select = rounds / (1.8 * rho), sqrt(0.8 * rho / rounds)
    singles = [gamma for gamma in truth if len(gamma) == 1]
    for gamma in singles:
        model.measure(truth[gamma], gamma, sigma2, rng)
    charges, last = [len(singles) / (2 * sigma2)], False
    with clock("fit"):
        model.fit(steps)
    while not last and clock.seconds < most_seconds:
        left = rho - fsum(charges)
        if left <= 2 * (1 / (2 * sigma2) + epsilon_select**2 / 8):
            sigma2, epsilon_select, last = 1 / (1.8 * left), sqrt(0.8 * left), True
        charges.append(1 / (2 * sigma2) + epsilon_select**2 / 8)
        with clock("filter"):
            candidates = [*model.small_enough(truth, megabytes * fsum(charges) / rho)]
        with clock("choose"):
            tree = model.tree()
            noise = {gamma: sqrt(2 / pi * sigma2) * truth[gamma].size for gamma in candidates}
            scores = [
                weights[gamma] * (np.abs(truth[gamma] - tree.marginal(gamma)).sum() - noise[gamma])
                for gamma in candidates
            ]
            sensitivity = max(weights[gamma] for gamma in candidates)
            exponents = epsilon_select / (2 * sensitivity) * np.array(scores)
            gamma = candidates[int(np.argmax(exponents + rng.gumbel(size=len(exponents))))]
        before = tree.marginal(gamma)
        model.measure(truth[gamma], gamma, sigma2, rng)
        with clock("fit"):
            model.fit(steps)
        if np.abs(model.measured(gamma) - before).sum() <= noise[gamma]:
            sigma2, epsilon_select = sigma2 / 4, 2 * epsilon_select
    with clock("fit"):
        model.fit(last_steps)
    return Fitted(model.tree(), tuple(charges), model.size(), clock.parts, fsum(_compiled[compiled:]))


class Model:
    """Noisy marginals, and the graphical model that mbi fits to them."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes = sizes
        self._domain = mbi.Domain(range(len(sizes)), sizes)
        self._measurements: list[Any] = []
        self._fitted: Any = None

    def measure(self, truth: NDArray[Any], gamma: Clique, sigma2: float, rng: np.random.Generator) -> None:
        """Add isotropic noise to a marginal."""
        noisy = truth + rng.normal(0.0, sqrt(sigma2), truth.shape)
        self._measurements.append(mbi.LinearMeasurement(noisy.reshape(-1), gamma, stddev=sqrt(sigma2)))

    def fit(self, steps: int) -> None:
        """Mirror descent, from where the last fit ended."""
        estimator = mbi.estimation.MirrorDescent()
        self._fitted = estimator.estimate(self._domain, self._measurements, iters=steps, warm_start=self._fitted)
        jax.block_until_ready(self._fitted.potentials)

    def measured(self, gamma: Clique) -> NDArray[np.float64]:
        """The model's marginal over a clique that was measured."""
        return np.asarray(self._fitted.project(gamma).values)

    def tree(self) -> JunctionTree:
        """The model in a form that answers any marginal."""
        potentials = {clique: np.asarray(self._fitted.potentials[clique].values) for clique in self._cliques}
        graph, _ = make_junction_tree(self._domain, self._cliques)
        return JunctionTree(graph, self.sizes, potentials, float(self._fitted.total))

    def small_enough(self, candidates: Answers, megabytes: float) -> Iterator[Clique]:
        """The candidates that are in the model already, and those that leave it below a size."""
        for gamma in candidates:
            inside = any({*gamma} <= {*clique} for clique in self._cliques)
            if inside or hypothetical_model_size(self._domain, [*self._cliques, gamma]) <= megabytes:
                yield gamma

    def size(self) -> float:
        """Megabytes of the junction tree."""
        return float(hypothetical_model_size(self._domain, self._cliques))

    @property
    def _cliques(self) -> list[Clique]:
        return list(self._fitted.potentials.cliques)


class Clock:
    """Seconds since it was made, and those of named parts."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self.parts: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        begun = self.seconds
        yield
        self.parts[name] = self.parts.get(name, 0.0) + self.seconds - begun
