"""What every mechanism does before and after its own work."""

from collections.abc import Mapping
from importlib.metadata import version
from math import inf, nextafter
from typing import Any

from residuum.core.grem import Estimates
from residuum.core.workload import Workload
from residuum.errors import ReleaseError
from residuum.privacy.ledger import Ledger
from residuum.privacy.noise import SystemNoise
from residuum.privacy.simulator import Simulator
from residuum.release import Release, fingerprint


def make_noise(seed: int | None) -> Simulator:
    """The source of noise: the operating system's, or a simulator where a seed is given."""
    return SystemNoise() if seed is None else Simulator(seed)


def check_prior(prior: Release | None, workload: Workload) -> Release | None:
    """The release to build upon, once it is clear that it fits."""
    if prior is not None and (
        prior.domain != workload.domain or any(tau not in workload for tau in prior.workload.closure)
    ):
        raise ReleaseError("A prior release needs the same domain, and a workload that the new one covers.")
    return prior


def make_release(
    mechanism: str,
    estimates: Estimates,
    ledger: Ledger,
    noise: Simulator,
    prior: Release | None,
    parameters: Mapping[str, Any],
) -> Release:
    """Everything a run leaves behind. What a prior release cost and warned of is added to it."""
    caveats = dict.fromkeys([*(prior.provenance["caveats"] if prior else ()), noise.caveat])
    provenance = {
        "mechanism": mechanism,
        "software": f"residuum {version('residuum')}",
        "budget": ledger.rho,
        "unspent": ledger.remaining,
        **parameters,
        "caveats": tuple(caveats),
    }
    return Release(
        estimates,
        nextafter(ledger.spent + prior.rho, inf) if prior else ledger.spent,
        (*(prior.spends if prior else ()), *ledger.spends),
        provenance,
        frozenset({fingerprint(estimates)}) | (prior.lineage if prior else frozenset()),
    )
