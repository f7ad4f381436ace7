"""Draw from the discrete Gaussian by rejection, from random words, as far as floating point can decide.

How it works and why it is exact stands in `privacy/noise.py`. A comparison that rounding could turn is left to the
caller, who decides it in exact arithmetic.
"""

import numpy as np
from numba import njit

_LOG2 = float(np.log(2.0))
_WORD = 2.0**-32
_MARGIN = 2.0**-40  # the acceptance probability is known to this much of itself ...
_FLOOR = 2.0**-60  # ... and to this much where it is nearly 0
_FULL = np.uint32(0xFFFFFFFF)
_ENOUGH = 8  # words of a usual trial


@njit(
    "UniTuple(i8, 5)(i8[::1], i8, u4[::1], i8, u4[::1], f8[::1], i8, f8)",
    nogil=True,
    cache=True,
    error_model="numpy",
)
def draw(out, filled, words, at, cumulative, logs, width, rate):
    """Fill `out` from `filled` on with draws, reading `words` from `at` on.

    `cumulative` and `logs` describe the proposal, `width` is that of its blocks and `rate` is 1 / (2 σ²). Returns
    (filled, at, -1, 0, 0) when all is filled or the words have run out, and (filled, at, block, offset, sign and word)
    where a trial has to be decided by the caller, who puts the result in place, or draws on.
    """
    blocks = cumulative.size
    step = np.uint64(width)
    while filled < out.size:
        start = at
        if at + _ENOUGH > words.size:
            return filled, start, -1, 0, 0
        word = words[at]
        at += 1
        negative = word & np.uint32(1)
        choice = word >> np.uint32(1)
        block = 0
        while block < blocks and choice >= cumulative[block]:
            block += 1
        log = logs[block]
        if block == blocks:  # beyond the table each block has half the chance of the one before
            while words[at] == _FULL:
                block += 32
                at += 1
                if at + _ENOUGH > words.size:
                    return filled, start, -1, 0, 0
            word = words[at]
            at += 1
            while word & np.uint32(1):
                block += 1
                word >>= np.uint32(1)
            log += (block - blocks + 1) * _LOG2
        offset = np.uint64(0)
        if step > np.uint64(1):
            if step <= np.uint64(0xFFFFFFFF):
                product = np.uint64(words[at]) * step
                at += 1
                if (product & np.uint64(0xFFFFFFFF)) < step:
                    uneven = (np.uint64(1) << np.uint64(32)) % step
                    while (product & np.uint64(0xFFFFFFFF)) < uneven:
                        if at + _ENOUGH > words.size:
                            return filled, start, -1, 0, 0
                        product = np.uint64(words[at]) * step
                        at += 1
                offset = product >> np.uint64(32)
            else:
                mask = step - np.uint64(1)
                for shift in (1, 2, 4, 8, 16, 32):
                    mask |= mask >> np.uint64(shift)
                offset = step
                while offset >= step:
                    if at + _ENOUGH > words.size:
                        return filled, start, -1, 0, 0
                    offset = (np.uint64(words[at]) << np.uint64(32) | np.uint64(words[at + 1])) & mask
                    at += 2
        if negative and block == 0 and offset == 0:
            continue  # 0 has one sign only
        word = words[at]
        at += 1
        x = np.float64(block) * np.float64(step) + np.float64(offset)
        chance = np.exp(log - x * x * rate)
        least = word * _WORD
        if least + _WORD <= chance * (1 - _MARGIN):
            value = np.int64(np.uint64(block) * step + offset)
            out[filled] = -value if negative else value
            filled += 1
        elif least < chance * (1 + _MARGIN) + _FLOOR:
            return filled, at, block, np.int64(offset), np.int64(negative) << np.int64(32) | np.int64(word)
    return filled, at, -1, 0, 0


@njit("(f8[::1], i8[::1], i8[::1], i8)", nogil=True, cache=True, error_model="numpy")
def _difference(out, cells, shape, scale):
    size = inner = cells.size
    kept = np.empty(size, np.int64)
    for axis in range(shape.size):
        n = shape[axis]
        inner //= n
        at = 0
        for outer in range(size // (n * inner)):
            first = outer * n * inner
            kept[:inner] = cells[first : first + inner]
            # What is written lies before what is still to be read, but for the first slice, which is kept.
            for place in range(first + inner, first + n * inner, inner):
                for cell in range(inner):
                    cells[at] = cells[place + cell] - kept[cell]
                    at += 1
        size = at
    for place in range(size):
        out[place] = cells[place] / scale


def difference(cells, scale):
    """`sub` along every axis of an array of whole numbers, which is overwritten, divided by `scale` at the very end.

    Paper: Table 1. Until the division all is exact, modulo 2^64.
    """
    out = np.empty([n - 1 for n in cells.shape])
    _difference(out.reshape(-1), cells.reshape(-1), np.array(cells.shape, dtype=np.int64), scale)
    return out
