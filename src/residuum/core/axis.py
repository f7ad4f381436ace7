"""The four operations along one axis of an array.

Paper: Table 1. Marginals become residuals by `sum` and `sub`, residuals become marginals by `center` and `smear`.
Each takes an array with any number of axes and leaves their number as it is.
"""

import numpy as np
from numpy.typing import ArrayLike

from residuum.core.checks import Array, finite, real
from residuum.errors import DomainError


def sum(array: ArrayLike, axis: int) -> Array:
    """Add up along an axis, which stays with length 1.

    Paper: Table 1, `_sum`. Shape (…, n, …) becomes (…, 1, …).

    >>> sum([[1, 2], [3, 4]], axis=0)
    array([[4., 6.]])
    """
    v, axis = _checked(array, axis)
    return v.sum(axis=axis, keepdims=True)


def sub(array: ArrayLike, axis: int) -> Array:
    """Subtract the first slice from each of the others.

    Paper: Table 1, `_sub`. Shape (…, n, …) becomes (…, n - 1, …).

    >>> sub([14, 19, 23, 44], axis=0)
    array([ 5.,  9., 30.])
    """
    v, axis = _checked(array, axis)
    if v.shape[axis] == 0:
        raise DomainError(f"Expected at least one slice along axis {axis} to subtract, got none.")
    return subtract_first(v, axis)


def center(array: ArrayLike, axis: int) -> Array:
    """Put a slice of zeros first, then subtract the mean: the pseudoinverse of `sub`.

    Paper: Table 1, `_center`. Shape (…, n - 1, …) becomes (…, n, …).

    >>> center([5, 9, 30], axis=0)
    array([-11.,  -6.,  -2.,  19.])
    """
    v, axis = _checked(array, axis)
    return join(None, v, axis)


def smear(array: ArrayLike, axis: int, k: int) -> Array:
    """Spread an axis of length 1 evenly over `k` slices: the pseudoinverse of `sum`.

    Paper: Table 1, `_smear`. Shape (…, 1, …) becomes (…, k, …).

    >>> smear([100], axis=0, k=4)
    array([25., 25., 25., 25.])
    """
    v, axis = _checked(array, axis)
    if v.shape[axis] != 1:
        raise DomainError(f"Expected length 1 along axis {axis} to smear, got {v.shape[axis]}.")
    if isinstance(k, bool) or not hasattr(k, "__index__") or k < 1:
        raise DomainError(f"Expected `k` to be a whole number above 0, got {k!r}.")
    return np.repeat(v / k, k, axis=axis)


def subtract_first(v: Array, axis: int) -> Array:
    """`sub` without questions."""
    before = (slice(None),) * axis
    return v[(*before, slice(1, None))] - v[(*before, slice(0, 1))]


def join(total: Array | None, v: Array, axis: int) -> Array:
    """`center(v) + smear(total)`, without questions; `total` has no such axis, None is zero."""
    n = v.shape[axis] + 1
    out = np.empty((*v.shape[:axis], n, *v.shape[axis + 1 :]))
    slices = np.moveaxis(out, axis, 0)
    first = v.sum(axis=axis)
    first = ((0.0 if total is None else total) - first) / n
    slices[0] = first
    np.add(np.moveaxis(v, axis, 0), first, out=slices[1:])
    return out


def _checked(array: ArrayLike, axis: int) -> tuple[Array, int]:
    v = real(array, "array")
    finite(v, "array")
    if isinstance(axis, bool) or not hasattr(axis, "__index__") or not -v.ndim <= axis < v.ndim:
        raise DomainError(f"Expected an axis of an array with {v.ndim} axes, got {axis!r}.")
    return v, axis % v.ndim
