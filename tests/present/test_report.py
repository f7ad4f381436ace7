"""The report: true to the release, one file, and nothing in it but text."""

import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import altair
import numpy as np
import pytest

import residuum
from residuum import Domain, Table, Workload
from residuum.core.zcdp import Spend
from residuum.present import account, plots
from residuum.present.against import Against, Column, Compared, Order
from residuum.present.findings import Findings, dependence
from residuum.present.promise import Promise, right_at_most
from residuum.present.report import report

SCRIPT = "</script><script>alert(1)</script>"


def made(domain, k=2, rows=3000, **settings):
    """A release of rows in which the second column repeats the first, mostly, and all others are by themselves."""
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, size, rows) for size in domain.sizes])
    codes[:, 1] = np.where(rng.random(rows) < 0.9, codes[:, 0] % domain.sizes[1], codes[:, 1])
    budget = {"rho": 0.5} if "epsilon" not in settings else {}
    return residuum.aim(Table.from_codes(codes, domain), Workload.all_kway(domain, k), **budget, **settings)


@pytest.fixture(scope="module")
def release():
    domain = Domain({"region": ["n", "s", SCRIPT], "again": 3, "<b>bold</b>": ["x", "y"], "image": 4})
    return made(domain, 3, epsilon=1.0, delta=1e-9, seed=0)


@pytest.fixture(scope="module")
def page(release):
    return report(release)


def stated(page):
    """What the page draws."""
    text = re.search(r'<script type="application/json" id="stated">(.*?)</script>', page, re.DOTALL)
    assert text
    return json.loads(text[1])["plots"]


def body(page):
    """The page without the library."""
    assert plots.library() in page
    return page.replace(plots.library(), "")


