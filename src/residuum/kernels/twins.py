"""Every kernel once more in plain NumPy: what the compiled ones are compared with, and the place to read first."""

from functools import reduce
from operator import truediv

import numpy as np
from numpy.typing import NDArray

from residuum.kernels import BLOCK

Array = NDArray[np.float64]
Words = NDArray[np.uint64]
Integers = NDArray[np.int64]
Codes = NDArray[np.unsignedinteger]
Counts = NDArray[np.int32]

_FAR = 600.0  # as in `choice`


def sub_all(mu: Array) -> tuple[Array, float]:
    """Twin of `sub.sub_all`."""
    for axis in range(mu.ndim):
        first, rest = np.split(mu, [1], axis)
        mu = rest - first
    return mu, float(np.abs(mu).sum())


def center_all(z: Array) -> Array:
    """Twin of `center.center_all`."""
    for axis in range(z.ndim):
        padded = np.insert(z, 0, 0.0, axis)
        z = padded - padded.mean(axis, keepdims=True)
    return z


def add_component(target: Array, component: Array, axes: tuple[int, ...]) -> float:
    """Twin of `component.add_component`."""
    others = [axis for axis in range(target.ndim) if axis not in axes]
    target += np.expand_dims(component, others) / np.prod([target.shape[axis] for axis in others])
    return float(np.abs(target).sum())


def extend(prefix: Words, codes: Codes, n: int, out: Words) -> None:
    """Twin of `counting.extend`."""
    out[:] = prefix * np.uint64(n) + codes


def tally(prefix: Words, codes: Codes, n: int, out: Counts) -> None:
    """Twin of `counting.tally`."""
    np.add.at(out, prefix * np.uint64(n) + codes, 1)


def bitmaps(codes: Codes, n: int, out: Words) -> None:
    """Twin of `counting.bitmaps`."""
    bits = np.zeros((n - 1, out.shape[1] * 64), dtype=np.uint8)
    bits[:, : codes.size] = codes == np.arange(1, n)[:, None]
    out[:] = np.packbits(bits, axis=1, bitorder="little").view("<u8")


def population_pair(maps: Words, first: Integers, sizes: Integers, i: int, j: int, out: Counts, at: int) -> None:
    """Twin of `counting.population_pair`."""
    mu = out[at : at + sizes[i] * sizes[j]].reshape(sizes[i], sizes[j])
    mu[1:, 1:] += _bits(maps, first, sizes, i) @ _bits(maps, first, sizes, j).T


def population_triples(
    maps: Words, first: Integers, sizes: Integers, i: int, j: int, others: Integers, out: Counts, at: Integers
) -> None:
    """Twin of `counting.population_triples`."""
    for k, start in zip(others, at, strict=True):
        shape = sizes[i], sizes[j], sizes[k]
        mu = out[start : start + np.prod(shape)].reshape(shape)
        mu[1:, 1:, 1:] += np.einsum("ar,br,cr->abc", *(_bits(maps, first, sizes, axis) for axis in (i, j, k)))


def complete(out: Counts, shapes: Integers, at: Integers) -> None:
    """Twin of `counting.complete`."""
    for (ni, nj, nk), (ijk, ij, ik, jk) in zip(shapes, at, strict=True):
        mu = out[ijk : ijk + ni * nj * nk].reshape(ni, nj, nk)
        if nk > 1:
            mu[1:, 1:, 0] = out[ij : ij + ni * nj].reshape(ni, nj)[1:, 1:] - mu[1:, 1:, 1:].sum(axis=2)
        mu[1:, 0] = out[ik : ik + ni * nk].reshape(ni, nk)[1:] - mu[1:, 1:].sum(axis=1)
        mu[0] = out[jk : jk + nj * nk].reshape(nj, nk) - mu[1:].sum(axis=0)


def subtract_component(
    differences: NDArray[np.int32] | NDArray[np.int64],
    norms: Integers,
    component: Array,
    tau: Integers,
    above: Integers,
    starts: Integers,
    attributes: Integers,
    sizes: Integers,
    scales: Array,
) -> None:
    """Twin of `differences.subtract_component`."""
    for position in above:
        gamma = attributes[position][attributes[position] >= 0]
        others = [axis for axis, i in enumerate(gamma) if i not in tau]
        factor = reduce(truediv, sizes[gamma[others]], scales[position])
        rounded = np.rint(np.expand_dims(component.reshape(sizes[tau]), others) * factor)
        cells = differences[starts[position] : starts[position + 1]].reshape(sizes[gamma])
        cells -= rounded.astype(differences.dtype)
        most = 2**62 // cells.size
        norms[position] = np.abs(np.clip(cells.astype(np.int64), -most, most)).sum()


def weigh(exponents: Array, weights: Array, blocks: Array, changed: Integers, reference: float) -> float:
    """Twin of `choice.weigh`."""
    starts = np.arange(0, exponents.size, BLOCK)
    if changed.size and exponents[changed].max() - reference <= _FAR:
        weights[changed] = np.exp(exponents[changed] - reference)
        blocks[:] = np.add.reduceat(weights, starts)
        if blocks.sum() >= np.exp(-_FAR):
            return reference
    reference = float(exponents.max())
    weights[:] = np.exp(exponents - reference)
    blocks[:] = np.add.reduceat(weights, starts)
    return reference


def choose(weights: Array, blocks: Array, uniform: float) -> int:
    """Twin of `choice.choose`."""
    reached = np.searchsorted(np.cumsum(weights), uniform * blocks.sum(), side="right")
    return min(int(reached), weights.size - 1)


def _bits(maps: Words, first: Integers, sizes: Integers, i: int) -> Counts:
    """An attribute's maps with one number per row, shape (n - 1, rows)."""
    words = maps[first[i] : first[i] + sizes[i] - 1]
    return np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little").astype(np.int32)
