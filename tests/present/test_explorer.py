"""The explorer through its application: every address, what it refuses, and that labels are text."""

import json
import re
import signal
import socket
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from html import escape
from html.parser import HTMLParser
from importlib.resources import files
from itertools import product
from time import sleep

import numpy as np
import pytest
from typer.testing import CliRunner

import residuum
from residuum import Domain, Estimates, NoisyMarginal, Release, Workload
from residuum.cli import app as commands
from residuum.errors import ReleaseError
from residuum.present.explorer import budget, serve
from residuum.present.explorer.app import application
from residuum.present.explorer.background import Fitting, Library
from residuum.present.explorer.guard import PAGES, POLICY, serves
from residuum.present.explorer.view import MOST_CELLS, ROWS
from residuum.present.promise import Promise
from tests.present import releases
from tests.present.releases import AGES, IMAGE, SCRIPT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # new versions of Starlette would rather have another client than httpx
    from starlette.testclient import TestClient

HOST = "127.0.0.1:8765"
STATIC = sorted(file.name for file in files("residuum.present.explorer").joinpath("static").iterdir())
ADDRESSES = ["/", "/budget", "/api/release", "/api/status", "/api/view?by=age", "/marginal.csv?by=age&estimate=mle"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return releases.folder(tmp_path_factory.mktemp("explored"))


@pytest.fixture(autouse=True)
def no_other_process(monkeypatch):
    """The real library takes seconds; the tests in the browser have it."""
    monkeypatch.setattr(Library, "start", lambda _: None)
    monkeypatch.setattr(Library, "code", lambda _: b"the library")


def client(release, name="people"):
    app = application(release, name, serves("127.0.0.1", 8765))
    return TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def people(folder):
    return client(residuum.load(folder))


@pytest.mark.parametrize("address", [*ADDRESSES, "/static/vega.js", *(f"/static/{name}" for name in STATIC)])
def test_every_address_answers_with_the_same_headers(people, address):
    answer = people.get(address)
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "server" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


def test_the_policy_allows_no_code_but_that_of_the_package():
    assert "default-src 'none'" in POLICY
    assert "frame-ancestors 'none'" in POLICY
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


@pytest.mark.parametrize("address", [*ADDRESSES, "/static/style.css", "/nowhere"])
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1:1", "127.0.0.1", "localhost:8765.evil"]
)
def test_a_host_that_is_not_served_is_refused(people, address, host):
    answer = people.get(address, headers={"host": host})
    assert answer.status_code == 421
    assert answer.text == "This server does not answer under that host name.\n"
    assert answer.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_somebody_elses_makes_no_work(people, monkeypatch, site):
    monkeypatch.setattr(Release, "marginal", None)  # nobody asks for one
    said = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
    moved = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    for address in ADDRESSES:
        assert people.get(address, headers=said).status_code == 403
        answer = people.get(address, headers=moved)
        assert answer.status_code == (200 if address in PAGES else 403)
        assert answer.headers["content-security-policy"] == POLICY
    assert people.get("/?by=age", headers=moved).status_code == 200
    assert people.get("/api/status", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_one_marginal_is_computed_at_a_time():
    release, at_once, most = releases.made(), [], []

    def slow(attributes, estimate="best"):
        at_once.append(attributes)
        most.append(len(at_once))
        sleep(0.05)
        at_once.remove(attributes)
        return Release.marginal(release, attributes, estimate)

    object.__setattr__(release, "marginal", slow)
    asked = [f"/api/view?by={name}&estimate=mle" for name in ("age", "sex", "pet", "code")]
    some = client(release)
    with ThreadPoolExecutor(4) as pool:
        assert [answer.status_code for answer in pool.map(some.get, asked)] == [200] * 4
    assert most == [1] * 4


def test_which_hosts_are_served():
    assert all(map(serves("127.0.0.1", 80), ["localhost", "127.0.0.1:80", "LOCALHOST:80", "[::1]"]))
    everywhere = serves("0.0.0.0", 8000)
    assert everywhere("192.0.2.7:8000")
    assert everywhere("[2001:db8::1]:8000")
    assert not everywhere("192.0.2.7:8001")
    assert not everywhere("evil.example:8000")
    assert serves("0.0.0.0", 80)("192.0.2.7")
    assert serves("Office.Example", 8000)("office.example:8000")
    assert not any(map(serves("::", 8000), ["[::1]", "::1:8000", "[[::1]]:8000", ":8000", "", "8000"]))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_can_be_sent(people, method):
    assert people.request(method, "/").status_code == 405


@pytest.mark.parametrize("estimate", ["best", "mle", "nonnegative", "latent"])
@pytest.mark.parametrize("by", [("age",), ("sex", "age"), (IMAGE, "sex", "age"), ("code", "age")])
def test_the_csv_is_what_query_writes(people, folder, by, estimate):
    asked = ["query", str(folder), *by, "--format", "csv", "--estimate", estimate]
    written = CliRunner().invoke(commands, asked).stdout_bytes
    answer = people.get("/marginal.csv", params={"by": by, "estimate": estimate, "keep0": "1", "page": "7"})
    assert answer.content == written
    assert answer.headers["content-type"].startswith("text/csv")
    assert re.fullmatch(r'attachment; filename="[A-Za-z0-9_-]+\.csv"', answer.headers["content-disposition"])


def test_a_view_is_the_marginal(people, folder):
    view = people.get("/api/view", params={"by": ["sex", "age"]}).json()
    marginal = residuum.load(folder).marginal(["sex", "age"])
    table = view["table"]
    assert (view["estimate"], view["cells"], table["pages"]) == ("best", 14, 1)
    assert [attribute["labels"] for attribute in view["attributes"]] == [["female", "male"], list(AGES)]
    assert table["values"] == marginal.values.reshape(-1).tolist()
    assert table["lower"] == marginal.lower.reshape(-1).tolist()
    assert table["upper"] == marginal.upper.reshape(-1).tolist()
    assert [*zip(*table["labels"], strict=True)] == [*product(["female", "male"], AGES)]
    assert len(view["spec"]["data"]["values"]) == 14


def test_values_can_be_chosen(people):
    whole = people.get("/api/view", params={"by": ["sex", "age"]}).json()
    view = people.get("/api/view", params={"by": ["sex", "age"], "keep0": "1", "keep1": "6.2.2"}).json()
    assert view["table"]["labels"] == [["male", "male"], [AGES[2], AGES[6]]]
    assert view["table"]["values"] == [whole["table"]["values"][7 + k] for k in (2, 6)]
    assert (view["cells"], view["all"], view["fixed"]) == (2, 14, ["sex: male"])
    assert {"a0": AGES[2]}.items() <= view["spec"]["data"]["values"][0].items()
    assert view["attributes"][0]["labels"] == ["female", "male"]
    one = people.get("/api/view", params={"by": ["sex"], "keep0": "1"}).json()
    assert one["table"]["values"] == pytest.approx([people.get("/api/view?by=sex").json()["table"]["values"][1]])


def test_attributes_without_labels_keep_their_codes(people):
    view = people.get("/api/view", params={"by": ["code"], "keep0": "7.38"}).json()
    assert view["table"]["labels"] == [["7", "38"]]


def test_pages_hold_every_row_once_in_the_order_asked_for(people):
    for sort, order in [("cells", "up"), ("people", "down"), ("people", "up"), ("error", "down"), ("1", "down")]:
        asked = {"by": ["code", "age", "sex"], "sort": sort, "order": order}
        pages = [people.get("/api/view", params={**asked, "page": page}).json()["table"] for page in (1, 2, 3)]
        assert [len(page["values"]) for page in pages] == [ROWS, ROWS, 560 - 2 * ROWS]
        assert [page["first"] for page in pages] == [0, ROWS, 2 * ROWS]
        last = people.get("/api/view", params={**asked, "page": 99, "part": "table"}).json()
        assert last["table"] == pages[2]
        assert "spec" not in last
        places = [[*map(str, range(40))], AGES, ["female", "male"]]
        labels = [row for page in pages for row in zip(*page["labels"], strict=True)]
        cells = [tuple(names.index(text) for names, text in zip(places, row, strict=True)) for row in labels]
        values, halves = ([cell for page in pages for cell in page[name] or []] for name in ("values", "halves"))
        assert sorted(cells) == [*np.ndindex(40, 7, 2)]
        keys = {"cells": cells, "1": [cell[1] for cell in cells], "people": values}
        found = keys.get(sort, halves)
        assert found == sorted(found, reverse=order == "down")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("", "one to 3 attributes, got 0"),
        ("by=age&by=sex&by=pet&by=code", "one to 3 attributes, got 4"),
        ("by=nonsense", "Unknown attribute 'nonsense'. The domain has 'age'"),
        ("by=age&by=age", "named twice"),
        ("by=sex&by=pet", "holds no marginal over 'sex', 'pet'"),
        ("by=age&estimate=worst", "Expected an estimate among 'best'"),
        ("by=age&chart=pie", "Expected a chart among 'map', 'bars', got 'pie'"),
        ("by=age&sort=1", "Expected an order among"),
        ("by=age&order=left", "Expected a direction among"),
        ("by=age&page=0", "number of a page, got '0'"),
        ("by=age&page=%C2%B2", "number of a page"),
        ("by=age&page=1&page=2", "Expected 'page' once"),
        ("by=age&keep0=7", "codes 0 to 6 of attribute 'age', got '7'"),
        ("by=age&keep0=-1", "got '-1'"),
        ("by=age&keep0=1..2", "got '1..2'"),
    ],
)
def test_what_makes_no_sense_is_said(people, asked, says):
    for address in ("/api/view", "/marginal.csv"):
        answer = people.get(f"{address}?{asked}")
        assert answer.status_code == 400
        assert answer.headers["content-security-policy"] == POLICY
    assert says in people.get(f"/api/view?{asked}").json()["error"]


