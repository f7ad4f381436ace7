"""Plots of marginals: valid, honest, and with nothing in them but text."""

import json
import subprocess
import sys
from html import unescape

import numpy as np
import pytest
import vl_convert

from residuum.errors import ReleaseError
from residuum.marginal import Marginal
from residuum.present import plots
from residuum.present.drawing import drawn
from residuum.present.shown import Shown
from residuum.present.themes import theme

NASTY = ("a.b[0]", 'it\'s "quoted" \\', "</script><script>alert(1)</script>", "line\nbreak", "image", "title", "people")


def marginal(*sizes, estimate="best", stderr=3.0, names="abc", labels=None, unmeasured=()):
    """A marginal of made-up counts."""
    values = np.random.default_rng(0).integers(0, 100, sizes).astype(float)
    errors = None if stderr is None else np.full(sizes, stderr)
    return Marginal(
        tuple(names[: len(sizes)]), values, 1.0, unmeasured, labels or (None,) * len(sizes), estimate, errors
    )


def cells(spec):
    return spec["data"]["values"]


def marks(spec):
    return [layer["mark"]["type"] for layer in spec.get("spec", spec)["layer"]]


SHAPES = [(), (3,), (60,), (3, 4), (30, 40), (3, 4, 2), (8, 9, 5)]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("sizes", SHAPES)
def test_altair_and_vega_accept_every_plot(sizes, grouped):
    made = marginal(*sizes)
    chart = made.plot(grouped=grouped)
    assert chart.to_dict()["config"]["background"] == "transparent"  # validates
    assert plots.rendered(plots.spec(made, grouped=grouped), "svg").startswith(b"<svg")


def test_one_attribute_is_bars_with_intervals():
    made = marginal(4)
    spec = plots.spec(made)
    assert marks(spec) == ["bar", "rule", "tick", "tick", "text"]
    assert [row["lo"] for row in cells(spec)] == pytest.approx(made.lower, abs=0.01)
    assert [row["hi"] for row in cells(spec)] == pytest.approx(made.upper, abs=0.01)
    assert spec["layer"][0]["encoding"]["x"]["axis"]["title"] == "people"


def test_two_are_a_heat_map_or_groups_and_three_are_panels():
    assert marks(plots.spec(marginal(3, 4)))[0] == "rect"
    assert marks(plots.spec(marginal(3, 4), grouped=True)) == ["bar", "rule", "tick", "tick"]
    spec = plots.spec(marginal(3, 4, 2))
    assert spec["facet"]["sort"] == ["0", "1"]
    assert {row["a2"] for row in cells(spec)} == {"0", "1"}


def test_a_heat_map_tells_the_interval_of_the_cell_pointed_at():
    tooltip = plots.spec(marginal(30, 40))["encoding"]["tooltip"]
    assert [entry["title"] for entry in tooltip] == ["a", "b", "people", "95% from", "95% to"]


def test_without_standard_errors_there_are_no_intervals_and_it_says_so():
    made = marginal(4, stderr=None, estimate="nonnegative")
    assert marks(plots.spec(made)) == ["bar", "text"]
    assert "lo" not in cells(plots.spec(made))[0]
    assert "How far they may be off is not known, so they have no intervals." in plots.notes(made)


@pytest.mark.parametrize(
    ("estimate", "how"),
    [("best", "estimated from what was"), ("latent", "estimated from what was"), ("mle", "taken as zero"),
     ("nonnegative", "taken as zero")],
)  # fmt: skip
def test_the_notes_say_which_estimate_it_is_and_what_was_never_measured(estimate, how):
    made = marginal(3, 4, estimate=estimate, unmeasured=(("b",), ("a", "b")))
    notes = plots.notes(made, caveats=["not private: seeded"])
    assert notes[0] == "Caveat: not private: seeded."
    assert notes[1].startswith(f"Estimated counts of people ({estimate}: ")
    assert f"Never measured and {how}: b, a × b." in notes
    subtitle = " ".join(plots.spec(made, caveats=["not private: seeded"])["title"]["subtitle"])
    assert all(note in subtitle for note in notes)


@pytest.mark.parametrize(("sizes", "grouped"), [((1200, 1100), False), ((300_000,), False), ((90, 90, 90), True)])
def test_large_ones_are_cut_to_the_most_frequent_values(sizes, grouped):
    spec = plots.spec(marginal(*sizes), grouped=grouped)
    assert len(cells(spec)) <= (plots.MOST_BARS if grouped or len(sizes) == 1 else plots.MOST_CELLS)
    assert "Cut to the most frequent:" in spec["description"]


def test_what_is_kept_are_the_largest_and_they_stay_in_order():
    made = Marginal(("a",), np.array([5.0, 90.0, 1.0, 80.0]), 1.0, (), (("p", "q", "r", "s"),))
    assert [row["a0"] for row in cells(plots.spec(made, most=2))] == ["q", "s"]
    assert "Cut" not in plots.spec(made, most=4)["description"]


