"""Puts the tour into its page of the site, from the README, where it is run as a test."""

import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[2] / "README.md"
HEADING = "A tour of five minutes"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page as it stands, but for the tour, whose page on a code host only points to the README."""
    return told() if page.file.src_uri == "tour.md" else markdown


def told() -> str:
    """The section of the README, with links that are right in this folder."""
    text = README.read_text(encoding="utf-8")
    found = re.search(rf"^## ({HEADING}\n.*?)(?=^## )", text, re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError(f"The README has no section {HEADING!r} any more. Name the new one in {Path(__file__).name}.")
    return "# " + found[1].replace("](docs/", "](")
