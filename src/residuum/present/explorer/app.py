"""The explorer's application: which address gives what.

/                  the page on which one looks through marginals
/budget            what the release promises, and how its budget was spent
/api/release       its attributes, and what a page needs to know of it
/api/status        how far the latent classes are
/api/view          one view: a page of the table, and the chart
/marginal.csv      a whole marginal, as `residuum query --format csv` writes it
/static/...        script and style, all from the package
"""

import re
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from io import BytesIO
from string import Template
from threading import Lock
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from residuum.errors import ResiduumError
from residuum.marginal import Estimate, Marginal
from residuum.present import plots
from residuum.present.explorer import budget
from residuum.present.explorer.background import Fitting, Library
from residuum.present.explorer.guard import App, Guard
from residuum.present.explorer.view import MOST_LISTED, View, narrowed, require_small, rows, texts, without
from residuum.present.promise import Promise, seeded
from residuum.present.shown import plain
from residuum.present.themes import theme
from residuum.release import Release

_HERE = files("residuum.present.explorer")
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_REMEMBERED = 4
"""How many marginals are kept, so that turning a page or sorting does not compute them anew."""

_MOST_CELLS = 2000
"""A heat map of more cells is cut to its largest values: more would not come at once."""


class Explorer:
    """A release, with what was computed of it."""

    def __init__(self, release: Release, name: str, fitting: Fitting, library: Library) -> None:
        self.release, self.name, self.fitting, self.library = release, name, fitting, library
        self.marginal: Callable[[tuple[str, ...], Estimate], Marginal] = lru_cache(_REMEMBERED)(release.marginal)
        self._turn = Lock()  # one marginal at a time: many large ones at once would take all memory

    def home(self, _: Request) -> Response:
        """The first page."""
        return self._page("explore.html")

    def spending(self, _: Request) -> Response:
        """The second page."""
        release = self.release
        promise = Promise.of(release)
        facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in budget.facts(release))
        parts = "".join(
            f'<li><span class="key {name}"></span>{escape(budget.KINDS[name])}: {share:.1%}</li>'
            for name, share in budget.shares(release.spends).items()
        )
        return self._page(
            "budget.html", facts=facts, parts=parts, picture=budget.picture(release), rows=budget.table(release),
            charges=f"{len(release.spends):,}", says="".join(f"<p>{escape(text)}</p>" for text in promise.says),
            open="".join(f"<li>{escape(text)}</li>" for text in promise.leaves_open),
        )  # fmt: skip

    def about(self, _: Request) -> Response:
        """What the page needs to know before it asks for a view."""
        domain, first = self.release.domain, self.release.workload.targets[0][:1]
        return JSONResponse(
            {
                "name": self.name,
                "attributes": [
                    {"name": name, "text": plain(name), "size": size}
                    for name, size in zip(domain.names, domain.sizes, strict=True)
                ],
                "first": domain.name(first),
                "themes": {"light": theme("light"), "dark": theme("dark")},
            }
        )

    def status(self, _: Request) -> Response:
        """How far the latent classes are."""
        return JSONResponse(self._status())

    def view(self, request: Request) -> Response:
        """What one looks at. Until the latent classes are there, the measurements as they are stand in for them."""
        view = View.asked(_entries(request), self.release.domain)
        shown = "mle" if self._waits(view.estimate) else view.estimate
        whole = self._whole(view.attributes, shown)
        marginal = narrowed(whole, view.kept)
        parts = self._chart(marginal, view) if view.charted else {}
        return JSONResponse(
            {
                "estimate": shown,
                "asked": view.estimate,
                "status": self._status(),
                "attributes": [
                    {
                        "name": plain(name),
                        "size": size,
                        "labels": texts(whole, k) if size <= MOST_LISTED else None,
                        "kept": view.kept[k],
                    }
                    for k, (name, size) in enumerate(zip(whole.attributes, whole.values.shape, strict=True))
                ],
                "cells": marginal.values.size,
                "all": whole.values.size,
                "table": rows(marginal, view),
                **parts,
            }
        )

    def csv(self, request: Request) -> Response:
        """A whole marginal, the same bytes as from `residuum query`."""
        from pyarrow import csv

        view = View.asked(_entries(request), self.release.domain)
        if self._waits(view.estimate):
            raise HTTPException(503, "The latent classes are still being fitted. Ask again soon, or for estimate=mle.")
        file = BytesIO()
        csv.write_csv(self._whole(view.attributes, view.estimate).to_arrow(), file)
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", "_".join(view.attributes)).strip("-")[:80] or "marginal"
        return Response(
            file.getvalue(),
            media_type="text/csv",
            headers={"content-disposition": f'attachment; filename="{name}.csv"'},
        )

    def script(self, request: Request) -> Response:
        """The library that draws charts."""
        code = self.library.code()
        if not code:
            raise HTTPException(503, "The library that draws charts could not be made.")
        return _kept_by_browser(request, code, "text/javascript")

    def static(self, request: Request) -> Response:
        """A file of the package."""
        name = request.path_params["name"]
        found = next((file for file in _HERE.joinpath("static").iterdir() if file.name == name), None)
        kind = _KINDS.get(f".{name.rpartition('.')[2]}")
        if found is None or kind is None:
            raise HTTPException(404)
        return _kept_by_browser(request, found.read_bytes(), kind)

    def error(self, request: Request, error: Exception) -> Response:
        """An answer for what went wrong: JSON where a script asked, else a page."""
        status, text = 400, str(error)
        if isinstance(error, HTTPException):
            status, text = error.status_code, error.detail
            if status == 404:
                text = "There is nothing at this address."
        elif isinstance(error, MemoryError):
            status, text = 507, "There is too little memory for this. Choose fewer attributes."
        elif not isinstance(error, ResiduumError):
            traceback.print_exception(error)
            status, text = 500, "This is a fault of the explorer. The terminal it runs in says more."
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": " ".join(text.split())}, status)
        return self._page("missing.html", status=status, text=escape(text))

    def _chart(self, marginal: Marginal, view: View) -> dict[str, Any]:
        """The chart, what has to be said beside it, and the values that are the same for all of it."""
        one = [k for k, size in enumerate(marginal.values.shape) if size == 1]
        drawn = without(marginal, one)
        grouped = view.chart == "bars"
        most = None if grouped or len(drawn.attributes) < 2 else _MOST_CELLS
        return {
            "notes": plots.notes(drawn, grouped=grouped, most=most),
            "fixed": [f"{plain(marginal.attributes[k])}: {texts(marginal, k)[0]}" for k in one],
            "spec": plots.spec(drawn, grouped=grouped, most=most, config={}, titled=False),
        }

    def _whole(self, attributes: tuple[str, ...], estimate: Estimate) -> Marginal:
        require_small(self.release, attributes)
        with self._turn:
            return self.marginal(attributes, estimate)

    def _waits(self, estimate: Estimate) -> bool:
        """Whether an estimate needs the latent classes, and they are not there."""
        return estimate in ("best", "latent") and not self.fitting.done

    def _status(self) -> dict[str, Any]:
        fitting = self.fitting
        return {"fitted": fitting.done, "share": fitting.share, "problem": fitting.problem}

    def _page(self, template: str, status: int = 200, **parts: str) -> Response:
        text = Template(_HERE.joinpath("pages", template).read_text(encoding="utf-8"))
        banner = ""
        if seeded(self.release):
            banner = (
                '<p class="banner" role="note"><strong>NOT PRIVATE.</strong> '
                "This release was drawn with a seed: for tests and research. It protects nobody.</p>"
            )
        return HTMLResponse(text.substitute(name=escape(plain(self.name)), banner=banner, **parts), status)