@pytest.mark.parametrize(
    "address",
    ["/nowhere", "/static/nothing.js", "/static/../app.py", "/static/%2e%2e%2fapp.py", "/manifest.json", "/api"],
)
def test_there_is_nothing_at_other_addresses(people, address):
    answer = people.get(address)
    assert answer.status_code == 404
    assert "There is nothing at this address." in answer.text
    assert answer.headers["content-security-policy"] == POLICY
    assert people.get("/api/nothing").json() == {"error": "There is nothing at this address."}


def tags(text):
    """The tags of a page, with their attributes."""
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)))  # type: ignore[method-assign]
    parser.feed(text)
    return found


def test_labels_never_stand_in_a_page(folder):
    nasty = client(residuum.load(folder), name=f"{SCRIPT} & $more")
    for address in ("/", "/budget", f"/{SCRIPT}", "/marginal.csv?by=" + SCRIPT):
        text = nasty.get(address).text
        assert "<script>document" not in text
        assert "&lt;script&gt;document.title=&#x27;run&#x27;&lt;/script&gt; &amp; $more" in text
        for tag, attributes in tags(text):
            assert tag != "img"
            assert tag != "script" or attributes.get("src", "").startswith("/static/")
            assert not any(name.startswith("on") or name == "style" for name in attributes)
    view = nasty.get("/api/view", params={"by": [IMAGE]})
    assert view.headers["content-type"] == "application/json"
    assert view.json()["table"]["labels"] == [[SCRIPT, "b & c", "(missing)", "(empty)"]]


