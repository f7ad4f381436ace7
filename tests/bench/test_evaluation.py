"""The evaluation's plan, its log and its page: that nothing is measured twice, lost, or said without a measurement."""

import json
from pathlib import Path

import pytest
from bench.evaluation import __main__ as command
from bench.evaluation import claims, log, page, pictures
from bench.evaluation.log import Log
from bench.evaluation.plan import plan
from bench.evaluation.results import Results
from bench.methods import METHODS, PAPER, PLANNER, graphical, method_of, task

DOCS = Path(__file__).parents[2] / "docs"
RIVAL = graphical(50)


@pytest.mark.parametrize("full", [False, True])
def test_tasks_are_plain_and_each_is_there_once(full):
    every = [json.dumps(task, sort_keys=True) for tasks in plan(full).values() for task in tasks]
    assert len(every) == len(set(every))


def test_methods_have_names_that_lead_back_to_them():
    for method in (*METHODS, graphical(1), graphical(50)):
        assert method_of(task(method, table="adult", epsilon=1.0, seed=0)) == method


@pytest.fixture
def counted(monkeypatch):
    """Tasks that take no time, and a list of those that were run."""
    done = []

    def measured(*, most_seconds, **task):  # noqa: ARG001
        done.append(task)
        return {"rows": 1, "sizes": [2]}

    monkeypatch.setattr(command, "measured", measured)
    return done


TASKS = [{"mechanism": "none", "table": name} for name in ("a", "b")]


def test_a_log_goes_on_where_it_stopped(tmp_path, counted):
    path = tmp_path / "results.jsonl"
    command.measure(TASKS[:1], Log(path))
    with path.open("a") as file:
        file.write('{"task": {"mechanism": "none", "tab')  # killed while writing
    command.measure(TASKS, Log(path))
    assert counted == TASKS
    command.measure(TASKS, Log(path))
    assert counted == TASKS
    assert {entry.task["table"] for entry in Log(path)} == {"a", "b"}


def test_what_failed_or_was_measured_by_other_code_is_measured_again(tmp_path, counted, monkeypatch):
    path = tmp_path / "results.jsonl"
    Log(path).add(TASKS[0], {"failed": "ended with -9"})
    assert TASKS[0] not in Log(path)
    command.measure(TASKS[:1], Log(path))
    assert TASKS[0] in Log(path)
    monkeypatch.setattr(log, "code", lambda: "another")
    assert TASKS[0] not in Log(path)
    assert len(counted) == 1


def test_the_fingerprint_names_code_that_is_there():
    assert all(log.ROOT.joinpath(place).exists() for place in log._MEASURED)


def test_an_unknown_experiment_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["quick", "--folder", str(tmp_path), "--only", "speed"])
    assert ended.value.code == 2
    assert "there is no experiment 'speed'; there are: data, algebra" in capsys.readouterr().err


def entries(tmp_path, **changes):
    """A log of Adult with one run of each method; `changes` are of error and seconds by method."""
    usual = {PAPER: (1.4, 0.2), PLANNER: (5.1, 0.2), RIVAL: (0.118, 200.0)} | changes
    made = Log(tmp_path / "results.jsonl")
    made.add({"mechanism": "none", "table": "adult"}, {"rows": 48_842, "sizes": [2, 3]})
    for method, (error, seconds) in usual.items():
        asked = task(method, table="adult", epsilon=1.0, seed=0)
        (estimate,) = asked["estimates"]
        errors = {name: {"L1": error, "L2": error, "worst": error} for name in (estimate, "independent")}
        result = {"seconds": seconds, "answer seconds": {estimate: 0.0}, "errors": errors, "compared": 455}
        made.add(asked, result | {"peak GB": 1.0, "rounds": 3, "spent": 1.0, "megabytes": 0.5})
    return made


def verdict(made, words):
    found = [claim for claim in claims.of_the_paper(Results(made)) if words in claim.what]
    return {(claim.verdict, claim.measured) for claim in found}.pop()


def test_a_speedup_is_reproduced_only_if_it_was_measured_against_a_fair_rival(tmp_path):
    assert verdict(entries(tmp_path / "a"), "orders of magnitude")[0] == "reproduced"
    slow_own = entries(tmp_path / "b", **{PAPER: (1.4, 0.4)})
    assert verdict(slow_own, "orders of magnitude")[0] == "not reproduced"
    slow_rival = entries(tmp_path / "c", **{RIVAL: (0.118, 4000.0), PAPER: (1.4, 0.5)})
    seen, measured = verdict(slow_rival, "orders of magnitude")
    assert seen == "not reproduced"
    assert "624×" in measured  # 312 seconds as quoted, and not 4,000
    assert "by the quoted time" in measured
    wrong_rival = entries(tmp_path / "d", **{RIVAL: (0.2, 200.0), PAPER: (1.4, 0.5)})
    assert "by the quoted time" in verdict(wrong_rival, "orders of magnitude")[1]


def test_errors_decide_against_the_planner(tmp_path):
    assert verdict(entries(tmp_path / "a"), "below ResidualPlanner's")[0] == "reproduced"
    above = entries(tmp_path / "b", **{PAPER: (5.2, 0.2)})
    assert verdict(above, "below ResidualPlanner's")[0] == "not reproduced"


def test_nothing_on_a_stand_in_is_called_reproduced(tmp_path):
    made = Log(tmp_path / "results.jsonl")
    for entry in entries(tmp_path / "real"):
        made.add(entry.task | {"table": "adult-shaped"}, entry.result)
    found = claims.of_the_paper(Results(made))
    assert found
    assert {claim.verdict for claim in found} == {"not testable here"}


def test_a_page_can_be_written_at_any_time(tmp_path):
    empty = Log(tmp_path / "none" / "results.jsonl")
    assert "Nothing was measured yet." in page.text(empty)
    path = page.write(entries(tmp_path), tmp_path)
    text = path.read_text()
    for name in pictures.pictures(Results(Log(tmp_path / "results.jsonl"))):
        assert f"({page.FOLDER}/{name}.svg)" in text
        assert (tmp_path / page.FOLDER / f"{name}.svg").read_text().startswith("<svg")
    assert (tmp_path / page.FOLDER / "results.jsonl").read_text() == (tmp_path / "results.jsonl").read_text()


def test_the_page_of_the_documentation_is_made_from_its_results():
    made = Log(DOCS / page.FOLDER / "results.jsonl")
    assert page.text(made) == (DOCS / page.PAGE).read_text(encoding="utf-8")
    for name in pictures.pictures(Results(made)):
        assert (DOCS / page.FOLDER / f"{name}.svg").is_file()
