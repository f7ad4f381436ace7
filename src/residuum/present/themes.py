"""What plots look like on a light and on a dark page."""

from typing import Any, Literal

DARK_PAGE = "#10161c"
"""What lies behind a plot on a dark page."""

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

_COLOURS = {
    "light": {
        "text": "#1f2a35",
        "quiet": "#5c6975",
        "line": "#dfe4e8",
        "bar": "#4a80b5",
        "heat": ["#f2f6fa", "#b5cfe6", "#6a9fcd", "#2d6ca8", "#0f3d6e"],
        "low": "#1f2a35",
        "high": "#ffffff",
        "category": ["#4a80b5", "#d9822b", "#4f9d69", "#b5527f", "#7d6bb0", "#9b7a52", "#3a9a9a", "#8a949e"],
    },
    "dark": {
        "text": "#e4e9ee",
        "quiet": "#a5b0ba",
        "line": "#36414b",
        "bar": "#5f9bd3",
        "heat": ["#18222c", "#1f4568", "#2f74ab", "#6fb0e0", "#d3ebff"],
        "low": "#e4e9ee",
        "high": "#0d151c",
        "category": ["#5f9bd3", "#e69a4c", "#66b983", "#d377a0", "#a091d6", "#c09c70", "#58bcbc", "#a5b0ba"],
    },
}


def theme(name: Literal["light", "dark"]) -> dict[str, Any]:
    """A configuration of Vega-Lite, to be handed to `plots.spec` or to put in the place of its `config`.

    >>> theme("dark")["background"]
    'transparent'
    """
    colour = _COLOURS[name]
    words = {"labelColor": colour["text"], "titleColor": colour["quiet"], "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": "transparent",
        "font": _FONT,
        "view": {"stroke": None},
        "title": {
            "anchor": "start",
            "color": colour["text"],
            "fontSize": 15,
            "subtitleColor": colour["quiet"],
            "subtitleFontSize": 12,
            "subtitleLineHeight": 16,
            "subtitlePadding": 6,
            "offset": 12,
            "frame": "bounds",
        },
        "axis": {
            **words,
            "titleFontWeight": "normal",
            "domainColor": colour["line"],
            "tickColor": colour["line"],
            "gridColor": colour["line"],
            "labelLimit": 160,
            "titleLimit": 320,
        },
        "legend": {**words, "titleFontWeight": "normal", "labelLimit": 140, "titleLimit": 180},
        "header": {**words, "labelLimit": 220, "titleLimit": 320, "titleFontWeight": "normal"},
        "range": {"category": colour["category"], "heatmap": colour["heat"]},
        "bar": {"color": colour["bar"]},
        "rule": {"color": colour["text"]},
        "tick": {"color": colour["text"]},
        "text": {"color": colour["text"], "fontSize": 11},
        "style": {"on-pale": {"color": colour["low"]}, "on-strong": {"color": colour["high"]}},
    }