def test_scripts_of_the_page_build_no_html():
    for name in STATIC:
        text = files("residuum.present.explorer").joinpath("static", name).read_text()
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?://(?!www\.w3)", text
        )


def test_a_marginal_of_a_million_cells_is_cut():
    domain = Domain({"a": 1000, "b": 1000, "c": 1000})
    counts = [NoisyMarginal((k,), np.arange(1000.0), 4.0) for k in range(3)]
    wide = client(Release(Estimates(Workload.all_kway(domain, 3), counts), 0.5, (), {"caveats": ()}, frozenset()))
    answer = wide.get("/api/view", params={"by": ["a", "b"], "estimate": "mle", "sort": "people", "order": "down"})
    view = answer.json()
    assert len(answer.content) < 500_000
    assert (view["cells"], view["table"]["pages"], len(view["table"]["values"])) == (10**6, 10**6 // ROWS, ROWS)
    assert [texts[0] for texts in view["table"]["labels"]] == ["999", "999"]
    assert len(view["spec"]["data"]["values"]) <= 2000
    assert any("Cut to the most frequent" in note for note in view["notes"])
    assert MOST_CELLS < 10**9
    domain = Domain({"a": 1_000_000, "b": 2})
    long = client(Release(Estimates(Workload.all_kway(domain, 2)), 0.5, (), {"caveats": ()}, frozenset()))
    answer = long.get("/api/view", params={"by": ["a", "b"], "estimate": "mle", "page": "10000"})
    assert len(answer.content) < 500_000
    assert answer.json()["table"]["labels"][0][-1] == "999999"
    assert [attribute["labels"] for attribute in answer.json()["attributes"]] == [None, ["0", "1"]]
    large = wide.get("/api/view", params={"by": ["a", "b", "c"], "estimate": "mle"})
    assert "1,000,000,000 cells, more than can be shown" in large.json()["error"]


def test_until_the_classes_are_fitted_measurements_stand_in():
    release = releases.made()
    early = client(release)
    view = early.get("/api/view?by=age").json()
    assert (view["estimate"], view["asked"], view["status"]["fitted"]) == ("mle", "best", False)
    assert view["table"]["values"] == release.marginal("age", "mle").values.tolist()
    assert early.get("/api/view?by=age&estimate=nonnegative").json()["estimate"] == "nonnegative"
    answer = early.get("/marginal.csv?by=age")
    assert answer.status_code == 503
    assert "still being fitted" in answer.text


def test_the_classes_are_fitted_in_the_background():
    release = releases.made()
    shares = []
    fitting = Fitting(release)
    told = fitting._tell
    fitting._tell = lambda share: (shares.append(share), told(share))  # type: ignore[method-assign]
    fitting.start()
    fitting.wait()
    assert fitting.done
    assert release.fitted is not None
    assert max(shares) == fitting.share == 1.0
    with client(release) as ready:
        assert ready.get("/api/status").json() == {"fitted": True, "share": 0.0, "problem": None}
        assert ready.get("/api/view?by=age").json()["estimate"] == "best"


def test_a_fit_that_fails_is_said(monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(Release, "fit", fail)
    with client(releases.made()) as failed:
        while not (status := failed.get("/api/status").json())["problem"]:
            pass
    assert status == {"fitted": False, "share": 0.0, "problem": "There is too little memory for the latent classes."}


def test_a_fault_is_said_without_its_details(folder, monkeypatch, capsys):
    def fail(*_):
        raise RuntimeError("a detail")

    monkeypatch.setattr(budget, "facts", fail)
    answer = client(residuum.load(folder)).get("/budget")
    assert answer.status_code == 500
    assert "a detail" not in answer.text
    assert answer.headers["content-security-policy"] == POLICY
    assert "RuntimeError: a detail" in capsys.readouterr().err


def test_files_are_fetched_once(people):
    for address in ("/static/vega.js", "/static/style.css"):
        answer = people.get(address)
        again = people.get(address, headers={"if-none-match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_without_the_library_there_is_still_a_page(people, monkeypatch):
    monkeypatch.setattr(Library, "code", lambda _: b"")
    assert people.get("/static/vega.js").status_code == 503


def test_the_budget_is_told_in_words_and_numbers(people, folder):
    text = people.get("/budget").text
    parts = (
        "at most e^ε = 2.72 times as likely",
        "ε = 1, δ = 1e-09 (ρ = 0.01497)",
        "up to 2 rows",
        "by hand, residuum 0",
    )
    for part in (*parts, *map(escape, Promise.of(residuum.load(folder)).leaves_open)):
        assert part in text
    assert "NOT PRIVATE" not in text
    _, bars = budget.steps(residuum.load(folder).spends)
    assert [(bar.first, sorted(bar.rho)) for bar in bars] == [(0, ["total"])] + [
        (k, ["pairs", "select"]) for k in (1, 2, 3)
    ]
    assert text.count("<rect") == 7
    assert "choosing what to measure: 23.1%" in text


def test_many_rounds_share_a_bar():
    spends = releases.made().spends[1:3] * 1000
    _, bars = budget.steps(spends)
    assert len(bars) <= 60
    assert bars[0].first == 1
    assert bars[-1].last == 1000
    assert sum(sum(bar.rho.values()) for bar in bars) == pytest.approx(sum(spend.rho for spend in spends))


def test_a_seeded_release_is_not_private():
    seeded = client(releases.made(seeded=True))
    assert all("NOT PRIVATE" in seeded.get(address).text for address in ("/", "/budget", "/nowhere"))
    assert "None. The noise was drawn with a seed" in seeded.get("/budget").text
    assert "what a run without a seed would have guaranteed" in seeded.get("/budget").text


def test_what_is_not_seen_in_a_provenance_is_written_out():
    hidden = "\u202eevil\x1b[31m"
    text = client(releases.made(mechanism=hidden, software=hidden, caveats=(hidden,))).get("/budget").text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert text.count(r"\u202eevil\x1b[31m") == 3


def test_what_a_folder_claims_beyond_its_budget_is_not_repeated():
    for said in ({"epsilon": 0.1}, {"epsilon": 10**400}, {"delta": 0.0}, {"delta": 1e-12}, {"rho": 0.1}):
        text = client(releases.made(**said)).get("/budget").text
        assert "ρ = 0.01497 (zero-concentrated), for each person." in text
        assert "e^ε = 2.72 times" in text


def run(*arguments):
    result = CliRunner().invoke(commands, ["explore", *map(str, arguments)])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_the_command_says_what_is_wrong(folder, tmp_path, monkeypatch):
    assert "no such folder" in run(tmp_path / "nowhere", "--port", "0")
    assert "Say --allow-remote if they may." in run(folder, "--host", "0.0.0.0", "--port", "0")
    assert "no address 'nowhere.invalid'" in run(folder, "--host", "nowhere.invalid", "--allow-remote")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"at 127.0.0.1:{port}: address already in use. Name another" in run(folder, "--port", port)
    monkeypatch.setattr("residuum.cli.explore.find_spec", lambda name: None if name == "uvicorn" else name)
    assert "This needs uvicorn, which is not installed. Run: pip install 'residuum[explore]'" in run(folder)


def test_other_machines_come_in_only_where_that_was_said():
    with pytest.raises(ReleaseError, match="other machines"):
        serve.listening("192.0.2.1", 0)
    with serve.listening("0.0.0.0", 0, remote=True) as place:
        assert place.getsockname()[0] == "0.0.0.0"
        assert serve.address("::", place) == f"http://[::1]:{place.getsockname()[1]}/"


SLOW = """
import socket, threading, time, urllib.request
from residuum.present.explorer.app import application
from residuum.present.explorer.serve import listening, serve
from tests.present import releases
release = releases.made()
object.__setattr__(release, "marginal", lambda *_: print("asked", flush=True) or time.sleep(60))
place = listening("127.0.0.1", 0)
url = f"http://127.0.0.1:{place.getsockname()[1]}/api/view?by=age&estimate=mle"
ask = threading.Thread(target=urllib.request.urlopen, args=(url,), daemon=True)
serve(application(release, "slow", lambda _: True), place, ask.start)
"""


def test_ctrl_c_ends_it_while_something_large_is_computed():
    process = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert said.endswith("Stopped.\n")


def test_what_is_sent_is_json_without_nan(people):
    def refuse(text):
        raise AssertionError(text)

    for by in (["age"], ["age", "sex", IMAGE], ["code", "age"]):
        for estimate in ("mle", "nonnegative"):
            json.loads(people.get("/api/view", params={"by": by, "estimate": estimate}).text, parse_constant=refuse)
