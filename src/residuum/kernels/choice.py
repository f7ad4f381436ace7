"""Choose one of many candidates with the exponential mechanism, renewing only the weights that changed."""

import numpy as np
from numba import njit

from residuum.kernels import BLOCK

_FAR = 600.0  # exponents stay this close to the reference, far from where a double overflows

_OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy"}


@njit("f8(f8[::1], f8[::1], f8[::1], i8[::1], f8)", **_OPTIONS)
def weigh(exponents, weights, blocks, changed, reference):
    """Renew the weights exp(exponent - reference) of the candidates that changed, and the blocks they are in.

    A change of all is given as an empty list. Returns the reference, which moves to the largest exponent where it has
    to; then everything is renewed.
    """
    everything = changed.size == 0
    if not everything:
        for k in changed:
            if exponents[k] - reference > _FAR:
                everything = True
    if not everything:
        for k in changed:
            weights[k] = np.exp(exponents[k] - reference)
        previous = -1
        for k in changed:
            block = k // BLOCK
            if block != previous:
                blocks[block] = weights[block * BLOCK : (block + 1) * BLOCK].sum()
                previous = block
        everything = blocks.sum() < np.exp(-_FAR)
    if everything:
        reference = exponents.max()
        for k in range(exponents.size):
            weights[k] = np.exp(exponents[k] - reference)
        for block in range(blocks.size):
            blocks[block] = weights[block * BLOCK : (block + 1) * BLOCK].sum()
    return reference


@njit("i8(f8[::1], f8[::1], f8)", **_OPTIONS)
def choose(weights, blocks, uniform):
    """The candidate that a number drawn evenly from [0, 1) points at, when each has a share by its weight."""
    rest = uniform * blocks.sum()
    block = 0
    while block < blocks.size - 1 and rest >= blocks[block]:
        rest -= blocks[block]
        block += 1
    k = block * BLOCK
    end = min(k + BLOCK, weights.size) - 1
    while k < end and rest >= weights[k]:
        rest -= weights[k]
        k += 1
    return k
