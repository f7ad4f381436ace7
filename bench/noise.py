"""Exact noise against OpenDP's sampler, and a private run against a seeded and a journaled one, in the same run.

`make bench-noise` prints what it measured.
"""

import sys
import time

from rich.console import Console
from rich.table import Table

from bench.job import measured
from residuum.privacy.noise import Noise, SystemNoise
from residuum.privacy.opendp import OpenDPNoise

console = Console(width=120)


def sampler() -> None:
    """Draws a second on one core, over σ."""
    table = Table(title="Discrete Gaussian, million draws a second on one core", title_justify="left")
    for column in ("σ", "residuum, one array", "residuum, arrays of 12", "OpenDP, one array", "ratio"):
        table.add_column(column, justify="right")
    ours, theirs = SystemNoise(), OpenDPNoise()
    for sigma in (0.5, 1.0, 1.001, 1.5, 2.001, 10.0, 1e3, 1e6, 1e9, 1e13):
        large, small, rival = (
            _rate(ours, sigma, 1_000_000),
            _rate(ours, sigma, 12, times=20_000),
            _rate(theirs, sigma, 20_000),
        )
        table.add_row(f"{sigma:g}", f"{large:.1f}", f"{small:.2f}", f"{rival:.3f}", f"{large / rival:.0f}")
    console.print(table)


def runs() -> None:
    """AIM+GReM on the ACS-shaped table, ε = 10: seeded, private, and private with a journal and a budget file."""
    table = Table(title="ACS-shaped, all 3-way marginals, ε = 10", title_justify="left")
    for column in ("run", "seconds", "rounds", "ratio to seeded"):
        table.add_column(column, justify="right" if column != "run" else "left")
    task = {"table": "acs-shaped", "mechanism": "aim", "epsilon": 10.0}
    kinds = {"seeded": {}, "private": {"seed": None}, "private, on disk": {"seed": None, "on disk": True}}
    results = {kind: [measured(**task, **more) for _ in range(2)] for kind, more in kinds.items()}
    best = {kind: min(runs, key=lambda run: run["seconds"]) for kind, runs in results.items()}
    for kind, run in best.items():
        ratio = run["seconds"] / best["seeded"]["seconds"]
        table.add_row(kind, f"{run['seconds']:.2f}", str(run["rounds"]), f"{ratio:.2f}")
    console.print(table)
    console.print("The better of two runs each. A seeded run makes its noise as a private one does, from other words.")


def _rate(noise: Noise, sigma: float, size: int, times: int = 3) -> float:
    """Million draws a second."""
    noise.gaussian((size,), sigma**2)
    started = time.perf_counter()
    for _ in range(times):
        noise.gaussian((size,), sigma**2)
    return times * size / (time.perf_counter() - started) / 1e6


PARTS = {"sampler": sampler, "runs": runs}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
        console.print()
