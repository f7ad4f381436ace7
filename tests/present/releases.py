"""A release to look at, with labels that would like to be more than text."""

from pathlib import Path

import numpy as np

from residuum import Domain, Estimates, NoisyMarginal, Release, Workload
from residuum.core.zcdp import Spend, rho_of
from residuum.release import fingerprint
from residuum.store import save

SCRIPT = "<script>document.title='run'</script>"
IMAGE = "<img src=x onerror=\"document.title='run'\">"
"""Texts that a page must show and not obey."""

AGES = ("18-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75+")
DOMAIN = Domain(
    {"age": AGES, "sex": ["female", "male"], IMAGE: [SCRIPT, "b & c", None, ""], "pet": ["cat", "dog"], "code": 40}
)
CLIQUES = (("age", "sex", IMAGE), ("age", "pet"), ("code", "age", "sex"))
"""No marginal has both a sex and a pet."""


def made(*, seeded: bool = False, **said: object) -> Release:
    """Measured are all components of the first two marginals, and single codes."""
    rng = np.random.default_rng(0)
    workload = Workload(DOMAIN, CLIQUES)
    measured = []
    for clique in (*CLIQUES[:2], ("code",)):
        gamma = DOMAIN.clique(clique)
        shape = DOMAIN.shape(gamma)
        measured.append(NoisyMarginal(gamma, 14_000 * rng.dirichlet(np.ones(np.prod(shape))).reshape(shape), 25.0))
    estimates = Estimates(workload, measured)
    rho = rho_of(1.0, 1e-9)
    spends = [Spend("gaussian", (0,), 2**94, rho)]
    spends += [Spend("exponential", (), 2**92, rho), Spend("gaussian", (0, 1), 2**93, rho)] * 3
    provenance = {
        "mechanism": "by hand",
        "software": "residuum 0",
        "epsilon": 1.0,
        "delta": 1e-9,
        "rho": rho,
        "rows_per_person": 2,
        "neighbours": "add-remove",
        "caveats": ("not private: seeded",) if seeded else (),
        **said,
    }
    return Release(estimates, rho, tuple(spends), provenance, frozenset({fingerprint(estimates)}))


def folder(place: Path, *, seeded: bool = False, fitted: bool = True) -> Path:
    """The same in a folder."""
    release = made(seeded=seeded)
    if fitted:
        release.fit()
    save(release, place / "people")
    return place / "people"
