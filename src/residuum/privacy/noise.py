"""Exact noise: integers from the discrete Gaussian, whose probabilities are not rounded anywhere.

The probability of x is proportional to exp(-x² / (2σ²)), for any σ² that is a fraction of whole numbers. Drawn by
rejection: |x| = k · step + offset, where the *block* k is proposed from a fixed table, the offset evenly from 0 to
step - 1, the sign by a coin (0 has one sign only), and the trial is accepted with probability
(least / chance of k) · exp(-x² / (2σ²)). Everything but the last is whole numbers: the chances of the blocks are
multiples of 2⁻³¹, and each block beyond the table has half the chance of the one before it. The acceptance is a
probability because |x| >= k · step >= k σ / r, and the chance of k is at least `least` · exp(-k² / 2r²).

A trial is accepted if a number drawn evenly from [0, 1) is below the acceptance probability. The kernel compares its
first 32 bits with the probability in floating point, whose error is bounded. Where that does not decide, about once in
a billion draws, `exact.below` does, with as many more bits as it takes. So the result has the exact distribution,
modulo 2⁶⁴: what that means for privacy stands in docs/privacy.md.
"""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import exp, isqrt, log, pi, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residuum import kernels
from residuum.core.checks import positive
from residuum.errors import ResiduumError
from residuum.privacy.exact import Uniform, below

Integers = NDArray[np.int64]
Words = NDArray[np.uint32]

_LARGEST_SIGMA = 2**56
_MOST_WORDS = 1 << 16
_WHOLE = 2**31


class Noise:
    """Exact noise made from random words; where the words come from is for the kinds of noise to say.

    `name` tells one source from another, `caveat` what a release must say of it.
    """

    name: str
    caveat: str | None = None

    def source(self) -> Callable[[int], Words]:
        """Where the next draw has its random words from: a function that gives as many as asked for."""
        raise NotImplementedError

    def gaussian(self, shape: tuple[int, ...], sigma2: float, scale: int = 1) -> Integers:
        """Independent draws from the discrete Gaussian with parameter scale² · σ², exact modulo 2⁶⁴."""
        proposal = _proposal(positive(sigma2, "sigma2"), scale)
        words = self.source()
        out = np.empty(prod(shape), dtype=np.int64)
        fresh, at, filled = words(proposal.words(out.size)), 0, 0
        while True:
            trial: Any = kernels.draw(
                out, filled, fresh, at, proposal.cumulative, proposal.logs, proposal.step, proposal.rate
            )
            filled, at, block, offset, word = trial
            if block >= 0:
                uniform = Uniform(word & 0xFFFFFFFF, 32, lambda: int(words(1)[0]))
                if proposal.accepts(block, offset, uniform):
                    value = block * proposal.step + offset
                    out[filled] = _modulo(-value if word >> 32 else value)
                    filled += 1
            elif filled < out.size:
                fresh, at = np.concatenate([fresh[at:], words(proposal.words(out.size - filled))]), 0
            else:
                return out.reshape(shape)

    def skip(self, draws: int) -> None:
        """Go past draws whose outcome is known. It matters only where the number of a draw decides what it gives."""

    def uniform(self) -> Uniform:
        """A number drawn evenly from [0, 1), to as many bits as are asked of it."""
        words = self.source()
        first, second = words(2).tolist()
        return Uniform(first << 32 | second, 64, lambda: int(words(1)[0]))


class SystemNoise(Noise):
    """Noise from the operating system's source of entropy. Nothing is kept between draws, so a fork changes nothing.

    >>> SystemNoise().uniform().number == SystemNoise().uniform().number
    False
    """

    def __init__(self) -> None:
        self.name = f"system {secrets.token_hex(8)}"

    def source(self) -> Callable[[int], Words]:
        """The operating system."""
        return _system_words


def _system_words(count: int) -> Words:
    return np.frombuffer(bytearray(os.urandom(4 * count)), dtype=np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The chances of the blocks, in units of 2⁻³¹, for blocks as wide as σ / r or wider."""

    r: int
    chances: tuple[int, ...]
    beyond: int
    """The chance of all blocks beyond the table together."""
    least: int

    def chance(self, block: int) -> Fraction:
        """The chance that a block is proposed."""
        further = block - len(self.chances)
        return Fraction(self.chances[block]) if further < 0 else Fraction(self.beyond, 2 << further)


@cache
def _table(r: int) -> Table:
    """Chances as close to exp(-k² / 2r²) as units allow, never below `least` times that."""
    heights = [exp(-(k**2) / (2 * r**2)) for k in range(4 * r + 1)]
    # From block 4r on, exp(-k² / 2r²) at least halves from block to block (for r up to 5), as the chances do.
    highest = (_WHOLE - len(heights)) / (sum(heights) + heights[-1])
    chances = tuple(int(highest * height) + 1 for height in heights[:-1])
    return Table(r, chances, _WHOLE - sum(chances), int(highest) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Proposal:
    """How to draw for one σ²: a table, the width of its blocks, and what the kernel needs of both."""

    table: Table
    step: int
    power: Fraction
    """1 / (2σ²)"""
    rate: float
    """The same, rounded."""
    acceptance: float
    cumulative: Words
    logs: NDArray[np.float64]

    def accepts(self, block: int, offset: int, uniform: Uniform) -> bool:
        """Whether a trial is accepted, decided exactly."""
        x = block * self.step + offset
        return below(uniform, self.table.least / self.table.chance(block), -self.power * x**2)

    def words(self, draws: int) -> int:
        """About as many words as so many draws will take."""
        return min(int(draws * 4.2 / self.acceptance) + 32, _MOST_WORDS)


@lru_cache(maxsize=4096)
def _proposal(sigma2: float, scale: int) -> _Proposal:
    numerator, denominator = sigma2.as_integer_ratio()
    numerator *= scale**2
    check_size(sigma2, scale)
    best = max((_fit(_table(r), numerator, denominator) for r in (1, 2, 4)), key=lambda fit: fit[0])
    acceptance, table, step = best
    logs = [log(table.least / chance) for chance in (*table.chances, table.beyond)]
    return _Proposal(
        table,
        step,
        Fraction(denominator, 2 * numerator),
        denominator / (2 * numerator),
        acceptance,
        np.cumsum(table.chances).astype(np.uint32),
        np.array(logs),
    )


def check_size(sigma2: float, scale: int) -> None:
    """Refuse noise that 64-bit integers have no room for, from public quantities and before anything is drawn."""
    numerator, denominator = sigma2.as_integer_ratio()
    if numerator * scale**2 > _LARGEST_SIGMA**2 * denominator:
        raise ResiduumError(
            f"The budget asks for noise of about {sqrt(sigma2):.1e} people, more than can be computed with. "
            "Give a larger budget or a smaller workload."
        )


def _fit(table: Table, numerator: int, denominator: int) -> tuple[float, Table, int]:
    """The share of trials that a table's proposal gets accepted, and the width of its blocks: the least >= σ / r."""
    least_square = -(-numerator // (denominator * table.r**2))
    step = isqrt(least_square - 1) + 1
    sigma = sqrt(numerator / denominator)
    mass = max(1.0, sigma * sqrt(2 * pi)) / 2  # of exp(-x² / 2σ²) over x > 0, with half of 0
    return mass / step * table.least / _WHOLE, table, step


def _modulo(value: int) -> int:
    """The value as 64 bits hold it."""
    return (value + 2**63) % 2**64 - 2**63
