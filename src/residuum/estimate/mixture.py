"""Mixtures of products: rows fall into hidden classes, and within a class all attributes are independent."""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from residuum.core.checks import Array
from residuum.core.domain import Clique

Floats = NDArray[np.float32]

_MOST_AT_ONCE = 1 << 22
"""How many numbers of a product over classes and cells are in memory at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Several mixtures of products over the same attributes, whose average is the estimate.

    Each member was fitted on its own, so how far they are apart tells what the measurements leave open. All marginals
    are non-negative, agree with one another, and add up to the total.

    >>> shares = np.array([[[0.5, 0.5, 0.9, 0.1], [0.5, 0.5, 0.1, 0.9]]], dtype=np.float32)
    >>> mixture = Mixture((2, 2), 100.0, np.array([[0.5, 0.5]], dtype=np.float32), shares)
    >>> mixture.marginal((0, 1)).round(3)
    array([[25., 25.],
           [25., 25.]])
    """

    sizes: tuple[int, ...]
    total: float
    weights: Floats
    """How large each class is, of shape (members, classes); 1 in sum for each member."""
    shares: Floats
    """How often a class has each value, of shape (members, classes, Σ n_i): the values of all attributes in a row."""

    @property
    def starts(self) -> NDArray[np.intp]:
        """Where the values of each attribute begin in a row of `shares`."""
        return starts(self.sizes)

    def marginal(self, gamma: Clique) -> Array:
        """The counts over a clique, of shape (n_i for i in γ)."""
        members, classes, values = self.shares.shape
        weights = self.weights.reshape(-1) / members
        return self._counts(weights, self.shares.reshape(members * classes, values), gamma)

    def variance(self, gamma: Clique) -> Array:
        """How far the members are apart in each cell: the variance between them, of shape (n_i for i in γ).

        >>> shares = np.array([[[0.5, 0.5]], [[0.3, 0.7]]], dtype=np.float32)
        >>> Mixture((2,), 10.0, np.ones((2, 1), dtype=np.float32), shares).variance((0,)).round(3)
        array([2., 2.])
        """
        mean = np.zeros(self.shape(gamma))
        squares = np.zeros_like(mean)
        for number, (weights, shares) in enumerate(zip(self.weights, self.shares, strict=True), start=1):
            counts = self._counts(weights, shares, gamma)
            step = counts - mean
            mean += step / number
            squares += step * (counts - mean)
        return squares / max(1, len(self.weights) - 1)

    def pairs(self) -> Array:
        """The counts over all pairs at once, as a matrix of shape (Σ n_i, Σ n_i).

        The block of an attribute with itself has no meaning: within a class, nothing depends on itself.

        >>> shares = np.array([[[0.5, 0.5, 0.9, 0.1]]], dtype=np.float32)
        >>> Mixture((2, 2), 100.0, np.ones((1, 1), dtype=np.float32), shares).pairs()[:2, 2:].round(3)
        array([[45.,  5.],
               [45.,  5.]])
        """
        members, classes, values = self.shares.shape
        flat = self.shares.reshape(members * classes, values)
        weighted = flat * (self.weights.reshape(-1, 1) / members)
        return (flat.T @ weighted).astype(np.float64) * self.total

    def _counts(self, weights: Floats, shares: Floats, gamma: Clique) -> Array:
        shape = self.shape(gamma)
        begin = self.starts
        parts = [shares[:, begin[i] : begin[i] + self.sizes[i]] for i in gamma]
        if not parts:
            return np.array(self.total)
        counts = np.zeros((prod(shape[:-1]), shape[-1]))
        step = max(1, _MOST_AT_ONCE // len(counts))
        for first in range(0, len(weights), step):
            some = slice(first, first + step)
            rows = weights[some, None]
            for part in parts[:-1]:
                rows = (rows[:, :, None] * part[some, None, :]).reshape(len(rows), -1)
            counts += rows.T @ parts[-1][some]
        # Single precision loses about 1e-7 of the sum: of a large table some people, in each marginal others.
        return counts.reshape(shape) * (self.total / counts.sum())

    def shape(self, gamma: Clique) -> tuple[int, ...]:
        """How many values each attribute of a clique has."""
        return tuple(self.sizes[i] for i in gamma)


def starts(sizes: tuple[int, ...]) -> NDArray[np.intp]:
    """Where the values of each attribute begin when all are in one row.

    >>> starts((2, 3, 4)).tolist()
    [0, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
