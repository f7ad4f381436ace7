"""What somebody looks at: which marginal, which of its values, in which order, from which row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from residuum.core.domain import Domain
from residuum.errors import ReleaseError
from residuum.estimate.intervals import REACH
from residuum.marginal import Estimate, Marginal
from residuum.present.shown import named_value
from residuum.release import Release

Chart = Literal["map", "bars"]
Kept = tuple[tuple[int, ...] | None, ...]
"""For each attribute the codes that are wanted, or None for all."""

MOST_ATTRIBUTES = 3
MOST_CELLS = 1 << 23
"""Larger marginals are not for the eye, and take gigabytes on their way."""
MOST_LISTED = 5000
"""The values of an attribute with more are not listed to be ticked: a browser takes long to make so many boxes."""
ROWS = 200
"""How many rows of a table are on a page."""


@dataclass(frozen=True, slots=True)
class View:
    """What a link asks for.

    >>> view = View.asked({"by": ["sex", "age"], "keep1": ["0.2"], "sort": ["people"]}, Domain({"age": 4, "sex": 2}))
    >>> view.attributes, view.kept, view.sort, view.page
    (('sex', 'age'), (None, (0, 2)), 'people', 1)
    """

    attributes: tuple[str, ...]
    kept: Kept
    estimate: Estimate
    chart: Chart
    sort: str
    """By "cells", as the marginal has them; by an attribute's place, "0" to "2"; by "people" or by "error"."""
    falling: bool
    page: int
    charted: bool
    """Whether the chart is asked for as well; who turns a page has it already."""

    @classmethod
    def asked(cls, query: Mapping[str, Sequence[str]], domain: Domain) -> "View":
        """The view that the entries of a link name."""
        attributes = tuple(query.get("by", ()))
        if not 1 <= len(attributes) <= MOST_ATTRIBUTES:
            raise ReleaseError(
                f"Expected one to {MOST_ATTRIBUTES} attributes, got {len(attributes)}. "
                "`residuum query` writes marginals over more."
            )
        sizes = [domain.sizes[domain.clique(attribute)[0]] for attribute in attributes]
        return cls(
            attributes,
            tuple(_kept(_one(query, f"keep{k}", ""), size, attributes[k]) for k, size in enumerate(sizes)),
            _among(_one(query, "estimate", "best"), get_args(Estimate), "an estimate"),
            _among(_one(query, "chart", "map"), get_args(Chart), "a chart"),
            _among(
                _one(query, "sort", "cells"), ("cells", *map(str, range(len(sizes))), "people", "error"), "an order"
            ),
            _among(_one(query, "order", "up"), ("up", "down"), "a direction") == "down",
            _page(_one(query, "page", "1")),
            _among(_one(query, "part", "all"), ("all", "table"), "a part") == "all",
        )


def _one(query: Mapping[str, Sequence[str]], name: str, default: str) -> str:
    """The entry of a name that can have one only."""
    values = query.get(name) or [default]
    if len(values) > 1:
        raise ReleaseError(f"Expected {name!r} once in the address, got it {len(values)} times.")
    return values[0]


def _among(found: str, known: Sequence[str], what: str) -> Any:
    if found not in known:
        raise ReleaseError(f"Expected {what} among {', '.join(map(repr, known))}, got {found!r}.")
    return found


def _page(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text)):
        raise ReleaseError(f"Expected the number of a page, got {text!r}.")
    return int(text)


def _kept(text: str, size: int, attribute: str) -> tuple[int, ...] | None:
    """Codes, with dots between them."""
    if not text:
        return None
    parts = text.split(".")
    if not all(part.isascii() and part.isdigit() and len(part) < 10 and int(part) < size for part in parts):
        raise ReleaseError(f"Expected codes 0 to {size - 1} of attribute {attribute!r}, got {text[:40]!r}.")
    codes = tuple(sorted(set(map(int, parts))))
    return None if len(codes) == size else codes


def require_small(release: Release, attributes: Sequence[str]) -> None:
    """Refuse a marginal that is too large to look at."""
    domain = release.domain
    cells = prod(domain.shape(domain.clique(attributes)))
    if cells > MOST_CELLS:
        raise ReleaseError(
            f"The marginal over {', '.join(map(repr, attributes))} has {cells:,} cells, more than can be shown. "
            "Choose fewer attributes, or write it to a file with `residuum query`."
        )


