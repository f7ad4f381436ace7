"""How a release compares with the true table, as plain numbers: for the owner of the data only."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residuum import Release, Schema, Table, Workload, read
from residuum.core.domain import Clique
from residuum.data.counts import Counts
from residuum.errors import ReleaseError
from residuum.present.account import ordered
from residuum.present.against import Against, Column, Compared, Order
from residuum.present.shown import named_values, plain

_MOST_MARGINALS = 1000
"""Of more marginals over as many columns, so many are compared, drawn evenly at random."""

_MOST_ROWS = 200_000
"""No more synthetic rows are drawn."""

_LISTED = 8


def compared(release: Release, data: str, schema: Schema, query: str | None = None) -> Against:
    """The release beside its table: errors of marginals, and the shares of each column among synthetic rows."""
    if schema.domain != release.domain:
        raise ReleaseError(
            "The schema declares other columns or values than the release has. Name the one it was made by."
        )
    table = read(data, schema, query=query)
    chosen = _chosen(release.workload)
    counts = Counts(table, Workload(release.domain, [gamma for gamma in chosen if gamma]))
    rows = int(counts.marginal(()))
    if rows == 0:
        raise ReleaseError("The data have no rows to compare with.")
    orders: list[Order] = []
    marginals: list[Compared] = []
    totals = {order: len(list(some)) for order, some in groupby(release.workload.closure, len)}
    for order, some in groupby(chosen, len):
        found = [_one(release, gamma, counts.marginal(gamma), rows) for gamma in some]
        orders.append(_summed(ordered(order), totals[order], found))
        marginals += [one for one, _, _ in found if order]
    ranked = sorted(marginals, key=lambda one: one.share)
    drawn = max(1, min(rows, _MOST_ROWS))
    return Against(
        rows,
        float(release.marginal(()).values),
        tuple(orders),
        tuple(ranked[:_LISTED]),
        tuple(ranked[: -_LISTED - 1 : -1]),
        _columns(release, counts, read(release.sample(drawn, seed=0), schema), rows, drawn),
        drawn,
    )


def _chosen(workload: Workload) -> list[Clique]:
    """The marginals to compare, smallest first; all singles, so that every column is counted."""
    rng = np.random.default_rng(0)
    chosen: list[Clique] = []
    for order, some in groupby(workload.closure, len):
        cliques = list(some)
        if order > 1 and len(cliques) > _MOST_MARGINALS:
            places = np.sort(rng.choice(len(cliques), _MOST_MARGINALS, replace=False))
            cliques = [cliques[k] for k in places]
        chosen += cliques
    return chosen


def _one(release: Release, gamma: Clique, truth: NDArray[Any], rows: int) -> tuple[Compared, int | None, int]:
    """How wrong one marginal is, and how many of its true counts lie within their intervals."""
    marginal = release.marginal(gamma)
    errors = np.abs(marginal.values - truth)
    inside = None
    if marginal.lower is not None and marginal.upper is not None:
        inside = int(((truth >= marginal.lower) & (truth <= marginal.upper)).sum())
    names = tuple(map(plain, release.domain.name(gamma)))
    one = Compared(names, truth.size, float(errors.mean()), float(errors.sum()) / (2 * rows))
    return one, inside, truth.size


def _summed(columns: str, marginals: int, found: Sequence[tuple[Compared, int | None, int]]) -> Order:
    shares = [one.share for one, _, _ in found]
    low, middle, high = np.quantile(shares, [0.05, 0.5, 0.95]).tolist()
    cells = sum(size for _, _, size in found)
    people = sum(one.people * size for one, _, size in found) / cells
    known = [(inside, size) for _, inside, size in found if inside is not None]
    share = sum(inside for inside, _ in known) / sum(size for _, size in known) if known else None
    return Order(columns, marginals, len(found), people, middle, low, high, share)


def _columns(release: Release, counts: Counts, synthetic: Table, rows: int, drawn: int) -> tuple[Column, ...]:
    """The shares of each column's values among real and synthetic rows, the furthest apart first."""
    domain = release.domain
    singles = [gamma for gamma in release.workload.closure if len(gamma) == 1]
    made = Counts(synthetic, Workload(domain, singles))
    found = []
    for (i,) in singles:
        released = release.marginal(i).values
        parts = (
            counts.marginal((i,)) / rows,
            released / max(float(released.sum()), 1e-9),
            made.marginal((i,)) / drawn,
        )
        labels = tuple(named_values(domain.labels[i], domain.sizes[i]))
        found.append(Column(plain(domain.names[i]), labels, *(tuple(part.tolist()) for part in parts)))
    return tuple(sorted(found, key=lambda column: -column.apart))
