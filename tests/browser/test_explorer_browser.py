"""The explorer in a real browser, against a running `residuum explore`: `make test-browser`."""

import os
import re
import shutil
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest

import residuum
from residuum import Domain, Estimates, NoisyMarginal, Release, Workload
from tests.present import releases
from tests.present.releases import IMAGE, SCRIPT

if not os.environ.get("RESIDUUM_BROWSER"):
    pytest.skip("run by: make test-browser", allow_module_level=True)

from playwright.sync_api import expect, sync_playwright

RESIDUUM = Path(sys.executable).parent / "residuum"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def started(folder):
    """A running explorer, and where it answers."""
    command = [RESIDUUM, "explore", folder, "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    assert "http://127.0.0.1:" in line, line + process.stderr.read()
    return process, re.search(r"http://\S+", line).group()


def ended(process):
    """What it says when it is ended."""
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=20)
    return process.returncode, output, errors


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return releases.folder(tmp_path_factory.mktemp("browsed"))


@pytest.fixture(scope="module")
def address(folder):
    process, address = started(folder)
    yield address
    ended(process)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, address):
    """A function that opens a page; what the browser complains about fails the test, and so does any other host."""
    complaints, contexts = [], []

    def open_page(path, *, expected=(), base=address, **settings):
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith(base) or complaints.append(f"asked for {asked.url}"))
        page.goto(base.rstrip("/") + path)
        open_page.expected = expected
        return page

    open_page.expected = ()
    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in complaints if not any(part in text for part in open_page.expected)] == []


def drawn(page, times=1):
    """Wait until the chart was drawn so often, and the page is done."""
    expect(page.locator("#chart")).to_have_attribute("data-drawn", str(times), timeout=20_000)
    expect(page.locator("#view")).to_have_attribute("aria-busy", "false")


def picture(page):
    return page.locator("#chart svg").inner_html()


