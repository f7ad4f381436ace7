"""Time Decomp and Recon against the shuffle algorithm, and against copying the array. Paper: Fig. 3.

Both are timed twice: compiled, as the package does them, and axis by axis in plain NumPy, as the paper writes them.

Run with `make bench-algebra`. Every figure is the best of several runs in a row.
"""

import time
from collections.abc import Callable
from functools import partial, reduce
from math import prod
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench import kronecker
from residuum import decompose, reconstruct
from residuum.core.axis import join, subtract_first

Array = NDArray[np.float64]

SETTINGS = {
    "n = 16, degree 2 to 7": [(16,) * degree for degree in range(2, 8)],
    "degree 3, n = 2 to 256": [(n,) * 3 for n in (2, 4, 8, 16, 32, 64, 128, 256)],
}
SPEEDUP, SLACK, FLOOR = 4.0, 20e-6, 4.0
"""The targets: mean speed-up over the shuffle algorithm, seconds it may be slower, times the copy above 1 MB."""


def main() -> None:
    console = Console(width=152)
    for title, shapes in SETTINGS.items():
        rows = [measure(shape) for shape in shapes]
        console.print(_table(title, rows))
        for operation in ("decompose", "reconstruct"):
            console.print(_verdict(operation, rows))
        console.print()


def decompose_plain(mu: Array) -> Array:
    """Decomp in the paper's words: `sub` along one axis after the other."""
    return reduce(subtract_first, range(mu.ndim), mu)


def reconstruct_plain(zeta: Array) -> Array:
    """Recon in the paper's words: `center` along one axis after the other."""
    return reduce(lambda z, axis: join(None, z, axis), range(zeta.ndim), zeta)


def measure(shape: tuple[int, ...]) -> dict:
    """Seconds for one shape: copying, and for each operation residuum's, plain NumPy's and the fastest rival's."""
    gamma = tuple(range(len(shape)))
    mu = np.random.default_rng(0).random(shape)
    zeta = decompose(mu, gamma, gamma)
    ways = {
        "decompose": (partial(decompose, gamma=gamma, tau=gamma), decompose_plain, kronecker.DECOMPOSE, mu),
        "reconstruct": (
            partial(reconstruct, tau=gamma, gamma=gamma, sizes=shape),
            reconstruct_plain,
            kronecker.RECONSTRUCT,
            zeta,
        ),
    }
    row = {"shape": shape, "bytes": mu.nbytes, "copy": _best(mu.copy)}
    for operation, (own, plain, rivals, array) in ways.items():
        row[operation] = _best(partial(own, array))
        row[f"{operation} plain"] = _best(partial(plain, array))
        row[f"{operation} rival"] = min(_best(partial(rival, array)) for rival in rivals)
    return row


def _best(call: Callable[[], object]) -> float:
    """The shortest time of a call, out of a second's worth of them and at least three."""
    times: list[float] = []
    while len(times) < 3 or (sum(times) < 1.0 and len(times) < 1000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _table(title: str, rows: list[dict]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("shape", "MB", "copy ms"):
        table.add_column(column, justify="right")
    for operation in ("Decomp", "Recon"):
        for column in (f"{operation} ms", "NumPy ms", "shuffle ms", "speed-up", "× copy"):
            table.add_column(column, justify="right")
    for row in rows:
        cells = [f"{row['shape'][0]}^{len(row['shape'])}", f"{row['bytes'] / 1e6:.3f}", f"{row['copy'] * 1e3:.4f}"]
        for operation in ("decompose", "reconstruct"):
            own, plain, rival = (row[f"{operation}{which}"] for which in ("", " plain", " rival"))
            cells += [f"{seconds * 1e3:.4f}" for seconds in (own, plain, rival)]
            cells += [f"{rival / own:.2f}", f"{own / row['copy']:.2f}"]
        table.add_row(*cells)
    return table


def _verdict(operation: str, rows: list[dict]) -> str:
    """What was reached of each target, in one line."""
    ratios = [row[f"{operation} rival"] / row[operation] for row in rows]
    slower = max(row[operation] - row[f"{operation} rival"] for row in rows)
    large = [row[operation] / row["copy"] for row in rows if prod(row["shape"]) * 8 > 1e6]
    return (
        f"{operation}: mean speed-up {fmean(ratios):.2f} (target {SPEEDUP:g}); "
        f"at most {slower * 1e6:.1f} µs slower than shuffle (target {SLACK * 1e6:g}); "
        f"above 1 MB at most {max(large):.2f} × copy (target {FLOOR:g})"
    )


if __name__ == "__main__":
    main()