def application(release: Release, name: str, served: Callable[[str], bool]) -> App:
    """The explorer of a release, for requests that name a host which is served.

    >>> from residuum import Domain, Estimates, Workload
    >>> estimates = Estimates(Workload.all_kway(Domain({"sex": 2}), 1))
    >>> callable(application(Release(estimates, 0.5, (), {"caveats": ()}, frozenset()), "people", bool))
    True
    """
    explorer = Explorer(release, name, Fitting(release), Library())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        explorer.library.start()
        explorer.fitting.start()
        try:
            yield
        finally:
            explorer.library.stop()

    routes = {
        "/": explorer.home,
        "/budget": explorer.spending,
        "/api/release": explorer.about,
        "/api/status": explorer.status,
        "/api/view": explorer.view,
        "/marginal.csv": explorer.csv,
        "/static/vega.js": explorer.script,
        "/static/{name}": explorer.static,
    }
    inside = Starlette(
        routes=[Route(path, answer, methods=["GET"]) for path, answer in routes.items()],
        exception_handlers=dict.fromkeys((HTTPException, ResiduumError, MemoryError, Exception), explorer.error),
        lifespan=lifespan,
    )
    return Guard(inside, served)


def _entries(request: Request) -> Mapping[str, list[str]]:
    entries: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        entries.setdefault(name, []).append(value)
    return entries


def _kept_by_browser(request: Request, content: bytes, kind: str) -> Response:
    """A file that a browser asks for again, but does not fetch again while it is the same."""
    tag = f'"{sha256(content).hexdigest()[:16]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)
