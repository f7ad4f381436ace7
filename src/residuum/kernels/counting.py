"""Count the rows of a table: histograms of combined codes, and populations of bit maps.

A histogram costs one step per row, whatever the number of cells. For a small clique it is cheaper to keep, for every
value of every attribute, a map with one bit per row, and to count the bits that are set in all maps of a cell. The
cells where some attribute has its first value need no map: they follow from the counts of lower order. Every kernel
adds to what is there, so that a table can be counted a block of rows at a time.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

Codes = NDArray[np.unsignedinteger]
Counts = NDArray[np.int32]

_OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy"}
_ANY_CODES = ("u1[::1]", "u2[::1]", "u4[::1]")
_instruction: Any = intrinsic


@_instruction
def _population(_context, _word):
    """How many bits of a word are set."""

    def generate(context, builder, signature, arguments):
        word = ir.IntType(64)
        count = cgutils.get_or_insert_function(builder.module, ir.FunctionType(word, [word]), "llvm.ctpop.i64")
        return builder.call(count, arguments)

    return types.uint64(types.uint64), generate


@njit([f"void(u8[::1], {codes}, i8, u8[::1])" for codes in _ANY_CODES], **_OPTIONS)
def extend(prefix, codes, n, out):
    """The code of each row over one attribute more: `prefix * n + codes`."""
    for row in range(codes.size):
        out[row] = prefix[row] * np.uint64(n) + np.uint64(codes[row])


@njit([f"void(u8[::1], {codes}, i8, i4[::1])" for codes in _ANY_CODES], **_OPTIONS)
def tally(prefix, codes, n, out):
    """Add the histogram of `prefix * n + codes` to `out`."""
    for row in range(codes.size):
        out[prefix[row] * np.uint64(n) + np.uint64(codes[row])] += np.int32(1)


@njit([f"void({codes}, i8, u8[:, ::1])" for codes in _ANY_CODES], **_OPTIONS)
def bitmaps(codes, n, out):
    """For each value from 1 to n - 1, which rows have it: `out[value - 1]`, with 64 rows in a word."""
    for word in range(out.shape[1]):
        start = word * 64
        for value in range(n - 1):
            out[value, word] = np.uint64(0)
        for bit in range(min(64, codes.size - start)):
            value = np.int64(codes[start + bit])
            if value > 0:
                out[value - 1, word] |= np.uint64(1) << np.uint64(bit)


@njit("i8(u8[::1], u8[::1])", **_OPTIONS)
def _common(one, two):
    """How many rows are in both maps."""
    count = np.uint64(0)
    for word in range(one.size):
        count += _population(one[word] & two[word])
    return np.int64(count)


@njit("void(u8[:, ::1], i8[::1], i8[::1], i8, i8, i4[::1], i8)", **_OPTIONS)
def population_pair(maps, first, sizes, i, j, out, at):
    """Add the rows of each cell of the marginal over i and j that is beyond the first values.

    `first[i]` is the row of `maps` where attribute i starts, `at` where the marginal is in `out`.
    """
    for a in range(1, sizes[i]):
        for b in range(1, sizes[j]):
            count = _common(maps[first[i] + a - 1], maps[first[j] + b - 1])
            out[at + a * sizes[j] + b] += np.int32(count)


@njit("void(u8[:, ::1], i8[::1], i8[::1], i8, i8, i8[::1], i4[::1], i8[::1])", **_OPTIONS)
def population_triples(maps, first, sizes, i, j, others, out, at):
    """The same for the marginals over i, j and each k of the `others`, which are at `out[at]`."""
    words = maps.shape[1]
    both = np.empty(words, np.uint64)
    for a in range(1, sizes[i]):
        for b in range(1, sizes[j]):
            one, two = maps[first[i] + a - 1], maps[first[j] + b - 1]
            for word in range(words):
                both[word] = one[word] & two[word]
            for t in range(others.size):
                k = others[t]
                row = at[t] + (a * sizes[j] + b) * sizes[k]
                for c in range(1, sizes[k]):
                    out[row + c] += np.int32(_common(both, maps[first[k] + c - 1]))


@njit("void(i4[::1], i8[:, ::1], i8[:, ::1])", **_OPTIONS)
def complete(out, shapes, at):
    """Fill in the cells with a first value, from the marginals of one order less.

    A row of `shapes` holds the sizes of a marginal over i, j and k, and one of `at` where in `out` the marginals over
    (i, j, k), (i, j), (i, k) and (j, k) are. A marginal over i and j has a k with one value, of which nothing is asked:
    its (i, k) and (j, k) are those over i and over j.
    """
    for t in range(at.shape[0]):
        ni, nj, nk = shapes[t, 0], shapes[t, 1], shapes[t, 2]
        ijk, ij, ik, jk = at[t, 0], at[t, 1], at[t, 2], at[t, 3]
        plane = nj * nk
        if nk > 1:
            for a in range(1, ni):
                for b in range(1, nj):
                    row = ijk + a * plane + b * nk
                    rest = out[ij + a * nj + b]
                    for c in range(1, nk):
                        rest -= out[row + c]
                    out[row] = rest
        for a in range(1, ni):
            for c in range(nk):
                rest = out[ik + a * nk + c]
                for b in range(1, nj):
                    rest -= out[ijk + a * plane + b * nk + c]
                out[ijk + a * plane + c] = rest
        for cell in range(plane):
            rest = out[jk + cell]
            for a in range(1, ni):
                rest -= out[ijk + a * plane + cell]
            out[ijk + cell] = rest