def rows(page):
    return page.locator("#rows tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def test_attributes_are_chosen_and_the_chart_changes(opened):
    page = opened("/")
    drawn(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("age")
    expect(page.locator("#rows tr")).to_have_count(7)
    first = picture(page)
    page.get_by_label("Second").select_option(label="sex (2)")
    drawn(page, 2)
    expect(page.get_by_role("heading", level=1)).to_have_text("age × sex")
    expect(page.locator("#rows tr")).to_have_count(14)
    heat = picture(page)
    page.get_by_role("radio", name="Grouped bars").check()
    drawn(page, 3)
    assert len({first, heat, picture(page)}) == 3
    page.get_by_label("Third").select_option(IMAGE)
    drawn(page, 4)
    expect(page.locator("#rows tr")).to_have_count(56)
    page.get_by_label("Second").select_option("")
    drawn(page, 5)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"age × {IMAGE}")


def test_the_table_has_counts_with_their_intervals(opened, folder):
    page = opened("/?by=sex&by=age&estimate=mle")
    drawn(page)
    marginal = residuum.load(folder).marginal(["sex", "age"], "mle")
    half = 1.96 * marginal.stderr[0, 0]
    assert rows(page)[0][:4] == ["female", "18-24", f"{marginal.values[0, 0]:,.0f}", f"± {half:.0f}"]
    expect(page.locator("#status")).to_contain_text("with 95% intervals")


def test_estimates_are_switched(opened):
    page = opened("/?by=code&by=age")
    drawn(page)
    seen = [rows(page)]
    for times, name in enumerate(("Latent classes", "Non-negative", "As measured"), start=2):
        page.get_by_role("radio", name=name).check()
        drawn(page, times)
        seen.append(rows(page))
    assert all(seen[i] != seen[j] for i in range(4) for j in range(i))
    expect(page.locator("#notes")).to_contain_text("Never measured and taken as zero")


def test_values_are_filtered(opened):
    page = opened("/?by=age&by=sex")
    drawn(page)
    page.locator("summary", has_text="age").click()
    page.get_by_label("18-24", exact=True).uncheck()
    drawn(page, 2)
    expect(page.locator("#rows tr")).to_have_count(12)
    expect(page.locator("summary").first).to_contain_text("6 of 7")
    page.get_by_label("Only one value of age").select_option("75+")
    drawn(page, 3)
    expect(page.locator("#rows tr")).to_have_count(2)
    expect(page.locator("#notes")).to_contain_text("Only age: 75+.")
    page.get_by_label("All values of age").click()
    drawn(page, 4)
    expect(page.locator("#rows tr")).to_have_count(14)


def test_columns_are_sorted_and_pages_turned(opened):
    page = opened("/?by=code&by=age&by=sex")
    drawn(page)
    expect(page.locator("#where")).to_have_text("1 to 200 of 560")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#where")).to_have_text("201 to 400 of 560")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#where")).to_have_text("401 to 560 of 560")
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    expect(page.locator("#chart")).to_have_attribute("data-drawn", "1")
    page.get_by_role("button", name="people").click()
    expect(page.locator("#where")).to_have_text("1 to 200 of 560")
    expect(page.get_by_role("columnheader", name="people")).to_have_attribute("aria-sort", "descending")
    counts = [float(row[3].replace(",", "")) for row in rows(page)]
    assert all(low <= high + 1 for high, low in pairwise(counts))  # they are rounded as their intervals suggest
    assert page.evaluate("document.activeElement.textContent") == "people"


def test_the_csv_is_what_query_writes(opened, folder, tmp_path):
    page = opened("/?by=age&by=sex&keep0=1&sort=people")
    drawn(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    download.value.save_as(tmp_path / "explored.csv")
    query = [RESIDUUM, "query", folder, "age", "sex", "--format", "csv"]
    assert (tmp_path / "explored.csv").read_bytes() == subprocess.run(query, capture_output=True, check=True).stdout
    assert download.value.suggested_filename == "age_sex.csv"


def test_a_shared_link_restores_the_view(opened):
    page = opened("/")
    drawn(page)
    page.get_by_label("First").select_option("sex")
    drawn(page, 2)
    page.get_by_label("Second").select_option("age")
    drawn(page, 3)
    page.get_by_role("radio", name="Grouped bars").check()
    drawn(page, 4)
    page.get_by_role("radio", name="Non-negative").check()
    drawn(page, 5)
    page.locator("summary", has_text="age").click()
    page.get_by_label("25-34", exact=True).uncheck()
    drawn(page, 6)
    page.get_by_role("button", name="people").click()
    expect(page.get_by_role("columnheader", name="people")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#status")).to_have_text("The link to this view was copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url
    other = opened("/" + link.split("/", 3)[3])
    drawn(other)
    assert rows(other) == rows(page)
    assert re.sub(r"\d{3,}", "", picture(other)) == re.sub(r"\d{3,}", "", picture(page))
    expect(other.get_by_role("radio", name="Non-negative")).to_be_checked()
    expect(other.get_by_role("radio", name="Grouped bars")).to_be_checked()
    expect(other.get_by_label("Second")).to_have_value("age")


def test_back_and_forward(opened):
    page = opened("/")
    drawn(page)
    page.get_by_label("Second").select_option("pet")
    drawn(page, 2)
    page.get_by_role("radio", name="As measured").check()
    drawn(page, 3)
    page.go_back()
    drawn(page, 4)
    expect(page.get_by_role("radio", name="Best")).to_be_checked()
    page.go_back()
    drawn(page, 5)
    expect(page.get_by_role("heading", level=1)).to_have_text("age")
    expect(page.get_by_label("Second")).to_have_value("")
    page.go_forward()
    drawn(page, 6)
    expect(page.get_by_role("heading", level=1)).to_have_text("age × pet")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/?by=nonsense", "Unknown attribute 'nonsense'"),
        ("/?by=sex&by=pet", "holds no marginal over 'sex', 'pet'"),
        ("/?by=age&keep0=99", "codes 0 to 6"),
    ],
)
def test_what_makes_no_sense_is_said_and_can_be_left(opened, path, says):
    page = opened(path, expected=("400 (Bad Request)",))
    expect(page.get_by_role("alert")).to_contain_text(says)
    expect(page.locator("#shown")).to_be_hidden()
    page.get_by_label("First").select_option("age" if "keep0" not in path else "code")
    drawn(page)
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_wrong_address(opened):
    page = opened("/nowhere", expected=("404 (Not Found)",))
    expect(page.get_by_text("There is nothing at this address.")).to_be_visible()
    page.get_by_role("link", name="To the first page").click()
    drawn(page)


@pytest.mark.parametrize("chart", ["map", "bars"])
def test_script_in_labels_is_text(opened, chart):
    page = opened(f"/?by=sex&by={quote(IMAGE)}&chart={chart}")
    drawn(page)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"sex × {IMAGE}")
    expect(page.locator("#rows")).to_contain_text(SCRIPT)
    page.locator("summary", has_text=IMAGE).click()
    expect(page.locator(".boxes")).to_contain_text(SCRIPT)
    assert page.locator("main img, form img, #rows script").count() == 0
    for mark in page.locator("#chart svg path[aria-roledescription], #chart svg .mark-rect path").all()[:4]:
        mark.hover(force=True)
    expect(page.locator("#tip")).to_contain_text("people")
    assert page.locator("#tip *").count() == 0
    assert page.title() != "run"


