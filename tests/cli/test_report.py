"""Reports and plots, as commands."""

import os
import sys

import pytest

from residuum.cli import truth
from tests.cli import people
from tests.cli.people import SECRETS, refused, run
from tests.present import releases


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return people.write(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def release(place):
    folder = place.folder / "release"
    assert run("release", place.people, "--schema", place.schema, "--rho", "0.5", "-o", folder).exit_code == 0
    return folder


def test_a_report_is_a_page_made_from_the_release_alone(release, tmp_path):
    file = tmp_path / "report.html"
    result = run("report", release, "-o", file)
    assert result.exit_code == 0
    assert "Wrote a report to" in result.stdout
    text = file.read_text()
    assert text.startswith("<!doctype html>")
    assert "NOT PRIVATE" not in text
    assert not any(secret in text for secret in SECRETS[:3])
    assert os.listdir(tmp_path) == ["report.html"]


def test_against_the_data_it_is_marked_as_not_private(place, release, tmp_path):
    file = tmp_path / "errors.html"
    result = run("report", release, "-o", file, "--against", place.people, "--schema", place.schema)
    assert result.exit_code == 0
    assert "NOT PRIVATE" in result.stderr
    text = file.read_text()
    assert "NOT PRIVATE, for the data owner only" in text
    assert f"{people.ROWS:,} rows" in text
    assert not any(secret in text for secret in SECRETS[:3])


def test_the_errors_are_those_of_the_release(place, release):
    from residuum import Schema, load, read

    schema, made = Schema.load(place.schema), load(release)
    against = truth.compared(made, str(place.people), schema)
    table = read(place.people, schema)
    assert against.rows == people.ROWS
    names = {column.name: column for column in against.columns}
    counts = [(table.columns[0] == code).sum() / people.ROWS for code in range(made.domain.sizes[0])]
    assert names["sex"].real == pytest.approx(counts)
    assert names["sex"].synthetic == pytest.approx(counts, abs=0.03)
    assert [order.columns for order in against.orders] == ["the total", "single columns", "pairs"]
    assert all(0 <= one.share < 0.05 for one in against.worst)
    assert against.best[0].share <= against.worst[0].share


def test_caveats_cannot_do_anything_to_a_terminal(tmp_path):
    import residuum

    residuum.save(releases.made(caveats=("\x1b[31mred",)), tmp_path / "release")
    result = run("report", tmp_path / "release", "-o", tmp_path / "report.html")
    assert r"Caveat: \x1b[31mred." in result.stderr
    assert "\x1b" not in result.stderr + (tmp_path / "report.html").read_text()


def test_of_many_marginals_some_are_compared(place, release, monkeypatch):
    from residuum import Schema, load

    monkeypatch.setattr(truth, "_MOST_MARGINALS", 2)
    against = truth.compared(load(release), str(place.people), Schema.load(place.schema))
    assert [(order.looked_at, order.marginals) for order in against.orders] == [(1, 1), (3, 3), (2, 3)]


def test_what_is_there_is_kept_unless_by_force(release, tmp_path):
    file = tmp_path / "report.html"
    file.write_text("mine")
    refused("report", release, "-o", file, says="overwrite it with --force")
    assert file.read_text() == "mine"
    assert run("report", release, "-o", file, "--force").exit_code == 0
    assert file.read_text() != "mine"


def test_wrong_reports_are_refused_in_a_line(place, release, tmp_path):
    file = tmp_path / "report.html"
    refused("report", tmp_path / "nothing", "-o", file, says="nothing")
    refused("report", release, "-o", tmp_path / "report.pdf", says="ends in .html")
    refused("report", release, "-o", file, "--against", place.people, says="--schema FILE")
    refused("report", release, "-o", file, "--schema", place.schema, says="--against DATA")
    refused("report", release, "-o", tmp_path / "no" / "report.html", says="Cannot write")
    missing = tmp_path / "missing.csv"
    refused("report", release, "-o", file, "--against", missing, "--schema", place.schema, says="missing.csv")
    other = tmp_path / "other.yaml"
    other.write_text(people.SCHEMA.replace("bins: 5", "bins: 4"))
    refused("report", release, "-o", file, "--against", place.people, "--schema", other, says="other columns or values")
    assert os.listdir(tmp_path) == ["other.yaml"]


def test_query_writes_plots(release, tmp_path):
    for ending, start in (("html", b"<!doctype html>"), ("svg", b"<svg"), ("png", b"\x89PNG")):
        file = tmp_path / f"plot.{ending}"
        result = run("query", release, "sex", "age", "--plot", file)
        assert (result.exit_code, result.stdout) == (0, "")
        assert "Wrote a plot to" in result.stderr
        assert file.read_bytes().startswith(start)
    both = run("query", release, "sex", "--plot", tmp_path / "sex.svg", "--format", "csv")
    assert both.stdout.startswith('"sex","value"')
    grouped = run("query", release, "sex", "age", "--plot", tmp_path / "grouped.svg", "--grouped")
    assert grouped.exit_code == 0
    assert (tmp_path / "grouped.svg").read_bytes() != (tmp_path / "plot.svg").read_bytes()


def test_wrong_plots_are_refused_in_a_line(release, tmp_path):
    file = tmp_path / "plot.png"
    refused("query", release, "sex", "--plot", tmp_path / "plot.pdf", says="end in .html, .svg or .png")
    refused("query", release, "sex", "nobody", "--plot", file, says="Unknown attribute 'nobody'")
    refused("query", release, "a", "b", "c", "d", "--plot", file, says="at most 3 attributes")
    file.write_bytes(b"mine")
    refused("query", release, "sex", "--plot", file, says="overwrite it with --force")
    assert os.listdir(tmp_path) == ["plot.png"]


@pytest.mark.parametrize("command", [("report", "-o", "report.html"), ("query", "sex", "--plot", "plot.svg")])
def test_a_missing_library_is_named(release, tmp_path, monkeypatch, command):
    from residuum.present import plots

    plots.library.cache_clear()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.chdir(tmp_path)
    refused(command[0], release, *command[1:], says="pip install 'residuum[plots]'")
    assert os.listdir(tmp_path) == []


def test_help_has_examples():
    assert "  residuum report people-release" in run("report", "--help").stdout
    assert "--plot" in run("query", "--help").stdout