def test_names_and_labels_are_texts_and_nothing_else():
    for name in NASTY:
        labels = tuple((name, None, "<img src=x>") for _ in range(3))
        made = marginal(3, 3, 3, names=[name, "b", "c"], labels=labels)
        for grouped in (False, True):
            compiled = vl_convert.vegalite_to_vega(json.dumps(plots.spec(made, grouped=grouped)))
            assert "alert(1)" not in json.dumps(list(_signals(compiled)))
            plots.rendered(plots.spec(made, grouped=grouped), "svg")


def _signals(entries):
    """Every expression in a compiled plot, without the texts in quotes."""
    if isinstance(entries, dict):
        for key, value in entries.items():
            if key in ("signal", "expr", "test", "update") and isinstance(value, str):
                yield _outside_quotes(value)
            else:
                yield from _signals(value)
    elif isinstance(entries, list):
        for value in entries:
            yield from _signals(value)


def _outside_quotes(text):
    kept, quote, k = [], "", 0
    while k < len(text):
        if quote:
            k += text[k] == "\\"
            quote = "" if text[k] == quote else quote
        elif text[k] in "\"'":
            quote = text[k]
        else:
            kept.append(text[k])
        k += 1
    assert not quote, text
    return "".join(kept)


def test_no_tooltip_has_an_entry_that_is_drawn_as_a_picture_or_a_heading():
    spec = plots.spec(marginal(2, 2, 2, names=("image", "title", "people")))
    titles = [entry["title"] for entry in spec["spec"]["encoding"]["tooltip"]]
    assert not {"image", "title"} & set(titles)
    assert len(set(titles)) == len(titles)


def test_labels_that_look_alike_stay_apart_and_what_is_not_seen_is_written_out():
    made = marginal(5, labels=((1, "1", None, "", "a\x1b[31m"),))
    assert [row["a0"] for row in cells(plots.spec(made))] == ["1", "1 (2)", "(missing)", "(empty)", "a\\x1b[31m"]


def test_a_saved_page_holds_all_it_needs_and_labels_are_texts_in_it(tmp_path):
    made = marginal(2, labels=(("</script><script>alert(1)</script>", "http://example.com/"),), names=["<b>"])
    plots.save(made.plot(), tmp_path / "a.html")
    made.plot().save(tmp_path / "b.html")
    pages = [(tmp_path / f"{name}.html").read_text() for name in "ab"]
    assert pages[0] == pages[1]
    without = pages[0].replace(plots.library(), "")
    assert "<script>alert" not in without
    assert "<b>" not in without
    assert without.count("</script>") == 3
    assert "default-src 'none'" in unescape(without)
    assert not any(fetched in without for fetched in (' src="', ' href="', "@import", "url("))


def test_pictures_are_saved_by_their_ending(tmp_path):
    for ending, start in (("svg", b"<svg"), ("PNG", b"\x89PNG")):
        plots.save(marginal(3).plot(), tmp_path / f"a.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes().startswith(start)
    with pytest.raises(ReleaseError, match=r"end in .html, .svg or .png, got"):
        plots.save(marginal(3).plot(), tmp_path / "a.jpeg")
    assert not (tmp_path / "a.jpeg").exists()


def test_a_theme_is_taken_as_it_is():
    assert plots.spec(marginal(3), config=theme("dark"))["config"] == theme("dark")
    assert plots.spec(marginal(3), config={})["config"] == {}
    assert set(theme("dark")) == set(theme("light"))


def test_a_notebook_is_given_a_plot_that_fetches_nothing():
    bundle = marginal(3).plot()._repr_mimebundle_()
    assert {kind.split("+")[0].split(".")[0] for kind in bundle} == {"application/vnd", "image/svg", "text/plain"}
    assert bundle["image/svg+xml"].startswith("<svg")


@pytest.mark.parametrize(
    ("sizes", "settings", "says"),
    [
        ((2, 2, 2, 2), {}, "at most 3 attributes in a plot, got 4: 'a', 'b', 'c', 'd'"),
        ((2,), {"most": 0}, "above 0, got 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(sizes, settings, says):
    with pytest.raises(ReleaseError, match=says):
        marginal(*sizes, names="abcd").plot(**settings)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(
        ReleaseError, match=r"needs altair, which is not installed. Run: pip install 'residuum\[plots\]'"
    ):
        marginal(3).plot()


def test_nothing_is_imported_before_a_plot_is_asked_for():
    code = "import sys, residuum; print([m for m in ('altair', 'vl_convert', 'jinja2') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_plot_without_a_theme_names_its_version():
    assert drawn(Shown.of(marginal(3), 10))["$schema"].endswith(".json")
