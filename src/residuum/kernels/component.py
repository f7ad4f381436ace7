"""Add a component into one marginal or many, in place: the lazy update of what lies above a residual."""

from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from residuum.kernels import threads
from residuum.kernels.merging import merge
from residuum.kernels.vectors import LANES, add, load, magnitude, mul, splat, store, total

Array = NDArray[np.float64]


@njit("f8(f8[::1], f8[::1], f8, i8[::1], i8[::1], i8, i8)", nogil=True, cache=True, error_model="numpy")
def _rows(target, component, factor, sizes, strides, start, stop):
    """Add to the rows `start` to `stop` of the target; the last of the merged axes is the row."""
    last = sizes.size - 1
    n, step = sizes[last], strides[last]
    index = np.zeros(last, np.int64)
    source = 0
    rest = start
    for axis in range(last - 1, -1, -1):
        index[axis] = rest % sizes[axis]
        rest //= sizes[axis]
        source += index[axis] * strides[axis]
    distances = splat(0.0)
    distance = 0.0
    for row in range(start, stop):
        a = row * n
        c = 0
        scaled = factor * component[np.uint64(source)]
        while c + LANES <= n:
            x = mul(splat(factor), load(component, source + c)) if step else splat(scaled)
            x = add(load(target, a + c), x)
            store(target, a + c, x)
            distances = add(distances, magnitude(x))
            c += LANES
        while c < n:
            y = target[np.uint64(a + c)] + (factor * component[np.uint64(source + c)] if step else scaled)
            target[np.uint64(a + c)] = y
            distance += abs(y)
            c += 1
        axis = last - 1
        while axis >= 0:
            index[axis] += 1
            source += strides[axis]
            if index[axis] < sizes[axis]:
                break
            source -= sizes[axis] * strides[axis]
            index[axis] = 0
            axis -= 1
    return distance + total(distances)


@lru_cache(maxsize=4096)
def _layout(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """The target's axes, neighbours merged where the component has both or neither; its strides; 1 / Π n_i outside."""
    sizes, strides = [], []
    factor, stride = 1.0, 1
    previous = None
    for axis in reversed(range(len(shape))):
        inside = axis in axes
        if inside == previous:
            sizes[-1] *= shape[axis]
        else:
            sizes.append(shape[axis])
            strides.append(stride if inside else 0)
        if inside:
            stride *= shape[axis]
        else:
            factor /= shape[axis]
        previous = inside
    sizes, strides = sizes or [1], strides or [1]
    return np.array(sizes[::-1], dtype=np.int64), np.array(strides[::-1], dtype=np.int64), factor


def add_component(target: Array, component: Array, axes: tuple[int, ...]) -> float:
    """Smear `component` over the axes of `target` that are not in `axes`, add it in place, return the new L1 norm.

    Paper: Prop. 4.2. Both arrays are C-contiguous; `component` has the target's shape along `axes`. Where the target is
    a difference of two marginals, the norm is their L1 distance. It does not depend on the number of threads.
    """
    sizes, strides, factor = _layout(target.shape, axes)
    flat, source = target.reshape(-1), component.reshape(-1)
    rows = target.size // int(sizes[-1])
    if target.size < threads.WORTHWHILE:
        return _rows(flat, source, factor, sizes, strides, 0, rows)
    pieces = threads.split(0, rows, 2 * target.size // threads.WORTHWHILE)
    return sum(threads.run(lambda piece: _rows(flat, source, factor, sizes, strides, *piece), pieces))


@njit(
    "void(f8[::1], f8[::1], i8[::1], i8[::1], i8[::1], i8[:, ::1], i8[::1], i8, i8)",
    nogil=True,
    cache=True,
    error_model="numpy",
)
def _many(cells, component, tau, above, starts, attributes, sizes, start, stop):
    """Add to the marginals `above[start:stop]`."""
    most = max(attributes.shape[1], 1)
    merged = np.empty(most, np.int64)
    strides = np.empty(most, np.int64)
    for position in range(start, stop):
        gamma = above[position]
        axes, factor = merge(attributes[gamma], sizes, tau, component.size, 1.0, merged, strides)
        target = cells[starts[gamma] : starts[gamma + 1]]
        _rows(target, component, factor, merged[:axes], strides[:axes], 0, target.size // merged[axes - 1])


def add_above(
    cells: Array,
    component: Array,
    tau: NDArray[np.int64],
    above: NDArray[np.int64],
    starts: NDArray[np.int64],
    attributes: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    """Add a component over `tau` to all marginals `above` it, smeared over the attributes it does not have, in place.

    Paper: Prop. 4.2. `starts` says where each marginal lies in `cells`, `attributes` (a row each, filled up with -1)
    what it is over, `sizes` how many values each attribute has.
    """
    arguments = (cells, component, tau, above, starts, attributes, sizes)
    if int((starts[above + 1] - starts[above]).sum()) < threads.WORTHWHILE:
        _many(*arguments, 0, above.size)
        return
    pieces = threads.split(0, above.size, 8 * threads.count())
    threads.run(lambda piece: _many(*arguments, *piece), pieces)
