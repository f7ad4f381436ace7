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


def add_above(
    cells: Array,
    component: Array,
    tau: Integers,
    above: Integers,
    starts: Integers,
    attributes: Integers,
    sizes: Integers,
) -> None:
    """Twin of `component.add_above`."""
    for position in above:
        gamma = attributes[position][attributes[position] >= 0]
        target = cells[starts[position] : starts[position + 1]].reshape(sizes[gamma])
        axes = tuple(np.flatnonzero(np.isin(gamma, tau)).tolist())
        add_component(target, component.reshape(sizes[tau]), axes)


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


def weigh(
    norms: Integers,
    rates: Array,
    offsets: Array,
    exponents: Array,
    weights: Array,
    blocks: Array,
    changed: Integers,
    state: Array,
) -> None:
    """Twin of `choice.weigh`."""
    starts = np.arange(0, exponents.size, BLOCK)
    gains = rates * norms[1:]
    everything, changed = changed.size == 0, changed[changed > 0] - 1
    exponents[changed] = gains[changed] - offsets[changed]
    state[1] = max([state[1], *(gains + offsets)[changed]])
    if not everything and (exponents[changed] - state[0] <= _FAR).all():
        weights[changed] = np.exp(exponents[changed] - state[0])
        blocks[:] = np.add.reduceat(weights, starts)
        if blocks.sum() >= np.exp(-_FAR):
            return
    exponents[:] = gains - offsets
    state[:] = exponents.max(), (gains + offsets).max()
    weights[:] = np.exp(exponents - state[0])
    blocks[:] = np.add.reduceat(weights, starts)


def choose(weights: Array, blocks: Array, uniform: float, largest: float) -> int:
    """Twin of `choice.choose`."""
    ends = np.cumsum(weights)
    error = (2.0**-40 + 2.0**-48 * largest + 2.0**-50 * (blocks.size + BLOCK)) * ends[-1]
    aim = uniform * ends[-1]
    k = min(int(np.searchsorted(ends, aim, side="right")), weights.size - 1)
    return k if aim - (ends[k] - weights[k]) > error and ends[k] - aim > error else -1


def draw(
    out: Integers,
    filled: int,
    words: NDArray[np.uint32],
    at: int,
    cumulative: NDArray[np.uint32],
    logs: Array,
    width: int,
    rate: float,
) -> tuple[int, int, int, int, int]:
    """Twin of `gaussian.draw`."""
    source, step = words.tolist(), int(width)
    while filled < out.size:
        start = at
        try:
            if at + 8 > len(source):
                raise IndexError
            word, at = source[at], at + 1
            negative = word & 1
            block = int(np.searchsorted(cumulative, word >> 1, side="right"))
            log = logs[block]
            if block == cumulative.size:
                ones = 0
                while source[at] == 2**32 - 1:
                    ones, at = ones + 32, at + 1
                    if at + 8 > len(source):
                        raise IndexError
                ones += len(f"{source[at]:032b}") - len(f"{source[at]:032b}".rstrip("1"))
                block, at = block + ones, at + 1
                log += (ones + 1) * np.log(2.0)
            offset, at = _below(step, source, at)
        except IndexError:
            return filled, start, -1, 0, 0
        if negative and block == 0 and offset == 0:
            continue
        word, at = source[at], at + 1
        x = float(block) * float(step) + float(offset)
        chance = np.exp(log - x * x * rate)
        if (word + 1) * 2.0**-32 <= chance * (1 - 2.0**-40):
            value = (block * step + offset) * (-1 if negative else 1)
            out[filled] = (value + 2**63) % 2**64 - 2**63
            filled += 1
        elif word * 2.0**-32 < chance * (1 + 2.0**-40) + 2.0**-60:
            return filled, at, block, offset, negative << 32 | word
    return filled, at, -1, 0, 0


def _below(step: int, source: list[int], at: int) -> tuple[int, int]:
    """A number drawn evenly from those below `step`, and where the next word is."""
    if step == 1:
        return 0, at
    if step < 2**32:
        product, at = source[at] * step, at + 1
        while product % 2**32 < 2**32 % step:
            if at + 8 > len(source):
                raise IndexError
            product, at = source[at] * step, at + 1
        return product >> 32, at
    while True:
        if at + 8 > len(source):
            raise IndexError
        number = (source[at] << 32 | source[at + 1]) & ((1 << (step - 1).bit_length()) - 1)
        at += 2
        if number < step:
            return number, at


def difference(cells: NDArray[np.int64], scale: int) -> Array:
    """Twin of `gaussian.difference`."""
    for axis in range(cells.ndim):
        first, rest = np.split(cells, [1], axis)
        cells = rest - first
    return cells / scale


def _bits(maps: Words, first: Integers, sizes: Integers, i: int) -> Counts:
    """An attribute's maps with one number per row, shape (n - 1, rows)."""
    words = maps[first[i] : first[i] + sizes[i] - 1]
    return np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little").astype(np.int32)
