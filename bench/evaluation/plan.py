"""What is measured: the tasks of each experiment, few of them for a quick look and many for the whole evaluation."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from bench import algebra, data
from bench.methods import DEFAULT, PAPER, PLANNER, Task, graphical, task

STRATEGIES = (("lazy", "crp"), ("lazy", "iid"), ("full", "iid"))
"""How the paper's ablation reconstructs, and how it allocates."""

FAST = (PAPER, DEFAULT, PLANNER)
CAP = 1800.0
"""AIM+PGM begins no round after so many seconds."""

GROWN: Task = {"table": "tree", "sizes": [6] * 12, "rows": 100_000, "epsilon": 1.0, "sample": 10}
"""What grows, in one of its numbers."""


def plan(full: bool) -> dict[str, list[Task]]:
    """The tasks by experiment, quick ones first. Those of a quick look are part of all."""
    experiments = {
        "data": data_sets(),
        "algebra": in_axis(full),
        "growth": growth(full),
        "ablation": ablation(full),
        "trade-off": trade_off(full),
        "model size": model_size(full),
        "wide rival": wide_rival() if full else (),
    }
    return {name: [*tasks] for name, tasks in experiments.items()}


def data_sets() -> Iterator[Task]:
    """What the tables are."""
    for name in data.PAPER:
        yield {"mechanism": "none", "table": data.at_hand(name)}


def in_axis(full: bool) -> Iterator[Task]:
    """Decomp and Recon against Kronecker products. Paper: Fig. 3 and 5."""
    asked = [shape for shapes in algebra.SETTINGS.values() for shape in (shapes if full else shapes[:-2])]
    for shape in dict.fromkeys(asked):
        yield {"mechanism": "in-axis", "shape": list(shape)}


def growth(full: bool) -> Iterator[Task]:
    """One thing growing at a time. Not in the paper."""
    rows = (10_000, 100_000, 1_000_000, 10_000_000) if full else (10_000, 100_000, 1_000_000)
    attributes = (8, 12, 16, 24, 32, 48, 64) if full else (8, 12, 16, 24)
    values = (4, 6, 8, 16, 32, 64) if full else (4, 6, 8, 16)
    changes = [{"rows": n} for n in rows]
    changes += [{"sizes": [6] * d} for d in attributes]
    changes += [{"sizes": [n] * 12} for n in values]
    for method in FAST:
        yield from (task(method, **GROWN | change) for change in _different(changes, GROWN))


def ablation(full: bool) -> Iterator[Task]:
    """The fixed sequence of the paper; on all of Loans' stand-in it would take too much memory. Paper: Table 2."""
    adult, acs, loans = map(data.at_hand, data.PAPER)
    for seed, strategy in product(range(5 if full else 2), STRATEGIES):
        yield _fixed(adult, seed, *strategy, estimates=["mle"])
    yield from _partly_timed(acs, steps=1000, every=1000)
    if full:
        part = {"attributes": 22} if data.is_stand_in(loans) else {}  # of a file fewer may be left
        yield from _partly_timed(loans, steps=100, every=50, **part)


def trade_off(full: bool) -> Iterator[Task]:
    """Error against time. Paper: Fig. 4 and 6 to 10."""
    adult, acs, loans = map(data.at_hand, data.PAPER)
    epsilons = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0) if full else (0.1, 1.0, 10.0)
    for epsilon, method, seed in product(epsilons, FAST, range(5 if full else 3)):
        yield task(method, table=adult, epsilon=epsilon, seed=seed)
    for epsilon, seed in product((0.1, 0.3, 1.0, 3.0, 10.0) if full else (0.1, 1.0), range(3 if full else 1)):
        yield _pgm(50, table=adult, epsilon=epsilon, seed=seed)
    for epsilon, method, seed in product((0.1, 1.0, 10.0) if full else (1.0,), FAST, range(3 if full else 1)):
        yield task(method, table=acs, epsilon=epsilon, seed=seed, sample=5000)
    if full:
        for method, seed in product(FAST, range(3)):
            yield task(method, table=loans, epsilon=1.0, seed=seed, sample=1000)
        for epsilon, method in product((100.0, 1000.0), (PAPER, PLANNER)):
            yield task(method, table=loans, epsilon=epsilon, seed=0, sample=1000)


def model_size(full: bool) -> Iterator[Task]:
    """AIM+PGM by the size of its model. Paper: Fig. 11."""
    adult = data.at_hand("adult")
    sizes = [(10.0, 1)]
    if full:
        sizes += [(10.0, 3), (10.0, 100), (1.0, 1), (1.0, 100)]
    for epsilon, megabytes in sizes:
        yield _pgm(megabytes, table=adult, epsilon=epsilon, seed=0)


def wide_rival() -> Iterator[Task]:
    """One round of AIM+PGM on the shape of ACS, to see what it takes."""
    yield _pgm(50, cap=60.0, table="acs-shaped", epsilon=10.0, seed=0, sample=5000)


def _pgm(megabytes: float, *, cap: float = CAP, **more: Any) -> Task:
    made = task(graphical(megabytes), **more)
    return made | {"options": made["options"] | {"most_seconds": cap}}


def _partly_timed(table: str, *, steps: int, every: int, **more: Any) -> Iterator[Task]:
    """The strategies where not every step can be timed: isotropic noise costs the same in each, the others do not."""
    yield _fixed(table, 0, "lazy", "crp", estimates=["mle"], **more)
    yield _fixed(table, 0, "lazy", "iid", steps=steps, **more)
    yield _fixed(table, 0, "full", "iid", every=every, estimates=["mle"], **more)


def _fixed(table: str, seed: int, reconstruction: str, allocation: str, **more: Any) -> Task:
    strategy = {"reconstruction": reconstruction, "allocation": allocation}
    return {"mechanism": "fixed", "table": table, "epsilon": 1.0, "seed": seed, **strategy, **more}


def _different(changes: list[Task], base: Task) -> list[Task]:
    """The changes, without those that come to the same."""
    return list({str(base | change): change for change in changes}.values())
