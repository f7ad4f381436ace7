"""The documentation site, without building it: its pages, their links, and the commands and examples they show."""

import doctest
import re
import sys
from importlib import import_module, util
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from residuum.cli import COMMANDS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
EXAMPLES = [page for page in PAGES if ">>> " in (DOCS / page).read_text(encoding="utf-8")]


class Settings(yaml.SafeLoader):
    """YAML that may hold tags of MkDocs, which are left alone."""


Settings.add_multi_constructor("", lambda *_: None)


def settings() -> dict[str, Any]:
    return yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Settings)


def listed(nav) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [page for part in (nav.values() if isinstance(nav, dict) else nav) for page in listed(part)]


def words(path: Path) -> str:
    """A page without its blocks of code, in which nothing is a link or a heading."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def code(page: str) -> list[str]:
    """What a page shows as code: spans, and the lines of blocks, without the prompt."""
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"^```.*?^```", text, re.DOTALL | re.MULTILINE))
    spans = re.findall(r"`([^`\n]+)`", words(DOCS / page))
    return [line.removeprefix("$ ").strip() for line in blocks.splitlines()] + spans


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings in plain letters: of those MkDocs and code hosts make the same."""
    headings = filter(str.isascii, re.findall(r"^#+ (.+)$", words(path), re.MULTILINE))
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def test_every_page_is_in_the_navigation_once():
    pages = listed(settings()["nav"])
    assert sorted(pages) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    place = DOCS / page
    for target in re.findall(r"\]\(([^)\s]+)\)", words(place)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        linked = (place.parent / path).resolve() if path else place
        assert linked.is_file(), (page, target)
        inside = linked.is_relative_to(DOCS)
        assert inside or page == "tour.md", f"{page} links to {target}, which the site does not have"
        if anchor:
            assert anchor in anchors(linked), (page, target)


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_their_options_exist(page):
    for line in code(page):
        if not (found := re.match(r"residuum ([a-z][a-z-]*)(.*)", line)):
            continue
        name, rest = found.groups()
        assert name in COMMANDS, (page, line)
        command = typer.main.get_command(import_module(f"residuum.cli.{name}").app)
        parts: Any = [command, *getattr(command, "commands", {}).values()]
        known = {option for part in parts for parameter in part.params for option in parameter.opts} | {"--help"}
        mine = rest.split("|")[0]  # what follows is for another program
        assert set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", mine)) <= known, (page, line)


@pytest.mark.parametrize("page", EXAMPLES)
def test_examples(page):
    failed, tried = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert tried > 0
    assert failed == 0


def test_every_public_name_is_in_the_reference():
    import residuum

    asked = {page: re.findall(r"^::: (\S+)", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE) for page in PAGES}
    shown = {name.split(".")[1] for names in asked.values() for name in names}
    assert set(residuum.__all__) <= shown
    for page, names in asked.items():
        for name in names:
            module, _, member = name.rpartition(".")
            assert hasattr(import_module(module), member), (page, name)


def test_the_tour_is_the_one_of_the_readme():
    place = DOCS / "_site" / "tour.py"
    spec = util.spec_from_file_location("tour", place)
    assert spec
    assert spec.loader
    tour = util.module_from_spec(spec)
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        spec.loader.exec_module(tour)
    finally:
        sys.dont_write_bytecode = before
    told, readme = tour.told(), (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"```console\n.*?```", told, re.DOTALL) == re.findall(r"```console\n.*?```", readme, re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", told):
        assert (DOCS / target.partition("#")[0]).is_file(), target


def test_nothing_is_asked_of_a_network():
    theme = settings()["theme"]
    assert theme["font"] is False
    assert not {"extra_css", "extra_javascript", "repo_url"} & set(settings())
    assert not [page for page in PAGES if "```mermaid" in (DOCS / page).read_text(encoding="utf-8")]
