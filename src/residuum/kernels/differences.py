"""Keep the differences between true and estimated marginals, all in one flat array, in fixed point.

Whole numbers make every sum exact: no order of summation changes a result, and one person more or less changes one cell
of each marginal by exactly the scale. Each update is rounded on its own, by at most half a unit a cell.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from residuum.kernels import threads
from residuum.kernels.merging import merge

Integers = NDArray[np.int32] | NDArray[np.int64]

_FAR = 2.0**61  # steps are cut off here, so that they have a place among the integers
_MOST = 2**62  # no norm is larger: each cell counts up to its share of this


def _signature(cell: str) -> str:
    return f"void({cell}[::1], i8[::1], f8[::1], i8[::1], i8[::1], i8[::1], i8[:, ::1], i8[::1], f8[::1], i8, i8)"


@njit([_signature("i4"), _signature("i8")], nogil=True, cache=True, error_model="numpy")
def _subtract(differences, norms, component, tau, above, starts, attributes, sizes, scales, start, stop):
    """For the cliques `above[start:stop]`: subtract the component, smeared and rounded, and renew the L1 norm."""
    orders = attributes.shape[1]
    merged = np.empty(orders + 1, np.int64)
    strides = np.empty(orders + 1, np.int64)
    index = np.empty(orders + 1, np.int64)
    rounded = np.empty(component.size, differences.dtype)
    for position in range(start, stop):
        gamma = above[position]
        axes, factor = merge(attributes[gamma], sizes, tau, component.size, scales[gamma], merged, strides)
        for cell in range(component.size):
            rounded[cell] = np.int64(min(max(np.rint(component[cell] * factor), -_FAR), _FAR))
        last = axes - 1
        n, contiguous = merged[last], strides[last] == 1
        a = starts[gamma]
        end = starts[gamma + 1]
        index[:last] = 0
        source = 0
        norm = 0
        most = _MOST // (end - a)
        while a < end:
            row = differences[a : a + n]
            if contiguous:
                values = rounded[source : source + n]
                for c in range(n):
                    row[c] -= values[c]
                    norm += abs(min(max(np.int64(row[c]), -most), most))
            else:
                value = rounded[source]
                for c in range(n):
                    row[c] -= value
                    norm += abs(min(max(np.int64(row[c]), -most), most))
            a += n
            axis = last - 1
            while axis >= 0:
                index[axis] += 1
                source += strides[axis]
                if index[axis] < merged[axis]:
                    break
                source -= merged[axis] * strides[axis]
                index[axis] = 0
                axis -= 1
        norms[gamma] = norm


def subtract_component(
    differences: Integers,
    norms: NDArray[np.int64],
    component: NDArray[np.float64],
    tau: NDArray[np.int64],
    above: NDArray[np.int64],
    starts: NDArray[np.int64],
    attributes: NDArray[np.int64],
    sizes: NDArray[np.int64],
    scales: NDArray[np.float64],
) -> None:
    """Subtract a component from the differences of all marginals `above` it and renew their L1 norms, in place.

    Paper: Prop. 4.2. `starts` says where each marginal lies, `attributes` (a row each, filled up with -1) what it is
    over, `sizes` how many values each attribute has, `scales` how many units make one person in each marginal. The norm
    is that of what is stored, also where that left the range of its integers, and no cell counts for more than its
    share of 2^62: so one person more changes a norm by at most the scale, whatever happened before.
    """
    cells = int((starts[above + 1] - starts[above]).sum())
    arguments = (differences, norms, component, tau, above, starts, attributes, sizes, scales)
    if cells < threads.WORTHWHILE:
        _subtract(*arguments, 0, above.size)
        return
    pieces = threads.split(0, above.size, 8 * threads.count())
    threads.run(lambda piece: _subtract(*arguments, *piece), pieces)
