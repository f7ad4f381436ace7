"""Count the rows of a table: histograms of combined codes, and populations of bit maps.

A histogram costs one step per row, whatever the number of cells. For a small clique it is cheaper to keep, for every
value of every attribute, a map with one bit per row, and to count the bits that are set in all maps of a cell. The
cells where some attribute has its first value need no map: they follow from the counts of lower order.
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


@njit("void(u8[:, ::1], i8[::1], i8[::1], i8, i8, i4[::1], i8, i8, i8)", **_OPTIONS)
def population_pair(maps, first, sizes, i, j, out, at_i, at_j, at_ij):
    """The marginal over two attributes, from their maps and the marginals over each.

    `first[i]` is the row of `maps` where attribute i starts; the marginals are in `out`, at the places given.
    """
    n, m = sizes[i], sizes[j]
    for b in range(m):
        out[at_ij + b] = out[at_j + b]
    for a in range(1, n):
        rest = out[at_i + a]
        for b in range(1, m):
            count = np.int32(_common(maps[first[i] + a - 1], maps[first[j] + b - 1]))
            out[at_ij + a * m + b] = count
            out[at_ij + b] -= count
            rest -= count
        out[at_ij + a * m] = rest
        out[at_ij] -= rest


@njit("void(u8[:, ::1], i8[::1], i8[::1], i8, i8, i8[::1], i4[::1], i8, i8[:, ::1])", **_OPTIONS)
def population_triples(maps, first, sizes, i, j, others, out, at_ij, at):
    """The marginals over i, j and each of the `others`, from their maps and the marginals over two of them.

    The marginal over i and j is at `out[at_ij]`; `at` holds a row for each k of the others: where the marginals over
    (i, k), (j, k) and (i, j, k) are.
    """
    ni, nj, words = sizes[i], sizes[j], maps.shape[1]
    both = np.empty(words, np.uint64)
    for t in range(others.size):
        k = others[t]
        nk = sizes[k]
        at_ik, at_jk, at_ijk = at[t, 0], at[t, 1], at[t, 2]
        for cell in range(nj * nk):
            out[at_ijk + cell] = out[at_jk + cell]
        for a in range(1, ni):
            for c in range(nk):
                out[at_ijk + a * nj * nk + c] = out[at_ik + a * nk + c]
    for a in range(1, ni):
        for b in range(1, nj):
            one, two = maps[first[i] + a - 1], maps[first[j] + b - 1]
            for word in range(words):
                both[word] = one[word] & two[word]
            for t in range(others.size):
                k = others[t]
                nk = sizes[k]
                at_ijk = at[t, 2]
                row = at_ijk + (a * nj + b) * nk
                rest = out[at_ij + a * nj + b]
                for c in range(1, nk):
                    count = np.int32(_common(both, maps[first[k] + c - 1]))
                    out[row + c] = count
                    rest -= count
                out[row] = rest
    for t in range(others.size):
        nk = sizes[others[t]]
        at_ijk = at[t, 2]
        for a in range(1, ni):
            for b in range(1, nj):
                for c in range(nk):
                    out[at_ijk + a * nj * nk + c] -= out[at_ijk + (a * nj + b) * nk + c]
            for b in range(nj):
                for c in range(nk):
                    out[at_ijk + b * nk + c] -= out[at_ijk + (a * nj + b) * nk + c]
