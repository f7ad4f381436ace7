"""`center` along every axis of an array, with the result written once.

The array is seen as *planes* (its last two axes) under *leading* axes, as in `sub`, and visited plane by plane. Along a
leading axis, the new slice 0 is minus the mean of the slices (with the zeros put in front), and every other slice is
what it was plus slice 0. So when an axis starts anew, its mean is taken and centred like a slice of its own, and the
result is kept. Later planes are centred along their own two axes at once, and add what was kept for each leading axis.
"""

from functools import lru_cache
from math import prod

import numpy as np
from numba import njit
from numpy.typing import NDArray

from residuum.kernels import threads
from residuum.kernels.vectors import LANES, add, load, mul, splat, store, total

Array = NDArray[np.float64]

_OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy"}
_PLANE = "void(f8[::1], i8, i8, i8, f8[::1], f8[::1], i8[::1], i8, f8[::1], i8)"
_NO_CHAIN = np.empty(0, dtype=np.int64)


@njit("void(f8[::1], i8, i8, i8, f8[::1], i8, i8, i8)", **_OPTIONS)
def _negative_means(z, a, n, size, means, b, start, stop):
    """Minus the mean of `n` slices, one of zeros and those of `size` cells at `z[a]`; for the cells start to stop."""
    j = start
    while j + LANES <= stop:
        x = splat(0.0)
        for i in range(n - 1):
            x = add(x, load(z, a + i * size + j))
        store(means, b + j, mul(x, splat(-1.0 / n)))
        j += LANES
    while j < stop:
        y = 0.0
        for i in range(n - 1):
            y -= z[np.uint64(a + i * size + j)]
        means[np.uint64(b + j)] = y / n
        j += 1


@njit(_PLANE, **_OPTIONS)
def _narrow_plane(z, a, rows, n, scratch, kept, chain, depth, out, b):
    """Centre the plane at `z[a]` along both axes, to `rows` rows of `n` cells; write it to `out[b]`, plus the chain.

    With w the plane, R its row sums, S its column sums and G its sum, a cell becomes
    w - R / n - S / rows + G / (n rows), where w is 0 in the new first row and the new first column.
    """
    m = n - 1
    _negative_means(z, a, rows, m, scratch, 0, 0, m)
    grand = 0.0
    for c in range(m):
        grand -= scratch[np.uint64(c)] / n
    for i in range(rows):
        at = a + (i - 1) * m
        row = grand
        if i > 0:
            for c in range(m):
                row -= z[np.uint64(at + c)] / n
        for c in range(n):
            x = row
            if c > 0:
                x += scratch[np.uint64(c - 1)]
                if i > 0:
                    x += z[np.uint64(at + c - 1)]
            for e in range(depth):
                x += kept[np.uint64(chain[e] + i * n + c)]
            out[np.uint64(b + i * n + c)] = x