class Elements(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_it_says_what_was_released_and_how(page):
    for words in (
        "4 marginals of 4 columns",
        "AIM+GReM",
        "ε = 1, δ = 1e-09",
        "73.1%",
        "To cite",
        "one row of the table",
    ):
        assert words in page, words


def test_a_seeded_release_is_marked_and_promises_nothing(page, release):
    assert Promise.of(release).seeded
    assert "NOT PRIVATE: this release was made with a seed" in page
    assert "seeded, hence without any guarantee" in page
    private = replace(release, provenance={**release.provenance, "caveats": ()})
    assert "NOT PRIVATE" not in report(private)


def test_labels_are_texts(page):
    text = body(page)
    assert SCRIPT not in text
    assert "<b>bold" not in text
    assert text.count("</script>") == 3


def test_it_fetches_nothing(page):
    text = body(page)
    for tag, attrs in Elements(text).found:
        assert tag not in ("img", "iframe", "link", "object", "embed", "base"), tag
        assert "src" not in attrs
        assert attrs.get("href", "#").startswith("#")
        assert not [name for name in attrs if name.startswith("on")]
    assert "://" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not any("url" in plot.get("data", {}) for plot in stated(page).values())
    assert "default-src 'none'" in unescape(text)


def test_every_plot_has_a_place_and_is_valid(page):
    places = {attrs.get("id") for _, attrs in Elements(body(page)).found}
    for name, plot in stated(page).items():
        assert name in places, name
        kind = altair.LayerChart if "layer" in plot else altair.FacetChart if "facet" in plot else altair.Chart
        kind.from_dict({**plot}).to_dict()


def test_all_places_have_their_own_names(page):
    names = [attrs["id"] for _, attrs in Elements(body(page)).found if "id" in attrs]
    assert len(set(names)) == len(names)


def test_the_strongest_pair_comes_first(release):
    findings = Findings.of(release)
    assert findings.pairs[0] == (0, 1)
    assert findings.strengths[0, 1] > 0.5
    assert findings.strengths[2, 3] < 0.1
    assert {0, 1} < set(findings.triples[0])


def test_noise_is_not_taken_for_dependence():
    rng = np.random.default_rng(1)
    domain = Domain({"a": 6, "b": 6, "c": 6})
    table = Table.from_codes(rng.integers(0, 6, (500, 3)), domain)
    release = residuum.aim(table, Workload.all_kway(domain, 2), rho=0.05, seed=0)
    assert dependence(release.fit()).max() < 0.3


def test_the_budget_adds_up(release):
    kinds, course = account.kinds(release.spends), account.course(release.spends)
    assert sum(kind.share for kind in kinds) == pytest.approx(1)
    assert sum(kind.questions for kind in kinds) == len(release.spends)
    last = [row["share"] for row in course if row["n"] == len(release.spends)]
    assert sum(last) == pytest.approx(1, abs=1e-4)


def test_a_long_run_is_drawn_in_few_steps():
    spends = [Spend("exponential" if n % 2 else "gaussian", (0,), 2**80, 1.0) for n in range(5000)]
    assert len({row["n"] for row in account.course(spends)}) < 300


def test_the_noise_is_that_of_the_release(release):
    by_order = {noise.columns: noise for noise in account.noise(release)}
    stderrs = sorted(release.noise((i,))[0] for i in range(4))
    assert by_order["single columns"].spread[0] == pytest.approx(stderrs[0])
    assert by_order["single columns"].spread[-1] == pytest.approx(stderrs[-1])
    assert by_order["single columns"].components == (4, 4)


def test_what_was_never_measured_is_named():
    domain = Domain({"age": 3, "sex": 2})
    estimates = residuum.Estimates(Workload.all_kway(domain, 2), [residuum.NoisyMarginal((0,), [20, 30, 50], 1.0)])
    release = residuum.Release(estimates, 0.5, (), {"caveats": ()}, frozenset("0"))
    text = report(release)
    assert "Never measured among pairs: age × sex." in text
    assert "not known without a model" in text


@pytest.mark.parametrize("settings", [{"neighbours": "replace"}, {"rows_per_person": 3}])
def test_the_unit_of_privacy_is_that_of_the_run(settings):
    text = report(made(Domain({"a": 2, "b": 2}), 2, **settings))
    words = "number of rows" if "neighbours" in settings else "up to 3 rows of the table"
    assert words in text
    assert "ρ = 0.5 (zero-concentrated)" in text


def test_combined_releases_and_single_columns_have_reports():
    domain = Domain({"a": 2, "b": 2})
    combined = made(domain, 2).combine(made(domain, 2))
    assert "combined" in report(combined)
    single = Domain({"a": 3})
    one = residuum.aim(Table.from_codes([[0], [1], [2]], single), Workload.all_kway(single, 1), rho=0.5, seed=0)
    assert "The release has one column" in report(one)


def test_a_guess_is_no_better_than_the_bound():
    assert right_at_most(0.0, 0.0) == 0.5
    assert right_at_most(1.0, 0.0) == pytest.approx(np.e / (1 + np.e))
    assert right_at_most(1000.0, 0.0) == 1.0


def test_what_is_said_of_the_truth_comes_with_a_warning(release, page):
    order = Order("pairs", 6, 6, 12.5, 0.02, 0.01, 0.03, 0.94)
    one = Compared(("region", "<i>"), 9, 8675.0, 0.0123)
    column = Column("region", ("n", SCRIPT), (0.5, 0.5), (0.4, 0.6), (0.3, 0.7))
    text = report(release, Against(7919, 7900.0, (order,), (one,), (one,), (column,), 100))
    for words in ("NOT PRIVATE, for the data owner only", "7,919", "8,675", "1.23%", "94.0%", "&lt;i&gt;", "20.00%"):
        assert words in text, words
        assert words == "1.23%" or words not in page, words
    title = re.search("<title>(.*?)</title>", text)
    assert title
    assert "NOT PRIVATE" in title[1]
    assert SCRIPT not in body(text)
    assert {"errors", "shares0"} <= set(stated(text))
