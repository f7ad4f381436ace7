"""How measurements are shown, and the terms that all parts share."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, stdev
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from bench import data
from bench.job import DELTA
from residuum import Table as People

EPSILONS = (0.1, 1.0, 10.0)
SEEDS = range(5)
BUDGET = f"δ = {DELTA:g}"

console = Console(width=132)

T = TypeVar("T")


def table(title: str, *columns: str) -> Table:
    """An empty table: what is measured on the left, figures on the right."""
    made = Table(title=title, title_justify="left")
    for position, column in enumerate(columns):
        made.add_column(column, justify="right" if position else "left")
    return made


def spread(values: Sequence[float], digits: int = 4) -> str:
    """The mean of some runs, and their standard deviation."""
    mean = f"{fmean(values):.{digits}f}"
    return f"{mean} ± {stdev(values):.{digits}f}" if len(values) > 1 else mean


def verdict(what: str, seen: float, limit: float, unit: str = "") -> str:
    """Whether a figure is at or below its target."""
    missed = f"missed by {seen / limit - 1:.1%}"
    return f"{what}: {seen:.4g}{unit} for at most {limit:.4g}{unit}: {'met' if seen <= limit else missed}"


def steps(what: str, items: Iterable[T]) -> Iterator[T]:
    """The items, one after the other, with a line on standard error for each."""
    every = list(items)
    started = time.perf_counter()
    for number, item in enumerate(every):
        print(f"{what}: {number} of {len(every)} after {time.perf_counter() - started:.0f} s, now {_named(item)}",
              file=sys.stderr, flush=True)  # fmt: skip
        yield item
    print(f"{what}: all {len(every)} in {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)


def available(names: Iterable[str]) -> dict[str, People]:
    """The tables that are at hand; of others it says why not."""
    found = {}
    for name in names:
        try:
            found[name] = data.load(name)
        except (FileNotFoundError, ImportError) as reason:
            console.print(f"Left out {name}: {reason}")
    return found


def _named(item: Any) -> str:
    parts = item if isinstance(item, tuple) else (item,)
    return ", ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in parts)