def narrowed(marginal: Marginal, kept: Kept) -> Marginal:
    """The marginal with the wanted values alone.

    >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),))
    >>> narrowed(marginal, ((1,),)).labels
    (('m',),)
    """
    if not any(kept):
        return marginal
    codes = [range(size) if some is None else some for some, size in zip(kept, marginal.values.shape, strict=True)]
    cells = np.ix_(*codes)
    labels = (
        names if some is None else tuple(code if names is None else names[code] for code in some)
        for names, some in zip(marginal.labels, kept, strict=True)
    )
    stderr = None if marginal.stderr is None else marginal.stderr[cells]
    return replace(marginal, values=marginal.values[cells], stderr=stderr, labels=tuple(labels))


def without(marginal: Marginal, axes: Sequence[int]) -> Marginal:
    """The marginal for a chart: attributes with a single value left need no axis, unless all are so.

    >>> marginal = Marginal(("sex", "age"), np.array([[1.0, 2.0]]), 1.0, (), (("f",), None))
    >>> without(marginal, [0]).attributes
    ('age',)
    """
    others = [k for k in range(len(marginal.attributes)) if k not in axes]
    if not axes or not others:
        return marginal
    shape = [marginal.values.shape[k] for k in others]
    return replace(
        marginal,
        attributes=tuple(marginal.attributes[k] for k in others),
        labels=tuple(marginal.labels[k] for k in others),
        values=marginal.values.reshape(shape),
        stderr=None if marginal.stderr is None else marginal.stderr.reshape(shape),
    )


def texts(marginal: Marginal, axis: int, codes: Iterable[int] | None = None) -> list[str]:
    """What the values of an attribute are called, or those with some codes.

    >>> marginal = Marginal(("sex", "age"), np.zeros((2, 2)), 1.0, (), (("f", "m"), None))
    >>> texts(marginal, 0), texts(marginal, 1, [1, 1])
    (['f', 'm'], ['1', '1'])
    """
    names = marginal.labels[axis]
    codes = range(marginal.values.shape[axis]) if codes is None else codes
    return [named_value(code if names is None else names[code]) for code in codes]


def rows(marginal: Marginal, view: View) -> dict[str, Any]:
    """One page of the table: for each row its labels, its count, and its 95% interval.

    >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),))
    >>> view = View.asked({"by": ["sex"], "sort": ["people"], "order": ["down"]}, Domain({"sex": ["f", "m"]}))
    >>> page = rows(marginal, view)
    >>> page["labels"], page["values"], page["halves"]
    ([['m', 'f']], [53.0, 48.0], None)
    """
    pages = max(1, -(-marginal.values.size // ROWS))
    page = min(view.page, pages)
    cells = _order(marginal, view)[(page - 1) * ROWS : page * ROWS]
    codes = np.unravel_index(cells, marginal.values.shape)
    parts = {
        "values": marginal.values,
        "halves": None if marginal.stderr is None else REACH * marginal.stderr,
        "lower": marginal.lower,
        "upper": marginal.upper,
    }
    return {
        "page": page,
        "pages": pages,
        "first": (page - 1) * ROWS,
        "labels": [texts(marginal, axis, code.tolist()) for axis, code in enumerate(codes)],
        **{name: None if part is None else part.reshape(-1)[cells].tolist() for name, part in parts.items()},
        "reach": _reach(marginal),
    }


def _order(marginal: Marginal, view: View) -> NDArray[np.intp]:
    """The cells in the order that is asked for; equal ones as the marginal has them."""
    cells = np.arange(marginal.values.size)
    if view.sort == "cells" or (view.sort == "error" and marginal.stderr is None):
        return cells[::-1] if view.falling else cells
    if view.sort == "people":
        keys = marginal.values.reshape(-1)
    elif marginal.stderr is not None and view.sort == "error":
        keys = marginal.stderr.reshape(-1)
    else:
        keys = np.unravel_index(cells, marginal.values.shape)[int(view.sort)]
    return np.argsort(-keys if view.falling else keys, kind="stable")


def _reach(marginal: Marginal) -> tuple[float, float]:
    """From where to where the intervals of all cells reach, zero among them."""
    lower, upper = marginal.lower, marginal.upper
    low = marginal.values if lower is None else lower
    high = marginal.values if upper is None else upper
    return min(0.0, float(low.min())), max(1.0, float(high.max()))
