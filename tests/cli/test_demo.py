"""The demonstration, and how every command ends when it cannot go on."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from residuum import BudgetExceeded, Workload, aim
from residuum.cli import app, demo
from residuum.cli.page import number
from residuum.data.sample import people


def printed(write, encoding="utf-8", width=80):
    """What a terminal of this encoding, which takes no other character, receives."""
    received = io.BytesIO()
    file = io.TextIOWrapper(received, encoding=encoding, errors="strict", newline="\n")
    write(Console(file=file, width=width, force_terminal=False, color_system=None))
    file.flush()
    return received.getvalue().decode(encoding)


def one(console, marginal):
    page = demo.Page(console)
    page.marginal(marginal)
    page.turn()


@pytest.fixture(scope="module")
def release():
    table = people(2_000)
    return aim(table, Workload(table.domain, [("age", "marital"), ("sex",)]), rho=10.0, seed=0)


def test_it_shows_the_guarantee_its_caveats_and_tables():
    text = printed(lambda console: demo.show(console, rows=2_000))
    flat = " ".join(text.split())
    for part in (
        "2,000 made-up people with 12 attributes",
        "All 220 marginals over 3 of the 12 attributes",
        "epsilon = 1, delta = 1e-09 (rho = 0.01497)",
        "by a factor of at most e^1 = 2.72",
        "vocational",
        "age × marital",
        "income × housing",
        "true average L1 error is",
        "On a real table this number would have to stay secret",
    ):
        assert part in flat
    assert "not private: seeded" not in flat
    assert len(re.findall(r"\d ± \d", text)) == 5 + 7 * 4 + 7 * 3
    assert max(map(len, text.splitlines())) <= 80


def test_a_terminal_without_unicode_gets_plain_characters():
    text = printed(lambda console: demo.show(console, rows=2_000), encoding="ascii")
    assert "age x marital" in text
    assert len(re.findall(r"\d \+/- \d", text)) == 5 + 7 * 4 + 7 * 3
    assert max(map(len, text.splitlines())) <= 80


def test_a_narrow_terminal_without_unicode_cuts_nothing_off():
    text = printed(lambda console: demo.show(console, rows=200, epsilon=0.001), encoding="ascii", width=30)
    assert "Guarantee" in text


def test_intervals_are_those_of_the_noise(release):
    marginal = release.marginal(("sex",), "mle")
    text = printed(lambda console: one(console, marginal))
    half = 1.96 * marginal.noise_stderr
    assert text.count(f"± {half:.2f}" if half < 1 else f"± {half:.1f}") == 2


def test_axes_come_in_the_order_asked_for(release):
    marginal = release.marginal(("marital", "age"), "mle")
    text = printed(lambda console: one(console, marginal), width=200)
    single = next(line for line in text.splitlines() if "single" in line)
    shown = [float(number.replace(",", "")) for number in re.findall(r"(-?[\d,.]+) ±", single)]
    assert np.allclose(shown, marginal.values[0], atol=0.51)


@pytest.mark.parametrize(("width", "across"), [(80, True), (55, False)])
def test_two_attributes_make_a_cross_table_where_there_is_room(release, width, across):
    marginal = release.marginal(("age", "marital"), "mle")
    marginal = replace(marginal, values=marginal.values + 4_000, stderr=np.full(marginal.values.shape, 62.0))
    lines = printed(lambda console: one(console, marginal), width=width).splitlines()
    assert sum("±" in line for line in lines) == (7 if across else 28)
    assert max(map(len, lines)) <= width
    assert ("age × marital" in lines[1]) == across


def test_what_was_never_measured_is_said(release):
    marginal = release.marginal(("age", "marital"), "mle")
    assert not marginal.unmeasured
    assert "Never measured" not in printed(lambda console: one(console, marginal))
    lacking = replace(marginal, unmeasured=((), ("age", "marital")), stderr=None)
    text = printed(lambda console: one(console, lacking))
    assert "Never measured and taken as zero: total, age × marital." in text
    assert "they have no intervals" in text
    assert "±" not in text
    best = replace(release.marginal(("age", "marital")), unmeasured=((),))
    assert "Never measured and estimated from what was: total." in printed(lambda console: one(console, best))


def test_true_error_is_the_average_over_the_marginals(release):
    table = people(2_000)
    errors = []
    for gamma in release.workload.targets:
        true = np.zeros(table.domain.shape(gamma))
        np.add.at(true, tuple(table.columns[list(gamma)]), 1)
        errors.append(np.abs(release.marginal(gamma).values - true).sum() / 2_000)
    assert demo.true_error(release, table) == pytest.approx(np.mean(errors), abs=1e-12)


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [(-0.3, 20, "0"), (12345.6, 20, "12,346"), (-0.04, 3, "0.0"), (-7.26, 3, "-7.3"), (0.123, 0.5, "0.12")],
)
def test_numbers_have_the_digits_that_the_noise_leaves(value, half, text):
    assert number(value, half) == text


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf"])
def test_a_wrong_epsilon_is_one_line_and_exit_code_2(epsilon):
    result = CliRunner().invoke(app, ["demo", "--epsilon", epsilon])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: Expected `epsilon` to be a finite number above 0")
    assert result.stderr.count("\n") == 1


def test_too_little_budget_is_one_line_and_exit_code_2(monkeypatch):
    def fail(*_, **__):
        raise BudgetExceeded("Too little\nbudget.")

    monkeypatch.setattr(demo, "aim", fail)
    result = CliRunner().invoke(app, ["demo"])
    assert (result.exit_code, result.stderr) == (2, "Error: Too little budget.\n")


def test_ctrl_c_is_one_line_and_exit_code_130(monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "aim", stop)
    result = CliRunner().invoke(app, ["demo"])
    assert (result.exit_code, result.stderr) == (130, "Stopped. Nothing was released.\n")
    assert "released" not in result.stdout


def test_ctrl_c_once_the_release_is_ready_does_not_claim_that_nothing_was_released(monkeypatch):
    turns = iter([None, KeyboardInterrupt])

    def turn(_):
        if stop := next(turns):
            raise stop

    monkeypatch.setattr(demo.Page, "turn", turn)
    result = CliRunner().invoke(app, ["demo"])
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "Stopped. The release was complete and may have been shown.\n"


def test_an_error_of_ours_is_not_hidden(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(demo, "aim", fail)
    assert isinstance(CliRunner().invoke(app, ["demo"]).exception, ZeroDivisionError)
