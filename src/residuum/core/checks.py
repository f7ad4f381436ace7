"""Questions asked of every array and clique that comes in from outside."""

from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residuum.core.domain import Clique
from residuum.errors import DomainError, ResiduumError

Array = NDArray[np.float64]


def real(values: ArrayLike, name: str) -> Array:
    """The values as a C-contiguous array of 64-bit floats, without a copy where they are one already."""
    if type(values) is np.ndarray and values.dtype == np.float64 and values.flags.c_contiguous:
        return values
    try:
        array = np.asarray(values)
    except ValueError:
        raise DomainError(f"Expected `{name}` to be an array, got rows of different lengths.") from None
    if array.dtype.kind not in "fiub":
        raise ResiduumError(f"Expected real numbers in `{name}`, got {array.dtype.name} values.")
    return np.asarray(array, dtype=np.float64, order="C")


def finite(array: Array, name: str) -> None:
    """Refuse an array with a NaN or an infinite value."""
    bad = ~np.isfinite(array)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ResiduumError(f"Expected finite numbers in `{name}`, got {float(array[at])} at index {at}.")


def ascending(clique: Any, name: str) -> Clique:
    """The clique as a tuple of ascending attribute indices."""
    try:
        indices = tuple(i.__index__() for i in clique)
    except (TypeError, AttributeError):
        raise DomainError(f"Expected `{name}` to be a tuple of attribute indices, got {clique!r}.") from None
    if any(i < 0 for i in indices):
        raise DomainError(f"Expected attribute indices >= 0 in `{name}`, got {indices}.")
    if any(i >= j for i, j in pairwise(indices)):
        raise DomainError(f"Expected ascending attribute indices without duplicates in `{name}`, got {indices}.")
    return indices


def within(tau: Clique, gamma: Clique) -> None:
    """Refuse a residual that is not part of the marginal."""
    outside = sorted(set(tau) - set(gamma))
    if outside:
        raise DomainError(f"Expected `tau` to be a subset of `gamma`, but {outside[0]} of {tau} is not in {gamma}.")


def positive(sigma2: float, name: str) -> float:
    """A variance as a float."""
    if isinstance(sigma2, bool) or not isinstance(sigma2, int | float | np.number) or isinstance(sigma2, complex):
        raise ResiduumError(f"Expected `{name}` to be a number, got {sigma2!r}.")
    if not (isfinite(sigma2) and sigma2 > 0):
        raise ResiduumError(f"Expected `{name}` to be a variance above 0, got {sigma2!r}.")
    return float(sigma2)
