"""Choose one of many candidates with the exponential mechanism, renewing only the weights that changed."""

import numpy as np
from numba import njit

from residuum.kernels import BLOCK

_FAR = 600.0  # exponents stay this close to the reference, far from where a double overflows

_OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy"}


@njit("void(i8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], i8[::1], f8[::1])", **_OPTIONS)
def weigh(norms, rates, offsets, exponents, weights, blocks, changed, state):
    """Renew the weights exp(rate · norm - offset - reference) of what changed, and the blocks they are in.

    `norms` begins with the total, which is no candidate; `changed` lists places in it, and a change of all is given as
    an empty list. `state` holds the reference, which moves to the largest exponent where it has to, upon which all is
    renewed, and a bound of rate · norm and offset, added up, over all candidates.
    """
    everything = changed.size == 0
    if not everything:
        for place in changed:
            if place > 0:
                k = place - 1
                gain = rates[k] * norms[place]
                exponents[k] = gain - offsets[k]
                state[1] = max(state[1], gain + offsets[k])
                if exponents[k] - state[0] > _FAR:
                    everything = True
    if not everything:
        for place in changed:
            if place > 0:
                weights[place - 1] = np.exp(exponents[place - 1] - state[0])
        previous = -1
        for place in changed:
            block = (place - 1) // BLOCK
            if block != previous and place > 0:
                blocks[block] = weights[block * BLOCK : (block + 1) * BLOCK].sum()
                previous = block
        everything = blocks.sum() < np.exp(-_FAR)
    if everything:
        state[1] = 0.0
        for k in range(weights.size):
            gain = rates[k] * norms[k + 1]
            exponents[k] = gain - offsets[k]
            state[1] = max(state[1], gain + offsets[k])
        state[0] = exponents.max()
        for k in range(weights.size):
            weights[k] = np.exp(exponents[k] - state[0])
        for block in range(blocks.size):
            blocks[block] = weights[block * BLOCK : (block + 1) * BLOCK].sum()


@njit("i8(f8[::1], f8[::1], f8, f8)", **_OPTIONS)
def choose(weights, blocks, uniform, largest):
    """The candidate that a number drawn evenly from [0, 1) points at, when each has a share by its weight.

    It is -1 where rounding errors might have moved the bounds of its share beyond the number: those of the exponents,
    made of parts not above `largest`, of their exponentials, of the sums, and of the number itself.
    """
    total = blocks.sum()
    error = (2.0**-40 + 2.0**-48 * largest + 2.0**-50 * (blocks.size + BLOCK)) * total
    rest = uniform * total
    block = 0
    while block < blocks.size - 1 and rest >= blocks[block]:
        rest -= blocks[block]
        block += 1
    k = block * BLOCK
    end = min(k + BLOCK, weights.size) - 1
    while k < end and rest >= weights[k]:
        rest -= weights[k]
        k += 1
    return k if rest > error and weights[k] - rest > error else -1
