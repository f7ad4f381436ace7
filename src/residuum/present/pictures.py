"""The pictures of a report that are not of marginals, as Vega-Lite."""

from collections.abc import Sequence
from typing import Any

from residuum.core.checks import Array
from residuum.present.account import Noise
from residuum.present.against import Column, Order

Entries = dict[str, Any]

_FITTED: Entries = {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
"""As wide as the page lets it be, and as high as it has rows."""

_MOST_COLUMNS = 70
"""The matrix of dependences shows so many columns at most, those that depend most."""


def budget(course: Sequence[dict[str, Any]], kinds: Sequence[str]) -> Entries:
    """How the budget was used up, by kind of question.

    >>> budget([{"n": 0, "kind": "pairs", "share": 0.0}], ["pairs"])["mark"]["type"]
    'area'
    """
    rows = [{**row, "rank": kinds.index(row["kind"])} for row in course]
    return {
        "description": "How the budget was used up, question by question.",
        "data": {"values": rows},
        "width": "container",
        "height": 220,
        "mark": {"type": "area", "interpolate": "linear", "aria": False, "fillOpacity": 0.85},
        "encoding": {
            "x": {**_number("n"), "axis": {"title": "questions asked of the data", "tickCount": 6, "grid": False}},
            "y": {**_number("share"), "stack": True, "axis": {"title": "of the budget", "format": "%", "tickCount": 5}},
            "color": {**_named("kind", kinds), "legend": {"title": None, "orient": "bottom", "columns": 3}},
            "order": _number("rank"),
            "tooltip": [
                {**_named("kind"), "title": "kind"},
                {**_number("n"), "title": "questions", "format": ","},
                {**_number("share"), "title": "of the budget", "format": ".1%"},
            ],
        },
    }


def noise(noises: Sequence[Noise]) -> Entries:
    """How the standard errors of the noise are spread over the marginals, by their number of columns.

    >>> len(noise([Noise("pairs", 1, 1, 1, (1, 1), (1.0,) * 7, "")])["data"]["values"])
    1
    """
    names = ("least", "p5", "p25", "middle", "p75", "p95", "most")
    rows = [{"of": n.columns, **dict(zip(names, n.spread, strict=True))} for n in noises if n.spread]
    y = {**_named("of", [row["of"] for row in rows]), "axis": _words(None)}
    tooltip = [{**_number(name), "format": ",.1f"} for name in names]
    line: Entries = {"y": y, "tooltip": tooltip}
    axis = {"title": "standard error of a count, in people", "tickCount": 5}

    def span(low: str, high: str, width: float, opacity: float) -> Entries:
        mark = {"type": "rule", "strokeWidth": width, "opacity": opacity, "strokeCap": "round", "aria": False}
        return {"mark": mark, "encoding": {"x": {**_number(low), "axis": axis}, "x2": {"field": high}}}

    mark = {"type": "tick", "thickness": 3, "size": 18, "aria": False}
    return {
        "description": "The standard error that the noise gives a count, by the number of columns.",
        "data": {"values": rows},
        **_FITTED,
        "height": {"step": 34},
        "encoding": line,
        "layer": [
            span("least", "most", 1, 0.5),
            span("p5", "p95", 4, 0.45),
            span("p25", "p75", 10, 0.45),
            {"mark": mark, "encoding": {"x": _number("middle")}},
        ],
    }


def dependence(strengths: Array, names: Sequence[str]) -> tuple[Entries, bool]:
    """Which columns depend on each other, as a matrix; and whether some were left out.

    >>> import numpy as np
    >>> plot, cut = dependence(np.zeros((2, 2)), ["age", "sex"])
    >>> len(plot["data"]["values"]), cut
    (2, False)
    """
    best = sorted(sorted(range(len(names)), key=lambda i: -strengths[i].max())[:_MOST_COLUMNS])
    shown = [names[i] for i in best]
    rows = [{"a": names[i], "b": names[j], "s": round(float(strengths[i, j]), 3)} for i in best for j in best if i != j]
    step = max(7.0, min(26.0, 560 / len(best)))
    axis = {"labelOverlap": step < 11, "ticks": False, "domain": False}
    plot: Entries = {
        "description": "How strongly the columns depend on each other.",
        "data": {"values": rows},
        "width": {"step": step},
        "height": {"step": step},
        "mark": {"type": "rect", "aria": False},
        "encoding": {
            "x": {**_named("a", shown), "axis": {**axis, "title": None, "labelAngle": -60}},
            "y": {**_named("b", shown), "axis": {**axis, "title": None}},
            "color": {
                **_number("s"),
                "scale": {"domain": [0, 1]},
                "legend": {"title": "dependence", "gradientLength": 120},
            },
            "tooltip": [
                {**_named("a"), "title": "column"},
                {**_named("b"), "title": "and"},
                {**_number("s"), "title": "dependence", "format": ".2f"},
            ],
        },
    }
    return plot, len(best) < len(names)


def errors(orders: Sequence[Order]) -> Entries:
    """How wrong the marginals are, by their number of columns: the median, and the middle nine tenths.

    >>> errors([Order("pairs", 1, 1, 2.0, 0.1, 0.05, 0.2, 0.95)])["data"]["values"][0]["middle"]
    0.1
    """
    rows = [{"of": o.columns, "low": o.low, "middle": o.middle, "high": o.high} for o in orders]
    tooltip = [{**_number(name), "format": ".2%"} for name in ("low", "middle", "high")]
    axis = {"title": "people in the wrong cell", "format": "%", "tickCount": 5}
    rule = {"type": "rule", "strokeWidth": 6, "opacity": 0.45, "strokeCap": "round", "aria": False}
    tick = {"type": "tick", "thickness": 3, "size": 18, "aria": False}
    return {
        "description": "How wrong the marginals are, by their number of columns.",
        "data": {"values": rows},
        **_FITTED,
        "height": {"step": 34},
        "encoding": {"y": {**_named("of", [o.columns for o in orders]), "axis": _words(None)}, "tooltip": tooltip},
        "layer": [
            {"mark": rule, "encoding": {"x": {**_number("low"), "axis": axis}, "x2": {"field": "high"}}},
            {"mark": tick, "encoding": {"x": _number("middle")}},
        ],
    }


def shares(column: Column) -> Entries:
    """The values of one column: among the real rows, in the release, and among synthetic rows.

    >>> len(shares(Column("sex", ("f", "m"), (0.5, 0.5), (0.4, 0.6), (0.4, 0.6)))["data"]["values"])
    6
    """
    sources = {"real rows": column.real, "released": column.released, "synthetic rows": column.synthetic}
    rows = [
        {"value": label, "in": source, "share": round(share, 5)}
        for source, parts in sources.items()
        for label, share in zip(column.labels, parts, strict=True)
    ]
    offset = {**_named("in", list(sources)), "bandPosition": 0.5}
    return {
        "description": "The shares of the values of one column.",
        "data": {"values": rows},
        **_FITTED,
        "height": {"step": max(3.0, min(9.0, 900 / len(rows))), "for": "offset"},
        "mark": {"type": "bar", "aria": False},
        "encoding": {
            "y": {**_named("value", column.labels), "axis": _words(None)},
            "yOffset": offset,
            "x": {**_number("share"), "axis": {"title": "of all rows", "format": "%", "tickCount": 5}},
            "color": {**_named("in", list(sources)), "legend": {"title": None, "orient": "bottom"}},
            "tooltip": [_named("value"), _named("in"), {**_number("share"), "format": ".2%"}],
        },
    }


def _number(field: str) -> Entries:
    return {"field": field, "type": "quantitative"}


def _named(field: str, order: Sequence[str] | None = None) -> Entries:
    entry: Entries = {"field": field, "type": "nominal"}
    return entry if order is None else {**entry, "sort": None, "scale": {"domain": list(order)}}


def _words(title: str | None) -> Entries:
    return {"title": title, "ticks": False, "domain": False, "labelPadding": 6}
