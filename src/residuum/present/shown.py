"""What of a marginal is drawn: labels as plain texts, the largest values, and the notes beside."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residuum.estimate.intervals import REACH
from residuum.marginal import Marginal

MOST_PANELS = 24
"""Three attributes make a panel for each value of the last; of more values than this, the largest are shown."""

_ESTIMATES = {
    "best": "what was measured, drawn towards a model as far as its noise suggests",
    "latent": "what latent classes predict, fitted to all that was measured",
    "nonnegative": "the table nearest to what was measured that has no negative counts",
    "mle": "what was measured as it is, negative counts included",
}

_JOINERS = "\u200c\u200d"
"""Not printable by themselves, and yet part of how words are written."""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The part of a marginal that is drawn."""

    marginal: Marginal
    names: tuple[str, ...]
    """What the attributes are called on the plot."""
    labels: tuple[tuple[str, ...], ...]
    """What the values are called of each attribute that are shown; no two alike."""
    values: NDArray[Any]
    stderr: NDArray[Any] | None
    lower: NDArray[Any] | None
    upper: NDArray[Any] | None
    heat: bool
    """Whether it is a heat map, whose intervals show only when asked for."""

    @classmethod
    def of(cls, marginal: Marginal, most: int, *, heat: bool = False) -> "Shown":
        """The most frequent values of each attribute, as many as make `most` cells at most.

        >>> marginal = Marginal(("age",), np.array([5.0, 20.0, 30.0]), 1.0, (), (None,))
        >>> Shown.of(marginal, 2).labels
        (('1', '2'),)
        """
        kept = _largest(marginal.values, most)
        place = np.ix_(*kept) if kept else ()

        def part(array: NDArray[Any] | None) -> NDArray[Any] | None:
            return None if array is None else np.asarray(array[place])

        values = (
            named_values(labels, size) for labels, size in zip(marginal.labels, marginal.values.shape, strict=True)
        )
        return cls(
            marginal,
            tuple(_apart(map(plain, marginal.attributes))),
            tuple(tuple(texts[k] for k in codes) for texts, codes in zip(values, kept, strict=True)),
            np.asarray(marginal.values[place]),
            part(marginal.stderr),
            part(marginal.lower),
            part(marginal.upper),
            heat,
        )

    @property
    def title(self) -> str:
        """The attributes in one line."""
        return named(self.marginal.attributes) or "Everyone"

    @property
    def cut(self) -> bool:
        """Whether something is left out."""
        return self.values.size < self.marginal.values.size

    def notes(self, caveats: Iterable[str] = ()) -> list[str]:
        """What a reader has to know of the numbers."""
        marginal = self.marginal
        first = f"Estimated counts of people ({marginal.estimate}: {_ESTIMATES[marginal.estimate]})."
        lines = [f"Caveat: {plain(str(caveat))}." for caveat in caveats]
        lines.append(first if self.heat or self.stderr is None else f"{first} The lines are 95% intervals.")
        if marginal.stderr is None:
            lines.append("How far they may be off is not known, so they have no intervals.")
        if marginal.unmeasured:
            how = "taken as zero" if marginal.estimate in ("mle", "nonnegative") else "estimated from what was"
            lines.append(f"Never measured and {how}: {listing(map(named, marginal.unmeasured))}.")
        if self.cut:
            some = (
                f"{len(labels):,} of the {size:,} values of {name}"
                for name, labels, size in zip(self.names, self.labels, marginal.values.shape, strict=True)
                if len(labels) < size
            )
            lines.append(f"Cut to the most frequent: {', '.join(some)}.")
        return lines

    def wrapped(self, line: str) -> list[str]:
        """A note in lines that are not much wider than a plot."""
        return wrap(line, 78, break_long_words=False) or [""]

    def cells(self, figures: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """A row per cell: labels as a0, a1, a2; count v, interval lo to hi, and a text t where there are `figures`.

        >>> Shown.of(Marginal(("sex",), np.array([8.0, 53.0]), 1.0, (), (("f", "m"),)), 10).cells()
        [{'a0': 'f', 'v': 8.0}, {'a0': 'm', 'v': 53.0}]
        """
        rows: list[dict[str, Any]] = [
            {f"a{k}": text for k, text in enumerate(texts)} for texts in product(*(self.labels or (("everyone",),)))
        ]
        for name, numbers in (("v", self.values), ("lo", self.lower), ("hi", self.upper)):
            if numbers is not None:
                for row, value in zip(rows, numbers.reshape(-1).tolist(), strict=True):
                    row[name] = round(value, 2)
        for row, text in zip(rows, figures or (), strict=False):
            row["t"] = text
        return rows

    def figures(self, *, intervals: bool = True) -> list[str]:
        """The counts, with the reach of their intervals, in as many digits as make sense.

        >>> marginal = Marginal(("sex",), np.array([8.0, 53.0]), 1.0, (), (("f", "m"),), "mle", np.full(2, 5.0))
        >>> Shown.of(marginal, 10).figures()
        ['8.0 ± 9.8', '53.0 ± 9.8']
        """
        values = self.values.reshape(-1).tolist()
        if self.stderr is None:
            return [figure(value, self.marginal.noise_stderr) for value in values]
        halves = (REACH * self.stderr).reshape(-1).tolist()
        texts = [figure(value, max(halves)) for value in values]
        return (
            [f"{text} ± {figure(half, max(halves))}" for text, half in zip(texts, halves, strict=True)]
            if intervals
            else texts
        )


def plain(text: str) -> str:
    """A text with nothing in it that is not seen.

    >>> plain("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return "".join(c if c.isprintable() or c in _JOINERS else c.encode("unicode_escape").decode("ascii") for c in text)


def named(attributes: Sequence[str]) -> str:
    """The name of a marginal, or of a component.

    >>> named(("age", "sex"))
    'age × sex'
    """
    return " × ".join(map(plain, attributes))


def listing(names: Iterable[str], most: int = 8) -> str:
    """Some names, and how many more there are.

    >>> listing(["age", "sex", "pet"], most=2)
    'age, sex and 1 more'
    """
    all_of_them = [name or "total" for name in names]
    shown = ", ".join(all_of_them[:most])
    return shown if len(all_of_them) <= most else f"{shown} and {len(all_of_them) - most:,} more"


def figure(value: float, half: float) -> str:
    """As many digits as an interval makes sense of, and no minus before a zero.

    >>> figure(1234.56, 20.0), figure(-0.04, 1.0)
    ('1,235', '0.0')
    """
    digits = 0 if half >= 10 else 1 if half >= 1 else 2
    return f"{round(value, digits) + 0.0:,.{digits}f}"


def _largest(values: NDArray[Any], most: int) -> list[NDArray[np.intp]]:
    """The codes of each attribute that are shown, in order: those with the largest sums."""
    limits = _limits(values.shape, most)
    kept = []
    for axis, limit in enumerate(limits):
        sums = values.sum(axis=tuple(k for k in range(values.ndim) if k != axis))
        kept.append(np.sort(np.argsort(-sums, kind="stable")[:limit]))
    return kept


def _limits(shape: tuple[int, ...], most: int) -> list[int]:
    """How many values of each attribute are shown: the same bound for all that makes no more than `most` cells."""
    panels = [MOST_PANELS if k == 2 else size for k, size in enumerate(shape)]
    within = [min(pair) for pair in zip(shape, panels, strict=True)]
    low, high = 1, max([1, *within])
    while low < high:
        middle = (low + high + 1) // 2
        if prod(min(size, middle) for size in within) <= most:
            low = middle
        else:
            high = middle - 1
    return [min(size, low) for size in within]


def named_values(labels: tuple[Any, ...] | None, size: int) -> list[str]:
    """What the values of an attribute are called on a plot.

    >>> named_values(("f", None, ""), 3)
    ['f', '(missing)', '(empty)']
    """
    if labels is None:
        return [str(code) for code in range(size)]
    return _apart(map(named_value, labels))


def named_value(label: object) -> str:
    """What one value is called, without regard to others that look alike.

    >>> named_value(None), named_value(""), named_value(7)
    ('(missing)', '(empty)', '7')
    """
    return "(missing)" if label is None else "(empty)" if label == "" else plain(str(label))


def _apart(texts: Iterable[str]) -> list[str]:
    """The texts, with a number behind those that came before."""
    seen: set[str] = set()
    found = []
    for text in texts:
        name, count = text, 1
        while name in seen:
            count += 1
            name = f"{text} ({count})"
        seen.add(name)
        found.append(name)
    return found