def test_the_budget(opened):
    page = opened("/?by=age")
    drawn(page)
    page.get_by_role("link", name="Budget").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Budget")
    expect(page.locator("main")).to_contain_text("at most e^ε = 2.72 times as likely")
    assert page.locator(".spending rect").count() == 7
    page.get_by_text("The same in numbers").click()
    expect(page.get_by_role("rowheader", name="Before the first round")).to_be_visible()


def test_by_keyboard_alone(opened):
    page = opened("/")
    drawn(page)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the table")).to_be_focused()
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(page.get_by_label("First")).to_be_focused()
    page.keyboard.press("ArrowDown")
    drawn(page, 2)
    expect(page.get_by_role("heading", level=1)).to_have_text("sex")
    page.keyboard.press("Tab")
    page.keyboard.press("a")
    drawn(page, 3)
    expect(page.get_by_role("heading", level=1)).to_have_text("sex × age")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".boxes")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    drawn(page, 4)
    expect(page.locator("#rows tr")).to_have_count(7)
    assert page.evaluate("document.activeElement.type") == "checkbox"


def test_everything_that_is_operated_has_a_name(opened):
    page = opened("/?by=age&by=sex")
    drawn(page)
    for operated in page.locator("select, input, button, a, summary, [tabindex='0']").all():
        if operated.is_visible():
            snapshot = operated.aria_snapshot()
            assert re.search(r"\"[^\"]+\"|: \S|text", snapshot), snapshot
    for group in page.locator("fieldset").all():
        assert group.locator("legend").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    "path", [f"/?by=age&by=sex&by={quote(IMAGE)}", "/?by=age&chart=bars&by=pet", "/?by=code", "/budget"]
)
def test_every_width_and_theme(opened, path, width, scheme):
    page = opened(path, viewport={"width": width, "height": 740}, color_scheme=scheme)
    drawn(page) if "by" in path else None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    red = int(re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[0])
    assert red > 200 if scheme == "light" else red < 60


def test_a_change_of_theme_is_followed(opened):
    page = opened("/?by=age&by=sex", color_scheme="light")
    drawn(page)
    light = picture(page)
    page.emulate_media(color_scheme="dark")
    drawn(page, 2)
    assert picture(page) != light


def test_the_classes_are_waited_for(opened, tmp_path):
    domain = Domain({f"x{k}": 12 for k in range(40)})
    counts = [NoisyMarginal((k, k + 1), [[k + i * j for i in range(12)] for j in range(12)], 4.0) for k in range(39)]
    release = Release(Estimates(Workload.all_kway(domain, 2), counts), 0.5, (), {"caveats": ()}, frozenset({"a"}))
    residuum.save(release, tmp_path / "wide")
    process, address = started(tmp_path / "wide")
    try:
        page = opened("/?by=x1&by=x2", base=address)
        expect(page.locator("#fitting")).to_contain_text("Fitting latent classes")
        expect(page.locator("#notes")).to_contain_text("mle")
        drawn(page)
        expect(page.locator("#fitting")).to_be_hidden(timeout=120_000)
        expect(page.locator("#notes")).to_contain_text("best")
        assert (tmp_path / "wide" / "model.arrow").exists()
    finally:
        ended(process)


def test_an_attribute_of_a_million_values_does_not_hang_the_page(opened, tmp_path):
    estimates = Estimates(Workload.all_kway(Domain({"id": 1_000_000, "sex": 2}), 2))
    residuum.save(Release(estimates, 0.5, (), {"caveats": ()}, frozenset({"a"})), tmp_path / "long")
    process, address = started(tmp_path / "long")
    try:
        page = opened("/?by=id&by=sex&estimate=mle", base=address)
        drawn(page)
        page.set_default_timeout(2000)
        page.locator("summary", has_text="id").click()
        expect(page.locator("#values")).to_contain_text("Too many values to list here")
        page.locator("summary", has_text="sex").click()
        page.get_by_label("Only one value of sex").select_option("1")
        drawn(page, 2)
        expect(page.locator("#where")).to_have_text("1 to 200 of 1,000,000")
    finally:
        ended(process)


def test_ctrl_c_ends_it_with_one_line(folder):
    process, _ = started(folder)
    assert ended(process) == (130, "", "Stopped.\n")
