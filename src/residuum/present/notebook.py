"""Charts of Altair that a notebook draws without a network."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import altair as alt

from residuum.present import plots

_DISPLAY = import_module(f"altair.vegalite.{alt.SCHEMA_VERSION.split('.')[0]}.display")
"""Altair's module for the version of Vega-Lite that it speaks."""


class _Offline:
    """What Altair itself shows and saves fetches its JavaScript from elsewhere, unless it is told not to."""

    def save(self, fp: Any, *args: Any, **settings: Any) -> None:
        """Write the chart to a file. A web page needs no network, and shows texts as texts."""
        if not args and not settings and isinstance(fp, str | Path) and Path(fp).suffix.lower() == ".html":
            plots.save(self, fp)
        else:
            super().save(fp, *args, **settings)  # type: ignore[misc]

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **kwargs)  # type: ignore[misc]
        entries = self.to_dict()  # type: ignore[attr-defined]
        return {
            _DISPLAY.VEGALITE_MIME_TYPE: entries,
            "image/svg+xml": plots.rendered(entries, "svg").decode(),
            "text/plain": entries.get("description", ""),
        }


class Chart(_Offline, alt.Chart):  # type: ignore[misc]
    """A chart of one mark."""


class LayerChart(_Offline, alt.LayerChart):  # type: ignore[misc]
    """A chart of several marks on one another."""


class FacetChart(_Offline, alt.FacetChart):  # type: ignore[misc]
    """A chart for each value of an attribute."""


def offline(spec: Mapping[str, Any]) -> Chart | LayerChart | FacetChart:
    """The chart of a specification.

    >>> offline({"data": {"values": [{"v": 1}]}, "mark": "bar", "encoding": {"x": {"field": "v"}}}).to_dict()["mark"]
    'bar'
    """
    entries = dict(spec)
    data = entries.pop("data")
    kind = LayerChart if "layer" in entries else FacetChart if "facet" in entries else Chart
    chart = kind.from_dict(entries, validate=False)
    chart.data = alt.InlineData(data["values"])
    return chart
