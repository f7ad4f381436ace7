"""How a component lies in a marginal that it is smeared over: what the kernels that walk both have in common.

It is compiled into those kernels. Their cache does not notice a change here: run `make clean` after one.
"""

from numba import njit


@njit
def merge(attributes, sizes, tau, cells, factor, merged, strides):
    """The axes of a marginal, neighbours merged where the component has both or neither.

    Fills in their lengths and the steps that the component of so many cells takes along each, 0 where it has no axis,
    and returns how many they are, with the factor divided by the sizes of the axes that the component does not have.
    """
    axes = 0
    stride = cells
    t = 0
    inside = False
    for attribute in attributes:
        if attribute < 0:
            break
        n = sizes[attribute]
        shared = t < tau.size and tau[t] == attribute
        if shared:
            t += 1
            stride //= n
        else:
            factor /= n
        if axes > 0 and shared == inside:
            merged[axes - 1] *= n
            strides[axes - 1] = stride if shared else 0
        else:
            merged[axes] = n
            strides[axes] = stride if shared else 0
            axes += 1
        inside = shared
    if axes == 0:
        merged[0], strides[0], axes = 1, 1, 1
    return axes, factor
