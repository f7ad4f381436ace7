"""Web pages in one file: nothing is fetched, and no script runs but ours."""

import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from residuum.marginal import library_of
from residuum.present.themes import theme


def around(plot: Mapping[str, Any], library: str) -> str:
    """A page with one plot, in the reader's theme, unless it has one that is not of this house.

    >>> page = around({"mark": "bar", "title": "<b>"}, "/* the library */")
    >>> "<b>" in page, "&lt;b&gt;" in page
    (False, True)
    """
    entries = dict(plot)
    title = entries.pop("title", None)
    head = title if isinstance(title, Mapping) else {"text": title or ""}
    if "facet" not in entries and isinstance(entries.get("width"), int | float):
        entries |= {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    return filled(
        "plot.html.j2",
        library,
        plots={"plot": entries},
        head=str(head["text"]),
        notes=" ".join(head.get("subtitle", ())),
        title=str(head["text"] or plot.get("description", "A plot")),
        own_theme=plot.get("config") not in (None, theme("light"), theme("dark")),
    )


def filled(template: str, library: str, *, plots: Mapping[str, Any], own_theme: bool = False, **content: Any) -> str:
    """A template of this room, filled in; `plots` are drawn into the elements with their names."""
    code = files("residuum.present").joinpath("draw.js").read_text(encoding="utf-8")
    themes = None if own_theme else {"light": theme("light"), "dark": theme("dark")}
    stated = as_json({"plots": dict(plots), "themes": themes, "actions": len(plots) == 1})
    scripts = (library, code)
    return (
        _environment()
        .get_template(template)
        .render(
            **content,
            policy=policy(*scripts),
            library=library,
            code=code,
            stated=stated,
        )
    )


def policy(*scripts: str) -> str:
    """What a page may do: run these scripts and no other, and fetch nothing.

    >>> policy("alert(1)")[:75]
    "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-"
    """
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src {hashes}; "
        "base-uri 'none'; form-action 'none'"
    )


def as_json(content: Any) -> str:
    """Entries as JSON that can stand in a `<script>` element.

    >>> as_json({"a": "</script>"})
    '{"a":"\\\\u003c/script>"}'
    """
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.replace("<", r"\u003c").replace("\u2028", r"\u2028").replace("\u2029", r"\u2029")


@cache
def _environment() -> Any:
    """Where templates come from; what is filled into them is text, unless it says otherwise."""
    jinja2 = library_of("jinja2", "residuum[plots]")
    loader = jinja2.FunctionLoader(lambda name: files("residuum.present").joinpath(name).read_text(encoding="utf-8"))
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True,
                              undefined=jinja2.StrictUndefined)  # fmt: skip