@njit(_PLANE, **_OPTIONS)
def _wide_plane(z, a, rows, n, scratch, kept, chain, depth, out, b):
    """The same in vectors, for rows of more than eight cells: the last vector of a row overlaps the one before it.

    The scratch holds S, a vector each; then a mask for the lanes that do not overlap; then R, with 0 for the new row.
    Two rows are summed together, because a column sum has to be stored before it can be loaded for the next row.
    """
    m = n - 1
    vectors = -(-m // LANES)
    mask, sums = vectors * LANES, (vectors + 1) * LANES
    for c in range(sums + 1):
        scratch[np.uint64(c)] = 0.0
    for lane in range(mask - m, LANES):
        scratch[np.uint64(mask + lane)] = 1.0
    fresh = load(scratch, mask)
    grand = 0.0
    for i in range(1, rows, 2):
        at = a + (i - 1) * m
        next_at = at + m if i + 1 < rows else at
        counts = splat(1.0 if i + 1 < rows else 0.0)
        x = load(z, at + m - LANES)
        y = mul(load(z, next_at + m - LANES), counts)
        store(scratch, mask - LANES, add(load(scratch, mask - LANES), add(x, y)))
        x, y = mul(x, fresh), mul(y, fresh)
        for q in range(vectors - 1):
            x_q = load(z, at + q * LANES)
            y_q = mul(load(z, next_at + q * LANES), counts)
            store(scratch, q * LANES, add(load(scratch, q * LANES), add(x_q, y_q)))
            x, y = add(x, x_q), add(y, y_q)
        scratch[np.uint64(sums + i)] = total(x)
        scratch[np.uint64(sums + i + 1)] = total(y)
        grand += total(add(x, y))
    grand /= n * rows
    for q in range(vectors):
        store(scratch, q * LANES, mul(load(scratch, q * LANES), splat(-1.0 / rows)))
    for i in range(rows):
        at = a + (i - 1) * m
        row = grand - scratch[np.uint64(sums + i)] * (1.0 / n)
        first = row
        for e in range(depth):
            first += kept[np.uint64(chain[e] + i * n)]
        out[np.uint64(b + i * n)] = first
        for q in range(vectors):
            c = min(q * LANES, m - LANES)
            x = add(load(scratch, q * LANES), splat(row))
            if i > 0:
                x = add(x, load(z, at + c))
            for e in range(depth):
                x = add(x, load(kept, chain[e] + i * n + 1 + c))
            store(out, b + i * n + 1 + c, x)


@njit("void(i8, f8[::1], i8, i8[::1], i8, f8[::1], i8)", **_OPTIONS)
def _add_chain(size, kept, a, chain, depth, out, b):
    """Write the kept plane at `kept[a]` to `out[b]`, plus the chain."""
    c = 0
    while c + LANES <= size:
        x = load(kept, a + c)
        for e in range(depth):
            x = add(x, load(kept, chain[e] + c))
        store(out, b + c, x)
        c += LANES
    while c < size:
        y = kept[np.uint64(a + c)]
        for e in range(depth):
            y += kept[np.uint64(chain[e] + c)]
        out[np.uint64(b + c)] = y
        c += 1


@njit("void(f8[::1], f8[::1], i8[::1], f8[::1], i8, i8, i8)", **_OPTIONS)
def _slices(z, out, shape, kept, own, start, stop):
    """`center` along every axis for the slices `start` to `stop` of the first axis; slice 0 comes before all others.

    `kept` holds for each leading axis the means and then their centred form: those of the first axis, whose means are
    given, at its beginning; those of the other axes from `own` on.
    """
    leading = shape.size - 2
    rows, n = shape[leading], shape[leading + 1]
    bare = np.empty(leading, np.int64)  # cells of a slice before centring, for each leading axis
    means = np.zeros(leading, np.int64)
    place = np.zeros(leading, np.int64)
    planes = 1
    small, large = (rows - 1) * (n - 1), rows * n
    for axis in range(leading - 1, -1, -1):
        bare[axis] = small
        means[axis] = own if axis else 0
        place[axis] = means[axis] + small
        own += small + large
        small *= shape[axis] - 1
        large *= shape[axis]
        if axis:
            planes *= shape[axis]
    scratch = np.empty(n + rows + 2 * LANES + 1)
    chain = np.empty(leading, np.int64)
    index = np.zeros(leading, np.int64)
    index[0] = start
    at = np.zeros(leading + 1, np.int64)  # where the slices of each leading axis are read, and whether among the means
    mean = np.zeros(leading + 1, np.int64)
    moved = 0
    for _ in range((stop - start) * planes):
        for axis in range(moved, leading):
            if index[axis] > 0:
                at[axis + 1], mean[axis + 1] = at[axis] + (index[axis] - 1) * bare[axis], mean[axis]
                continue
            if axis > 0:
                source = kept if mean[axis] else z
                _negative_means(source, at[axis], shape[axis], bare[axis], kept, means[axis], 0, bare[axis])
            at[axis + 1], mean[axis + 1] = means[axis], 1
        source, a = kept if mean[leading] else z, at[leading]
        done = -1
        depth = 0
        cell = 0
        stride = rows * n
        for axis in range(leading - 1, -2, -1):
            if axis >= 0 and index[axis] > 0:
                chain[depth] = place[axis] + cell
                depth += 1
            else:
                target, b = (kept, place[axis] + cell) if axis >= 0 else (out, cell)
                if done >= 0:
                    _add_chain(rows * n, kept, done, chain, depth, target, b)
                elif n > LANES:
                    _wide_plane(source, a, rows, n, scratch, kept, chain, depth, target, b)
                else:
                    _narrow_plane(source, a, rows, n, scratch, kept, chain, depth, target, b)
                done, depth = b, 0
            if axis >= 0:
                cell += index[axis] * stride
                stride *= shape[axis]
        moved = leading - 1
        index[moved] += 1
        while moved > 0 and index[moved] == shape[moved]:
            index[moved] = 0
            moved -= 1
            index[moved] += 1


@lru_cache(maxsize=1024)
def _layout(shape: tuple[int, ...]) -> tuple[tuple[int, ...], NDArray[np.int64], int, int]:
    """The shape after `center`, the same as an array, and the room for kept slices: common, and each thread's."""
    after = tuple(n + 1 for n in shape)
    room = [prod(shape[axis + 1 :]) + prod(after[axis + 1 :]) for axis in range(len(shape) - 2)]
    return after, np.array(after, dtype=np.int64), sum(room[:1]), sum(room[1:])


def center_all(z: Array) -> Array:
    """Apply `center` along every axis.

    Paper: Alg. 2 for τ = γ. `z` is C-contiguous with shape (n_1 - 1, …, n_d - 1), the result (n_1, …, n_d).
    """
    after, shape, common, own = _layout(z.shape)
    if z.size == 0:
        return np.zeros(after)
    if z.ndim == 0:
        return z.copy()
    out = np.empty(after)
    if z.ndim == 1:
        with np.errstate(over="ignore", invalid="ignore"):
            out[:] = -z.sum() / after[0]
            out[1:] += z
        return out
    flat, result = z.reshape(-1), out.reshape(-1)
    n = after[0]
    if z.ndim == 2:
        plane = _wide_plane if after[1] > LANES else _narrow_plane
        plane(flat, 0, n, after[1], np.empty(n + after[1] + 2 * LANES + 1), flat, _NO_CHAIN, 0, result, 0)
        return out
    size = z.size // z.shape[0]
    if out.size < threads.WORTHWHILE:
        kept = np.empty(common + own)
        _negative_means(flat, 0, n, size, kept, 0, 0, size)
        _slices(flat, result, shape, kept, common, 0, n)
        return out
    pieces = threads.split(1, n, 4 * threads.count())
    kept = np.empty(common + own * len(pieces))
    parts = threads.split(0, size, threads.count() if z.size > 4 * threads.WORTHWHILE else 1)
    threads.run(lambda part: _negative_means(flat, 0, n, size, kept, 0, *part), parts)
    _slices(flat, result, shape, kept, common, 0, 1)
    threads.run(
        lambda piece: _slices(flat, result, shape, kept, common + own * piece[0], *piece[1]),
        list(enumerate(pieces)),
    )
    return out
