"""The marks of a plot, as entries of Vega-Lite.

Names of attributes only ever stand in titles, and the fields are called a0, a1, a2 and so on: what a name has of dots,
brackets and quotes never meets Vega's way of writing fields.
"""

from collections.abc import Sequence
from typing import Any, Literal

from residuum.present.shown import Shown

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""A name, which nobody fetches."""

_WITH_FIGURES = 40
"""Up to so many bars have their numbers written beside them."""

_FIGURES_IN_CELLS = 160
_INTERVALS_IN_CELLS = 48
"""Up to so many cells of a heat map have their numbers written into them, without and with their intervals."""

_ROOM = 520
"""A heat map should not be much wider than this."""

Width = int | Literal["container"] | None
Entries = dict[str, Any]


def drawn(shown: Shown, *, grouped: bool = False, width: Width = None) -> Entries:
    """The plot without title and theme.

    >>> import numpy as np
    >>> from residuum.marginal import Marginal
    >>> marginal = Marginal(("sex", "pet"), np.ones((2, 2)), 1.0, (), (("f", "m"), ("cat", "dog")))
    >>> [layer["mark"]["type"] for layer in drawn(Shown.of(marginal, 10, heat=True))["layer"]]
    ['rect', 'text', 'text']
    """
    order = len(shown.names)
    figures = _figures(shown, grouped)
    if order < 2:
        plot = _bars(shown, figures, width)
    elif grouped:
        plot = _groups(shown, width)
    else:
        plot = _heat(shown, figures)
    rows = shown.cells(figures)
    return {"$schema": _SCHEMA, "data": {"values": rows}, **(_panels(shown, plot) if order == 3 else plot)}


def _figures(shown: Shown, grouped: bool) -> list[str] | None:
    """What is written beside bars and into cells, as far as there is room."""
    if len(shown.names) < 2:
        return shown.figures() if shown.values.size <= _WITH_FIGURES else None
    cells = len(shown.labels[0]) * len(shown.labels[1])
    if grouped or cells > _FIGURES_IN_CELLS or shown.values.size > 4 * _FIGURES_IN_CELLS:
        return None
    whole = shown.figures()
    fits = len(shown.labels[1]) * _across(whole) <= 0.8 * _ROOM
    return whole if fits and cells <= _INTERVALS_IN_CELLS else shown.figures(intervals=False)


def _across(figures: Sequence[str]) -> float:
    """How wide the cells are that these are written into."""
    return max(26.0, 6.6 * max(map(len, figures)) + 12)


def _bars(shown: Shown, figures: list[str] | None, width: Width) -> Entries:
    """Bars from left to right, so that labels can be read, with their intervals."""
    labels = shown.labels[0] if shown.labels else ("everyone",)
    step = max(2.0, min(22.0, 900 / len(labels)))
    x = {**_number("v"), "axis": {"title": "people", "tickCount": 5}}
    layers = [_layer("bar", x, height={"band": 0.72}), *_whiskers(shown, step)]
    if figures:
        mark = {"type": "text", "align": "left", "dx": 6, "baseline": "middle", "style": "on-pale", "aria": False}
        end = _number("v" if shown.upper is None else "hi")
        layers.append({"mark": mark, "encoding": {"x": end, "text": {"field": "t", "type": "nominal"}}})
        highest = float((shown.values if shown.upper is None else shown.upper).max())
        beside = max(map(len, figures)) * (0.035 if width == "container" else 0.017)
        x["scale"] = {"domainMax": max(highest, 1e-9) * (1.06 + beside)}
    return {
        **_sized(width),
        "height": {"step": step},
        "encoding": {
            "y": {**_place(0, labels), "axis": _axis(shown.names[0] if shown.names else None, step)},
            "tooltip": _tooltip(shown),
        },
        "layer": layers,
    }


def _groups(shown: Shown, width: Width) -> Entries:
    """Bars of a second attribute beside each other in the groups of the first."""
    first, second = shown.labels[:2]
    step = max(2.0, min(13.0, 2400 / (len(first) * len(second))))
    x = {**_number("v"), "axis": {"title": "people", "tickCount": 4}}
    bar = _layer("bar", x)
    bar["encoding"]["color"] = {**_place(1, second), "title": shown.names[1], "legend": {"symbolLimit": 40}}
    return {
        **_sized(width if len(shown.labels) == 2 else 220),
        "height": {"step": step, "for": "offset"},
        "encoding": {
            "y": {**_place(0, first, paddingInner=0.25), "axis": _axis(shown.names[0], step * len(second))},
            "yOffset": {**_place(1, second, paddingInner=0.15, paddingOuter=0.075), "bandPosition": 0.5},
            "tooltip": _tooltip(shown),
        },
        "layer": [bar, *_whiskers(shown, step)],
    }


def _heat(shown: Shown, figures: list[str] | None) -> Entries:
    """A cell for each pair of values, the darker the more people."""
    rows, columns = shown.labels[:2]
    across = (
        _across(figures) if figures else max(3.0, min(26.0, (_ROOM if len(shown.labels) == 2 else 300) / len(columns)))
    )
    down = max(3.0, min(24.0, 700 / len(rows)))
    low, high = float(min(shown.values.min(), 0.0)), float(max(shown.values.max(), 1e-9))
    colour = {
        **_number("v"),
        "title": "people",
        "scale": {"domain": [low, high], "nice": False},
        "legend": None if figures else {"gradientLength": max(60, min(160, down * len(rows)))},
    }
    layers: list[Entries] = [{"mark": {"type": "rect", "aria": False}, "encoding": {"color": colour}}]
    middle = low + 0.55 * (high - low)
    for style, test in (("on-pale", f"datum.v < {middle!r}"), ("on-strong", f"datum.v >= {middle!r}")):
        text = {"mark": {"type": "text", "style": style, "aria": False}, "transform": [{"filter": test}]}
        layers += [{**text, "encoding": {"text": {"field": "t", "type": "nominal"}}}] if figures else []
    longest = max(map(len, columns)) * 6.5
    return {
        "width": {"step": across},
        "height": {"step": down},
        "encoding": {
            "x": {
                **_place(1, columns),
                "axis": {**_axis(shown.names[1], across), "labelAngle": 0 if longest <= across else -45},
            },
            "y": {**_place(0, rows), "axis": _axis(shown.names[0], down)},
            "tooltip": _tooltip(shown),
        },
        "layer": layers,
    }


def _panels(shown: Shown, plot: Entries) -> Entries:
    """The same for each value of the third attribute, side by side."""
    values = shown.labels[2]
    width: Any = plot["width"]
    across = width["step"] * len(shown.labels[1]) if isinstance(width, dict) else width
    facet = {
        "field": "a2",
        "type": "nominal",
        "sort": list(values),
        "header": {"title": shown.names[2], "labelOrient": "top"},
    }
    columns = max(1, min(len(values), round(900 / (across + 60))))
    ragged: Entries = {"resolve": {"axis": {"x": "independent"}}} if len(values) % columns else {}
    return {"facet": facet, "columns": columns, "spacing": 18, "spec": plot, **ragged}


def _whiskers(shown: Shown, step: float) -> list[Entries]:
    """The intervals, with a tick at either end where there is room for one."""
    if shown.lower is None:
        return []
    across: Entries = {"type": "rule", "strokeWidth": 1.5 if step > 6 else 1, "aria": False}
    lines: list[Entries] = [{"mark": across, "encoding": {"x": _number("lo"), "x2": {"field": "hi"}}}]
    if step > 6:
        tick = {"type": "tick", "size": step * 0.4, "thickness": 1.5, "aria": False}
        lines += [{"mark": tick, "encoding": {"x": _number(end)}} for end in ("lo", "hi")]
    return lines


def _sized(width: Width) -> Entries:
    """How wide bars are."""
    fitted: Entries = {"autosize": {"type": "fit-x", "contains": "padding"}} if width == "container" else {}
    return {"width": 480 if width is None else width, **fitted}


def _layer(kind: str, x: Entries, **look: Any) -> Entries:
    return {"mark": {"type": kind, "aria": False, **look}, "encoding": {"x": x}}


def _number(field: str) -> Entries:
    return {"field": field, "type": "quantitative"}


def _place(k: int, labels: tuple[str, ...], **more: Any) -> Entries:
    """An attribute along an axis, its values in the order of the domain."""
    return {"field": f"a{k}", "type": "nominal", "sort": None, "scale": {"domain": list(labels), **more}}


def _axis(title: str | None, step: float) -> Entries:
    """An axis whose labels do not lie on each other."""
    return {"title": title, "labelOverlap": step < 13, "ticks": False, "labelPadding": 6, "domain": False}


def _tooltip(shown: Shown) -> list[Entries]:
    """What is shown of a cell when it is pointed at."""
    fields = [{"field": f"a{k}", "type": "nominal", "title": name} for k, name in enumerate(shown.names)]
    fields.append({**_number("v"), "title": "people", "format": ",.1f"})
    if shown.lower is not None:
        fields += [
            {**_number("lo"), "title": "95% from", "format": ",.1f"},
            {**_number("hi"), "title": "95% to", "format": ",.1f"},
        ]
    taken: set[str] = {"title", "image"}  # vega-tooltip makes a heading of the first, and fetches the second
    for field in reversed(fields):
        while field["title"] in taken:
            field["title"] += "\u00a0"
        taken.add(field["title"])
        field["title"] = field["title"].replace("\\", "\\\\")  # Vega-Lite itself escapes quotes, and only those
    return fields
