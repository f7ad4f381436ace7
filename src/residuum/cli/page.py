"""What commands print: paragraphs, and marginals with their error bars. Colours come only where there is a terminal."""

from collections.abc import Iterable, Sequence
from itertools import islice, product
from math import exp

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from residuum.estimate.intervals import REACH
from residuum.marginal import Marginal

_MOST_ACROSS = 20
"""A second attribute with more values than this goes down the page and not across it, however wide that is."""


class Command(Text):
    """A line that is not broken."""


class _Terminal(Console):
    """A console that leaves it to the command what to do where nobody reads on."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Page:
    """A terminal to write on, in plain ASCII where its encoding demands that."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or _Terminal()
        self._parts: list[RenderableType] = []
        unicode = self._console.encoding.startswith("utf")
        self.within, self.times = ("±", "×") if unicode else ("+/-", "x")

    def head(self, text: str) -> None:
        """A heading."""
        self.text(f"\n{text}", "bold cyan")

    def text(self, text: str, style: str = "") -> None:
        """A paragraph."""
        self._parts.append(Text(text, style))

    def commands(self, *lines: str) -> None:
        """Commands to type, which are never broken: they are there to be copied."""
        self._parts += [Command(f"  {plain(line)}", "bold") for line in lines]

    def facts(self, facts: Iterable[tuple[str, str]]) -> None:
        """Names, and what there is to say of each."""
        grid = Grid.grid(padding=(0, 2))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, fact in facts:
            grid.add_row(plain(name), Text(plain(fact)))
        self._parts.append(Padding(grid, (0, 0, 0, 2), expand=False))

    def grid(self, heads: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> None:
        """A table, of which the first columns are texts and the others numbers."""
        grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for number, head in enumerate(heads):
            grid.add_column(Text(plain(head)), justify="left" if number < left else "right", overflow="fold")
        for row in rows:
            grid.add_row(*(Text(plain(cell)) for cell in row))
        self._parts.append(Padding(grid, (1, 0, 0, 2), expand=False))

    def clique(self, names: Sequence[str]) -> str:
        """The name of a marginal, or of a component."""
        return f" {self.times} ".join(map(plain, names)) or "total"

    def marginal(self, marginal: Marginal, most: int | None = None) -> None:
        """A marginal, each count with its 95% interval where that is known; `most` rows of it at most."""
        labels = [
            [plain(str(label)) for label in (range(size) if names is None else names)]
            for names, size in zip(marginal.labels, marginal.values.shape, strict=True)
        ]
        bars = self._bars(marginal)
        across = self._across(marginal, labels, bars)
        if across:
            heads, left, count = [self.clique(marginal.attributes), *labels[1]], 1, len(labels[0])
            each = iter(bars)
            rows = ([label, *islice(each, len(labels[1]))] for label in labels[0])
        else:
            heads, left, count = [*marginal.attributes, "people"], len(labels), marginal.values.size
            rows = ([*cell, bar] for cell, bar in zip(product(*labels), bars, strict=True))
        self.grid(heads, islice(rows, most), left=left)
        if most is not None and count > most:
            self.text(
                f"  ... and {counted(count - most, 'more row')}. --rows 0 shows all, -o FILE writes all to a file."
            )
        if marginal.unmeasured:
            parts = ", ".join(map(self.clique, marginal.unmeasured))
            how = {"mle": "taken as zero", "nonnegative": "taken as zero"}.get(
                marginal.estimate, "estimated from what was"
            )
            self.text(f"Never measured and {how}: {parts}.", "yellow")
        if marginal.stderr is None:
            self.text("How far these counts may be off is not known, so they have no intervals.", "yellow")

    def _bars(self, marginal: Marginal) -> list[str]:
        """The counts with the reach of their intervals to either side."""
        if marginal.stderr is None:
            return [number(count, marginal.noise_stderr) for count in marginal.values.reshape(-1).tolist()]
        halves = (REACH * marginal.stderr).reshape(-1).tolist()
        widest, pairs = max(halves), zip(marginal.values.reshape(-1).tolist(), halves, strict=True)
        return [f"{number(count, widest)} {self.within} {number(half, widest)}" for count, half in pairs]

    def _across(self, marginal: Marginal, labels: Sequence[Sequence[str]], bars: Sequence[str]) -> bool:
        """Whether the second of two attributes fits across the page."""
        if len(labels) != 2 or len(labels[1]) > _MOST_ACROSS:
            return False
        bar = max(map(len, bars))
        first = max(map(len, [self.clique(marginal.attributes), *labels[0]]))
        return first + sum(3 + max(bar, len(label)) for label in labels[1]) + 2 <= self._console.width

    def turn(self) -> None:
        """Print what has been written, all at once."""
        parts, self._parts = self._parts, []
        for part in parts:
            self._console.print(part, soft_wrap=isinstance(part, Command))


def plain(text: str) -> str:
    """A text with nothing in it that moves the cursor or colours a terminal.

    >>> plain("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def number(value: float, half: float) -> str:
    """As many digits as the interval makes sense of, and no minus before a zero."""
    digits = 0 if half >= 10 else 1 if half >= 1 else 2
    return f"{round(value, digits) + 0.0:,.{digits}f}"


def factor(epsilon: float) -> str:
    """By how much epsilon lets a probability change."""
    power = f"e^{epsilon:g}"
    return f"{power} = {exp(epsilon):.3g}" if 0.01 <= epsilon < 700 else power


def budget(epsilon: float | None, delta: float | None, rho: float) -> str:
    """A budget as it was asked for."""
    if epsilon is None or delta is None:
        return f"rho = {rho:.4g} (zero-concentrated)"
    return f"epsilon = {epsilon:g}, delta = {delta:g} (rho = {rho:.4g})"


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "column"), counted(1200, "column")
    ('1 column', '1,200 columns')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def spread(stderrs: Sequence[float]) -> str:
    """Standard errors of several marginals in few words."""
    low, middle, high = (sorted(stderrs)[k] for k in (0, len(stderrs) // 2, -1))
    if number(low, low) == number(high, high):
        return number(low, low)
    return f"{number(low, low)} to {number(high, high)}, mostly about {number(middle, middle)}"
