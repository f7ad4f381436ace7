"""What a run is asked to keep to."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, get_args

from residuum.core import zcdp
from residuum.core.neighbours import Neighbours, Relation
from residuum.errors import ResiduumError
from residuum.privacy.noise import Noise, SystemNoise
from residuum.privacy.simulator import Simulator
from residuum.release import Release

Sampler = Literal["exact", "opendp"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the caller agreed to: the budget per person, who counts as a neighbour, and where the noise comes from."""

    epsilon: float | None
    delta: float | None
    rho: float
    rows_per_person: int = 1
    neighbours: Relation = "add-remove"
    seed: int | None = None
    noise: Sampler = "exact"

    @classmethod
    def agree(
        cls, epsilon: float | None = None, delta: float | None = None, rho: float | None = None, **others: Any
    ) -> "Terms":
        """The terms, once they make sense."""
        terms = cls(epsilon, delta, zcdp.budget(epsilon, delta, rho), **others)
        zcdp.per_row(terms.rho, terms.rows_per_person)
        Neighbours(terms.neighbours)
        if terms.noise not in get_args(Sampler):
            raise ResiduumError(f"Expected noise 'exact' or 'opendp', got {terms.noise!r}.")
        if terms.seed is not None and terms.noise != "exact":
            raise ResiduumError(f"Noise of the kind {terms.noise!r} cannot be seeded. Leave out the seed.")
        return terms

    def source(self, prior: Release | None = None) -> Noise:
        """The noise: from the operating system, or from a simulator where there is a seed.

        What a prior release holds goes into the simulator's key, so that the same seed draws other noise upon it.
        """
        if self.seed is not None:
            inside = "".join(sorted(prior.lineage)) if prior else ""
            return Simulator(self.seed, int.from_bytes(sha256(inside.encode()).digest()[:8], "big") if prior else 0)
        if self.noise == "opendp":
            from residuum.privacy.opendp import OpenDPNoise

            return OpenDPNoise()
        return SystemNoise()
