"""Questions asked of every array and clique that comes in from outside."""

from collections.abc import Iterable
from itertools import pairwise
from numbers import Integral, Real
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residuum.core.domain import Clique
from residuum.errors import DomainError, ResiduumError

Array = NDArray[np.float64]

_SMALLEST, _LARGEST = 1e-300, 1e300
"""Variances between these have an inverse that is a number."""


def real(values: ArrayLike, name: str) -> Array:
    """The values as a C-contiguous array of 64-bit floats, without a copy where they are one already."""
    if type(values) is np.ndarray and values.dtype == np.float64 and values.flags.carray:
        return values
    if isinstance(values, np.ma.MaskedArray):
        raise ResiduumError(f"Expected `{name}` without a mask, got a masked array. Fill in its values first.")
    try:
        array = np.asarray(values)
    except ValueError:
        raise DomainError(f"Expected `{name}` to be an array, got rows of different lengths.") from None
    if array.dtype.kind not in "fiub":
        raise ResiduumError(f"Expected real numbers in `{name}`, got {array.dtype.name} values.")
    array = np.asarray(array, dtype=np.float64, order="C")
    return array if array.flags.writeable else array.copy()  # the kernels are compiled for arrays that can be written


def finite(array: Array, name: str) -> None:
    """Refuse an array with a NaN or an infinite value."""
    bad = ~np.isfinite(array)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ResiduumError(f"Expected finite numbers in `{name}`, got {float(array[at])} at index {at}.")


def ascending(clique: Any, name: str) -> Clique:
    """The clique as a tuple of ascending attribute indices; one that is such a tuple comes back at once."""
    if type(clique) is tuple:
        previous = -1
        for i in clique:
            if type(i) is not int or i <= previous:
                break
            previous = i
        else:
            return clique
    if not isinstance(clique, Iterable) or not all(whole(i) for i in clique):
        raise DomainError(f"Expected `{name}` to be a tuple of attribute indices, got {clique!r}.")
    indices = tuple(index(i) for i in clique)
    if any(i < 0 for i in indices):
        raise DomainError(f"Expected attribute indices >= 0 in `{name}`, got {indices}.")
    if any(i >= j for i, j in pairwise(indices)):
        raise DomainError(f"Expected ascending attribute indices without duplicates in `{name}`, got {indices}.")
    return indices


def sized(gamma: Any, sizes: Any) -> tuple[Clique, tuple[int, ...]]:
    """A clique and the sizes of its attributes, as tuples."""
    gamma = ascending(gamma, "gamma")
    if type(sizes) is tuple and len(sizes) == len(gamma):
        for n in sizes:
            if type(n) is not int or n < 1:
                break
        else:
            return gamma, sizes
    if not isinstance(sizes, Iterable) or not all(whole(n) and n >= 1 for n in sizes):
        raise DomainError(f"Expected whole sizes above 0, got {sizes!r}.")
    if len(tuple(sizes)) != len(gamma):
        raise DomainError(f"Expected a size for each attribute of {gamma}, got {sizes}.")
    return gamma, tuple(index(n) for n in sizes)


def whole(value: Any) -> bool:
    """Whether a value is a whole number, in Python's or NumPy's types; True and False are not."""
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def within(tau: Clique, gamma: Clique) -> None:
    """Refuse a residual that is not part of the marginal."""
    outside = sorted(set(tau) - set(gamma))
    if outside:
        raise DomainError(f"Expected `tau` to be a subset of `gamma`, but {outside[0]} of {tau} is not in {gamma}.")


def positive(sigma2: float, name: str) -> float:
    """A variance as a float."""
    if not isinstance(sigma2, Real) or isinstance(sigma2, bool):
        raise ResiduumError(f"Expected `{name}` to be a number, got {sigma2!r}.")
    if not _SMALLEST <= sigma2 <= _LARGEST:
        raise ResiduumError(f"Expected `{name}` to be a variance above 0, not beyond {_LARGEST:g}, got {sigma2!r}.")
    return float(sigma2)
