"""`sub` along every axis of an array, in one pass over it.

Doing one axis after the other would carry the array through memory once per axis. Here it is read once and the result
written once. The array is seen as *planes* (its last two axes) under *leading* axes, and the planes are visited in
order. The difference along a leading axis needs the slice at index 0 of that axis, which came earlier and was kept. So
a plane subtracts, for each leading axis from the last to the first, the slice kept for that axis, until it meets an
axis where its own index is 0: there it becomes the slice to keep.
"""

from functools import lru_cache
from math import prod

import numpy as np
from numba import njit
from numpy.typing import NDArray

from residuum.kernels import threads
from residuum.kernels.vectors import LANES, add, load, magnitude, splat, store, sub, total

Array = NDArray[np.float64]

_OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy"}
_PLANE = "f8(f8[::1], i8, i8, i8, f8[::1], i8, i8[::1], i8, f8[::1], i8)"
_NO_CHAIN = np.empty(0, dtype=np.int64)


@njit(_PLANE, **_OPTIONS)
def _narrow_plane(mu, a, rows, n, kept, first_row, chain, depth, out, b):
    """Write `sub` of the plane at `mu[a]`, of `rows` rows of `n` cells, to `out[b]`, less the slices `chain` points at.

    The plane's own first row is kept at `kept[first_row]`. Returns a number that is finite only where the result is.
    """
    m = n - 1
    for c in range(m):
        kept[np.uint64(first_row + c)] = mu[np.uint64(a + 1 + c)] - mu[np.uint64(a)]
    size = 0.0
    for i in range(rows - 1):
        a += n
        for c in range(m):
            x = mu[np.uint64(a + 1 + c)] - mu[np.uint64(a)] - kept[np.uint64(first_row + c)]
            for e in range(depth):
                x -= kept[np.uint64(chain[e] + i * m + c)]
            out[np.uint64(b + i * m + c)] = x
            size += abs(x)
    return size


@njit(_PLANE, **_OPTIONS)
def _wide_plane(mu, a, rows, n, kept, first_row, chain, depth, out, b):
    """The same in vectors, for rows of more than eight cells: the last vector of a row overlaps the one before it."""
    m = n - 1
    vectors = -(-m // LANES)
    base = mu[np.uint64(a)]
    for q in range(vectors):
        store(kept, first_row + q * LANES, sub(load(mu, a + 1 + min(q * LANES, m - LANES)), splat(base)))
    sizes = splat(0.0)
    for i in range(rows - 1):
        a += n
        base = mu[np.uint64(a)]
        for q in range(vectors):
            c = min(q * LANES, m - LANES)
            x = sub(sub(load(mu, a + 1 + c), splat(base)), load(kept, first_row + q * LANES))
            for e in range(depth):
                x = sub(x, load(kept, chain[e] + i * m + c))
            store(out, b + i * m + c, x)
            sizes = add(sizes, magnitude(x))
    return total(sizes)


@njit("f8(f8[::1], f8[::1], i8[::1], f8[::1], i8, i8, i8)", **_OPTIONS)
def _slices(mu, out, shape, kept, own, start, stop):
    """`sub` along every axis for the slices `start` to `stop` of the first axis; slice 0 comes before all others.

    `kept` holds the slice at index 0 of the first axis at its beginning, those of the other axes from `own` on.
    """
    leading = shape.size - 2
    rows, n = shape[leading], shape[leading + 1]
    size = (rows - 1) * (n - 1)
    first_row = own
    own += n - 1 + LANES
    place = np.zeros(leading, np.int64)
    planes = 1
    for axis in range(leading - 1, 0, -1):
        place[axis] = own
        own += size
        size *= shape[axis] - 1
        planes *= shape[axis]
    chain = np.empty(leading, np.int64)
    index = np.zeros(leading, np.int64)
    index[0] = start
    finite = 0.0
    for p in range(start * planes, stop * planes):
        depth = 0
        cell = 0
        stride = (rows - 1) * (n - 1)
        axis = leading - 1
        while axis >= 0 and index[axis] != 0:
            chain[depth] = place[axis] + cell
            depth += 1
            cell += (index[axis] - 1) * stride
            stride *= shape[axis] - 1
            axis -= 1
        target, b = (out, cell) if axis < 0 else (kept, place[axis] + cell)
        if n > LANES:
            finite += _wide_plane(mu, p * rows * n, rows, n, kept, first_row, chain, depth, target, b)
        else:
            finite += _narrow_plane(mu, p * rows * n, rows, n, kept, first_row, chain, depth, target, b)
        axis = leading - 1
        index[axis] += 1
        while axis > 0 and index[axis] == shape[axis]:
            index[axis] = 0
            axis -= 1
            index[axis] += 1
    return finite


@lru_cache(maxsize=1024)
def _layout(shape: tuple[int, ...]) -> tuple[tuple[int, ...], NDArray[np.int64], int, int]:
    """The shape after `sub`, the shape before as an array, and the room for kept slices: common, and each thread's."""
    after = tuple(n - 1 for n in shape)
    common = prod(after[1:])
    own = LANES + sum(prod(after[axis:]) for axis in range(2, len(shape)))
    return after, np.array(shape, dtype=np.int64), common, own


def sub_all(mu: Array) -> tuple[Array, float]:
    """Apply `sub` along every axis; also return a number that is finite only where the whole result is.

    Paper: Alg. 1 for τ = γ. `mu` is C-contiguous with shape (n_1, …, n_d), the result (n_1 - 1, …, n_d - 1).
    """
    if mu.ndim < 2:
        with np.errstate(over="ignore", invalid="ignore"):
            out = mu[1:] - mu[0] if mu.ndim else mu.copy()
            return out, float(np.abs(out).sum())
    after, shape, common, own = _layout(mu.shape)
    out = np.empty(after)
    if out.size == 0:
        return out, 0.0
    flat, result = mu.reshape(-1), out.reshape(-1)
    if mu.ndim == 2:
        rows, n = mu.shape
        plane = _wide_plane if n > LANES else _narrow_plane
        return out, plane(flat, 0, rows, n, np.empty(n - 1 + LANES), 0, _NO_CHAIN, 0, result, 0)
    if mu.size < threads.WORTHWHILE:
        return out, _slices(flat, result, shape, np.empty(common + own), common, 0, mu.shape[0])
    pieces = threads.split(1, mu.shape[0], 4 * threads.count())
    kept = np.empty(common + own * len(pieces))
    _slices(flat, result, shape, kept, common, 0, 1)
    finite = threads.run(
        lambda piece: _slices(flat, result, shape, kept, common + own * piece[0], *piece[1]),
        list(enumerate(pieces)),
    )
    return out, sum(finite)
