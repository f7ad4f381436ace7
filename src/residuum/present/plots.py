"""Plots of marginals that show how far the counts may be off, and that need no network.

A plot is a Vega-Lite specification, made here as plain entries; Altair is needed only for the chart around it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from residuum.errors import ReleaseError
from residuum.marginal import Marginal, library_of
from residuum.present import pages
from residuum.present.drawing import drawn
from residuum.present.shown import Shown
from residuum.present.themes import DARK_PAGE, theme

if TYPE_CHECKING:
    import altair

Saved = Literal["html", "svg", "png"]

EXTRA = "residuum[plots]"
"""What has to be installed for pictures."""

MOST_CELLS = 5000
"""Heat maps of more cells are cut to the largest values."""

MOST_BARS = 400
"""So are bars, of which fewer can be told apart."""


def spec(
    marginal: Marginal,
    *,
    grouped: bool = False,
    most: int | None = None,
    caveats: Iterable[str] = (),
    config: Mapping[str, Any] | None = None,
    titled: bool = True,
    width: int | Literal["container"] | None = None,
) -> dict[str, Any]:
    """The plot of a marginal over up to three attributes, as Vega-Lite JSON.

    One attribute makes bars with 95% intervals, two make a heat map, or grouped bars with intervals, and three make
    one of these for each value of the last. A marginal of more than `most` cells is cut to its largest values; by
    default, 5,000 of a heat map and 400 bars. `config` is a theme of Vega-Lite, such as `themes.theme("dark")`. Without
    `titled` the title and the notes are left to the page around it, which can take them from `notes`. `width` is that
    of bars; heat maps are as wide as their columns.

    >>> import numpy as np
    >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),), "mle", np.full(2, 5.0))
    >>> [bar["a0"] for bar in spec(marginal)["data"]["values"]]
    ['f', 'm']
    """
    shown = _shown(marginal, grouped, most)
    plot = drawn(shown, grouped=grouped, width=width)
    lines = shown.notes(caveats)
    plot["description"] = " ".join([f"{shown.title}.", *lines])
    if titled:
        plot["title"] = {"text": shown.title, "subtitle": [part for line in lines for part in shown.wrapped(line)]}
    plot["config"] = dict(theme("light") if config is None else config)
    return plot


def notes(
    marginal: Marginal, *, grouped: bool = False, most: int | None = None, caveats: Iterable[str] = ()
) -> list[str]:
    """What has to be said beside a plot: which estimate it shows, what was never measured, and what was left out.

    >>> import numpy as np
    >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (("sex",),), (("f", "m"),))
    >>> for line in notes(marginal): print(line)
    Estimated counts of people (mle: what was measured as it is, negative counts included).
    How far they may be off is not known, so they have no intervals.
    Never measured and taken as zero: sex.
    """
    return _shown(marginal, grouped, most).notes(caveats)


def chart(
    marginal: Marginal,
    *,
    grouped: bool = False,
    most: int | None = None,
    caveats: Iterable[str] = (),
    config: Mapping[str, Any] | None = None,
    titled: bool = True,
    width: int | Literal["container"] | None = None,
) -> "altair.Chart | altair.LayerChart | altair.FacetChart":
    """The plot of a marginal as an Altair chart, with the arguments of `spec`.

    In a notebook it is drawn without a network: by the notebook where that knows Vega-Lite, and as a picture elsewhere.

    >>> import numpy as np
    >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),))
    >>> sorted(chart(marginal).to_dict()["config"]["bar"])
    ['color']
    """
    library_of("altair", EXTRA)
    from residuum.present.notebook import offline

    return offline(
        spec(marginal, grouped=grouped, most=most, caveats=caveats, config=config, titled=titled, width=width)
    )


def save(plot: Any, path: str | Path, *, background: str | None = None) -> None:
    """Write a chart, or a specification, to an HTML, SVG or PNG file, which then needs no network.

    The background is that of SVG and PNG: white, or dark under the dark theme, unless it is named. An HTML page follows
    the theme of the reader.

    >>> import numpy as np, tempfile
    >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(spec(marginal), Path(folder) / "sex.svg")
    ...     (Path(folder) / "sex.svg").read_text()[:4]
    '<svg'
    """
    Path(path).write_bytes(rendered(plot, by_ending(path), background=background))


def rendered(plot: Any, form: Saved, *, background: str | None = None) -> bytes:
    """What `save` writes, as bytes.

    >>> import numpy as np
    >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),))
    >>> rendered(spec(marginal), "png")[1:4]
    b'PNG'
    """
    entries: dict[str, Any] = dict(plot) if isinstance(plot, Mapping) else plot.to_dict()
    if form == "html":
        return pages.around(entries, library()).encode()
    converter = library_of("vl_convert", EXTRA)
    fitting = DARK_PAGE if entries.get("config") == theme("dark") else "white"
    behind = {**entries, "background": background or fitting}
    if form == "svg":
        return converter.vegalite_to_svg(json.dumps(behind), allowed_base_urls=[]).encode()
    return converter.vegalite_to_png(json.dumps(behind), scale=2, allowed_base_urls=[])


def by_ending(path: str | Path) -> Saved:
    """The format that the name of a picture asks for.

    >>> by_ending("sex.svg")
    'svg'
    """
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in ("html", "svg", "png"):
        raise ReleaseError(f"Expected a plot's file to end in .html, .svg or .png, got {str(path)!r}.")
    return ending  # type: ignore[return-value]


@cache
def library() -> str:
    """The JavaScript that draws plots in a browser: Vega, Vega-Lite and vega-embed, as `vegaEmbed` and others.

    It can stand in a `<script>` element.

    >>> "vegaEmbed" in library(), "</script" in library()
    (True, False)
    """
    bundle: str = library_of("vl_convert", EXTRA).javascript_bundle()
    return bundle.replace("</script", r"<\/script").replace("<!--", r"<\!--")


def check_order(attributes: Sequence[str]) -> None:
    """Refuse more attributes than a plot can show.

    >>> check_order(["age", "sex"])
    """
    if len(attributes) > 3:
        raise ReleaseError(
            f"Expected at most 3 attributes in a plot, got {len(attributes)}: {', '.join(map(repr, attributes))}. "
            "Leave some out."
        )


def _shown(marginal: Marginal, grouped: bool, most: int | None) -> Shown:
    """What there is to draw."""
    check_order(marginal.attributes)
    if most is not None and most < 1:
        raise ReleaseError(f"Expected `most` to be a number of cells above 0, got {most!r}.")
    bars = grouped or len(marginal.attributes) < 2
    return Shown.of(marginal, most or (MOST_BARS if bars else MOST_CELLS), heat=not bars)
