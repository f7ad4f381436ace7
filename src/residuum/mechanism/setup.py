"""What every mechanism does before and after its own work."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from math import inf, nextafter
from typing import Any

from residuum.core import zcdp
from residuum.core.grem import Estimates
from residuum.core.workload import Workload
from residuum.errors import ReleaseError
from residuum.privacy.ledger import Ledger
from residuum.privacy.noise import SystemNoise
from residuum.privacy.simulator import Simulator
from residuum.release import Release, fingerprint


@dataclass(frozen=True, slots=True)
class Terms:
    """What the caller agreed to: the budget per person, how many rows a person may have, and a seed or none."""

    epsilon: float | None
    delta: float | None
    rho: float
    rows_per_person: int
    seed: int | None

    @classmethod
    def agree(
        cls,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        rows_per_person: int = 1,
        seed: int | None = None,
    ) -> "Terms":
        """The terms, once the budget makes sense."""
        budget = zcdp.budget(epsilon, delta, rho)
        zcdp.per_row(budget, rows_per_person)
        return cls(epsilon, delta, budget, rows_per_person, seed)

    def ledger(self) -> Ledger:
        """An account of the budget per row: a person with k rows loses at most k² times as much as one row."""
        return Ledger(zcdp.per_row(self.rho, self.rows_per_person))

    def noise(self, prior: Release | None = None) -> Simulator:
        """The source of noise: the operating system's, or a simulator where there is a seed.

        What a prior release holds goes into the simulator's key, so that the same seed draws other noise upon it.
        """
        if self.seed is None:
            return SystemNoise()
        inside = "".join(sorted(prior.lineage)) if prior else ""
        return Simulator(self.seed, salt=int.from_bytes(sha256(inside.encode()).digest()[:8], "big") if prior else 0)


def check_prior(prior: Release | None, workload: Workload, terms: Terms) -> Release | None:
    """The release to build upon, once it is clear that it fits."""
    if prior is None:
        return None
    if not isinstance(prior, Release):
        raise ReleaseError(f"Expected `prior` to be a Release, got {type(prior).__name__}.")
    if prior.domain != workload.domain or any(tau not in workload for tau in prior.workload.closure):
        raise ReleaseError("A prior release needs the same domain, and a workload that the new one covers.")
    if prior.provenance.get("rows_per_person") != terms.rows_per_person:
        raise ReleaseError("A prior release needs the same rows_per_person, or what it cost a person is not known.")
    return prior


def make_release(
    mechanism: str,
    terms: Terms,
    estimates: Estimates,
    ledger: Ledger,
    noise: Simulator,
    prior: Release | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Release:
    """Everything a run leaves behind. What a prior release cost and warned of is added to it."""
    caveats = dict.fromkeys([*(prior.provenance["caveats"] if prior else ()), noise.caveat])
    provenance = {
        "mechanism": mechanism,
        "software": f"residuum {version('residuum')}",
        **asdict(terms),
        **(parameters or {}),
        "unspent": ledger.remaining,
        "prior": prior.provenance if prior else None,
        "caveats": tuple(caveats),
    }
    return Release(
        estimates,
        nextafter(terms.rho + prior.rho, inf) if prior else terms.rho,
        (*(prior.spends if prior else ()), *ledger.spends),
        provenance,
        frozenset({fingerprint(estimates), noise.name}) | (prior.lineage if prior else frozenset()),
    )
