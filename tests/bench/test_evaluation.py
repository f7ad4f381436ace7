"""The evaluation's plan, its log and its page: that nothing is measured twice, lost, or said without a measurement."""

import json
import re
from math import prod
from pathlib import Path

import pytest
from bench import data
from bench.data import SHAPES
from bench.evaluation import __main__ as command
from bench.evaluation import log, of_ours, of_the_paper, page, pictures
from bench.evaluation.log import Log
from bench.evaluation.plan import GROWN, plan
from bench.evaluation.results import Results
from bench.methods import DEFAULT, METHODS, PAPER, PLANNER, RIVAL, graphical, method_of, task

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("full", [False, True])
def test_tasks_are_plain_and_each_is_there_once(full):
    every = [json.dumps(task, sort_keys=True) for tasks in plan(full).values() for task in tasks]
    assert len(every) == len(set(every))


def test_only_of_a_stand_in_a_part_is_taken(monkeypatch):
    monkeypatch.setattr(data, "at_hand", str)
    assert not any("attributes" in task for task in plan(True)["ablation"])
    monkeypatch.setattr(data, "at_hand", lambda name: f"{name}-shaped")
    assert {task["table"] for task in plan(True)["ablation"] if "attributes" in task} == {"loans-shaped"}


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
    add(Log(path), TASKS[0], {"failed": "ended with -9"})
    assert TASKS[0] not in Log(path)
    command.measure(TASKS[:1], Log(path))
    assert TASKS[0] in Log(path)
    monkeypatch.setattr(log, "code", lambda: "another")
    assert TASKS[0] not in Log(path)
    assert len(counted) == 1


def test_more_of_a_task_takes_the_place_of_less(tmp_path):
    log = Log(tmp_path / "results.jsonl")
    short, long = ({**task(RIVAL, table="adult", epsilon=1.0, seed=0)} for _ in range(2))
    short["options"], long["options"] = ({"megabytes": 50.0, "most_seconds": cap} for cap in (10.0, 100.0))
    add(log, short, result("model", 0.118, 10.0, spent=0.5))
    assert short in log
    assert long not in log
    add(log, long, result("model", 0.118, 70.0))
    for read in (log, Log(log.path)):
        assert long in read
        assert short not in read
        assert len(list(read)) == 1


def test_only_what_was_asked_for_can_fail(tmp_path, counted, monkeypatch):
    path = tmp_path / "results.jsonl"
    add(Log(path), TASKS[0], {"failed": "ended with -9"})
    assert command.measure(TASKS[1:], Log(path)) == 0
    monkeypatch.setattr(command, "measured", lambda **_: {"failed": "no memory"})
    growing = task(PAPER, **GROWN)
    assert command.measure([growing], Log(path)) == 1
    with pytest.raises(SystemExit, match="a could not be read"):  # nothing could be measured on it
        command.measure(TASKS[:1], Log(path))
    assert len(counted) == 1


def test_a_task_is_measured_again_if_its_own_file_changed(tmp_path, monkeypatch):
    file = tmp_path / "adult.csv"
    monkeypatch.setitem(log.data.FILES, "adult", str(file))
    on_file, made_up = ({"mechanism": "none", "table": table} for table in ("adult", "acs-shaped"))
    written = Log(tmp_path / "results.jsonl")
    for content in ("one", "another"):
        file.write_text(content)
        log._contents.cache_clear()
        assert on_file not in written
        for asked in (on_file, made_up):
            add(written, asked, {"rows": 1, "sizes": [2]})
        assert on_file in written
    assert made_up in written
    file.unlink()
    log._contents.cache_clear()
    assert on_file not in written
    assert made_up in written


def test_the_fingerprint_names_code_that_is_there():
    assert all(log.ROOT.joinpath(place).exists() for place in log._MEASURED)


def test_an_unknown_experiment_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["quick", "--folder", str(tmp_path), "--only", "speed"])
    assert ended.value.code == 2
    assert "there is no experiment 'speed'; there are: data, algebra" in capsys.readouterr().err


def add(written, asked, measured):
    """Write down what a task is to have measured."""
    return written.measure(asked, lambda _: measured)


def result(estimate, error, seconds, **more):
    """What a run measured; the first of a process takes a tenth longer."""
    errors = {name: {"L1": error, "L2": error, "worst": error} for name in (estimate, "independent")}
    times = {"seconds": seconds, "first run": 1.1 * seconds, "answer seconds": {estimate: 0.0}}
    return {**times, "errors": errors, "compared": 455, "peak GB": 1.0, "rounds": 3, "megabytes": 0.5, **more}


def made(path, table="adult", **changes):
    """A log with one run of each method at ε = 1; `changes` are of error and seconds, and more, by method."""
    usual = {PAPER: (1.4, 0.2), PLANNER: (5.1, 0.2), DEFAULT: (0.1, 5.0), RIVAL: (0.118, 200.0)} | changes
    log = Log(path / "results.jsonl")
    add(log, {"mechanism": "none", "table": table}, SHAPES[table.removesuffix("-shaped")])
    for method, (error, seconds, *more) in usual.items():
        asked = task(method, table=table, epsilon=1.0, seed=0)
        add(log, asked, result(*asked["estimates"], error, seconds, **dict(*more)))
    return log


def judged(log, words, module=of_the_paper):
    """The one claim with these words."""
    (claim,) = [claim for claim in module.claims(Results(log)) if words in claim.what]
    return claim


def test_a_speedup_is_reproduced_only_if_it_was_measured_against_a_fair_rival(tmp_path):
    def speedup(name, **changes):
        log = made(tmp_path / name, **changes)
        return judged(log, "orders of magnitude"), "by the quoted time" in page.text(log)

    usual, quoted = speedup("usual")
    assert (usual.verdict, quoted) == ("reproduced", False)
    assert speedup("slow", **{PAPER: (1.4, 0.3)})[0].verdict == "not reproduced"
    assert speedup("slow at first", **{PAPER: (1.4, 0.27)})[0].verdict == "not reproduced"  # 741, but 673 at first
    slow_rival, quoted = speedup("slow rival", **{RIVAL: (0.118, 4000.0), PAPER: (1.4, 0.5)})
    assert (slow_rival.verdict, quoted) == ("not reproduced", True)
    assert "up to 624× (ε = 1, 50 MB, errors 1.4 and 0.121)" in slow_rival.measured  # 312 s and not 4,000
    assert speedup("wrong rival", **{RIVAL: (0.134, 200.0)})[1]
    assert not speedup("near rival", **{RIVAL: (0.133, 200.0)})[1]


def test_a_speedup_says_what_is_left_without_the_compiler(tmp_path):
    log = made(tmp_path, **{RIVAL: (0.118, 200.0, {"compiling": 90.0})})
    assert judged(log, "orders of magnitude").measured == (
        "where a rival is quoted, up to 1,000× (ε = 1, 50 MB, errors 1.4 and 0.118), 909× if only the first run of a "
        "process counts, 500× if moreover the rival had nothing to compile; AIM+PGM took 200 s, first runs 0.22 s"
    )
    assert "| 200 | 90 | 312-851 | 0.2 | 1,000× | 909× | 500× | 1,418× |" in page.text(log)
    add(log, task(graphical(100), table="adult", epsilon=1.0, seed=0), result("model", 0.12, 400.0, compiling=70.0))
    assert judged(log, "orders of magnitude").measured.endswith(
        "; without compiling, in all settings, up to 1,500× (ε = 1, 100 MB, errors 1.4 and 0.12); "
        "AIM+PGM took 400 s, first runs 0.22 s"
    )
    add(log, task(graphical(100), table="adult", epsilon=1.0, seed=1), result("model", 0.12, 500.0, compiling=70.0))
    assert judged(log, "orders of magnitude").measured.endswith("AIM+PGM took 400 to 500 s, first runs 0.22 s")


def test_quoted_times_are_those_of_the_real_table(tmp_path):
    log = made(tmp_path, table="adult-shaped", **{RIVAL: (0.134, 4000.0)})
    assert judged(log, "orders of magnitude").measured == "not measured"
    assert "by the quoted time" not in page.text(log)


def test_a_run_cut_short_is_shown_and_counts_for_nothing(tmp_path):
    log = made(tmp_path, **{RIVAL: (0.118, 200.0, {"spent": 0.9})})
    assert judged(log, "orders of magnitude").verdict == "not testable here"
    assert (
        judged(log, "as accurate and as fast as private-pgm: adult, ε = 1, 50 MB", of_ours).verdict
        == "not testable here"
    )
    shown = page.text(log)
    assert f"{RIVAL}, cut short at 90% of the budget" in shown
    add(log, task(RIVAL, table="adult", epsilon=1.0, seed=1), result("model", 0.118, 200.0))
    assert judged(log, "orders of magnitude").verdict == "reproduced"


def test_a_page_is_written_of_a_table_with_nothing_but_runs_cut_short(tmp_path):
    log = Log(tmp_path / "results.jsonl")
    add(log, {"mechanism": "none", "table": "acs-shaped"}, {"rows": 10, "sizes": [2, 3]})
    cut = result("model", 0.1, 500.0, spent=0.05725, rounds=1, parts={"filter": 470.0, "choose": 20.0})
    add(log, task(RIVAL, table="acs-shaped", epsilon=10.0, seed=0), cut)
    assert "**acs-shaped**, 455 marginals compared" in page.text(log)
    assert judged(log, "AIM+PGM over a week").measured == (
        "AIM+PGM on acs-shaped was stopped when 1 of its rounds had used 0.10% of its budget, after 500 s, 20 to "
        "choose, 470 to filter"
    )


def test_what_need_only_exist_is_not_refuted(tmp_path):
    assert judged(made(tmp_path / "worse"), "has in some cases").verdict == "undecided"
    assert judged(made(tmp_path / "better", **{PAPER: (0.1, 0.2)}), "has in some cases").verdict == "reproduced"


def test_model_sizes_are_compared_at_the_same_budget(tmp_path):
    log = made(tmp_path)
    add(log, task(graphical(1), table="adult", epsilon=10.0, seed=0), result("model", 0.08, 100.0))
    assert judged(log, "robust to its model size").verdict == "not testable here"
    add(log, task(graphical(1), table="adult", epsilon=1.0, seed=0), result("model", 0.13, 100.0))
    claim = judged(log, "robust to its model size")
    assert (claim.verdict, claim.measured) == (
        "undecided",
        "ε = 1: 0.1300 with 1 MB (0.5 used), 0.1180 with 50 MB (0.5 used); no model came near a limit above 1 MB",
    )
    add(log, task(RIVAL, table="adult", epsilon=1.0, seed=0), result("model", 0.118, 200.0, megabytes=30.0))
    assert judged(log, "robust to its model size").verdict == "reproduced"
    add(log, task(graphical(1), table="adult", epsilon=1.0, seed=0), result("model", 0.20, 100.0))
    assert judged(log, "robust to its model size").verdict == "not reproduced"


def test_errors_decide_against_the_planner(tmp_path):
    def planner(name, small, large):
        log = made(tmp_path / name, **{PAPER: (small, 0.2)})
        if large:
            add(log, task(PAPER, table="adult", epsilon=10.0, seed=0), result("mle", large, 0.2))
            add(log, task(PLANNER, table="adult", epsilon=10.0, seed=0), result("mle", 1.0, 0.2))
        return judged(log, "at worst slightly above: adult").verdict

    assert planner("below", 5.0, 1.3) == "reproduced"
    assert planner("above", 5.2, 1.3) == "not reproduced"
    assert planner("far above", 5.0, 1.4) == "not reproduced"
    assert planner("a single budget", 5.2, None) == "undecided"


def test_only_errors_on_the_same_marginals_are_compared(tmp_path):
    log = made(tmp_path, **{PLANNER: (5.1, 0.2, {"compared": 200})})
    assert judged(log, "at worst slightly above: adult").verdict == "not testable here"


def test_our_default_is_ahead_only_by_more_than_noise(tmp_path):
    log = made(tmp_path)

    def ahead():
        found = [claim for claim in of_ours.claims(Results(log)) if "more accurate than AIM+PGM" in claim.what]
        (at_1,) = [claim.verdict for claim in found if claim.what.endswith("ε = 1")]
        return at_1

    def runs(seed, error):
        add(log, task(DEFAULT, table="adult", epsilon=1.0, seed=seed), result("best", error, 5.0))

    runs(1, 0.104)
    assert ahead() == "reproduced"
    runs(1, 0.130)
    assert ahead() == "undecided"
    runs(0, 0.131)
    assert ahead() == "not reproduced"


SEQUENCES = {"lazy+crp": (1.0, 9.5), "lazy+iid": (1.9, 10.4), "full+iid": (9.0, 10.4)}
"""Seconds and errors."""


def test_the_fixed_sequence_is_held_against_the_papers_numbers(tmp_path):
    log = made(tmp_path)
    for strategy, (seconds, error) in SEQUENCES.items():
        reconstruction, allocation = strategy.split("+")
        asked = {"mechanism": "fixed", "table": "adult", "reconstruction": reconstruction, "allocation": allocation}
        done = {"timed": 10, "steps": 10, "of": 10, "residuals": [0, 2, 9, 10]}
        add(log, asked, {"seconds": seconds, **done, "errors": {"mle": {"L1": error}}})
    assert judged(log, "with CRP: adult").verdict == "reproduced"
    assert judged(log, "with IID: adult").verdict == "not reproduced"  # 10.4 is 2.3% above 10.166
    assert judged(log, "CRP is faster than isotropic noise: adult").verdict == "reproduced"
    assert judged(log, "Both together: adult").verdict == "not reproduced"  # 9 is below half of 18.5
    timed(log, "lazy+iid", 0.98, table="adult")
    assert judged(log, "CRP is faster than isotropic noise: adult").verdict == "not reproduced"
    assert judged(log, "CRP omits many measurements of low order: adult").verdict == "reproduced"


def timed(log, strategy, seconds, table="acs-shaped", asked=(), **more):
    """Write down some steps of a fixed sequence of 100; more may be `asked` of it than the strategy."""
    reconstruction, allocation = strategy.split("+")
    how = {"mechanism": "fixed", "table": table, "reconstruction": reconstruction, "allocation": allocation}
    done = {"timed": 100, "steps": 100, "of": 100, "residuals": [0, 0, 0, 100]}
    add(log, how | dict(asked), {"seconds": seconds, **done, **more})


def test_a_speedup_on_a_stand_in_says_what_it_was_reckoned_from(tmp_path):
    log = made(tmp_path, table="acs-shaped")
    timed(log, "lazy+iid", 5.0, steps=10, timed=10)
    timed(log, "full+iid", 600.0, timed=4)
    claim = judged(log, "Lazy updating is faster than full reconstruction: acs-shaped")
    assert claim.verdict == "not testable here"
    assert claim.measured == (
        "12.0×; reckoned: full+iid from 4 of 100, lazy+iid from the first 10 of 100; on what was measured it holds"
    )
    timed(log, "full+iid", 500.0, timed=4)
    assert judged(log, "than full reconstruction: acs-shaped").measured.endswith("it does not hold")


def test_a_part_of_a_real_table_decides_nothing(tmp_path):
    log = made(tmp_path, table="loans")
    for strategy, seconds in (("lazy+crp", 1.0), ("lazy+iid", 15.0), ("full+iid", 100.0)):
        timed(log, strategy, seconds, table="loans", asked={"attributes": 22}, errors={"mle": {"L1": 600.0}})
    for words in ("Both together: loans", "CRP lowers the error: loans", "with CRP: loans", "low order: loans"):
        claim = judged(log, words)
        assert claim.verdict == "not testable here"
        assert "on 22 of its attributes" in claim.measured
    assert "loans, 22 attributes" in page.text(log)


def test_the_first_steps_of_a_real_table_refute_nothing(tmp_path):
    log = made(tmp_path, table="acs")
    timed(log, "lazy+iid", 10.0, table="acs")
    timed(log, "full+iid", 50.0, table="acs")
    assert judged(log, "than full reconstruction: acs").verdict == "not reproduced"
    timed(log, "full+iid", 5.0, table="acs", steps=10, timed=10)
    assert judged(log, "than full reconstruction: acs").verdict == "undecided"


def test_the_error_of_isotropic_noise_does_not_depend_on_how_it_is_updated(tmp_path):
    log = made(tmp_path)
    timed(log, "lazy+iid", 5.0, table="adult", steps=10, timed=10)
    timed(log, "full+iid", 5.0, table="adult", timed=4, errors={"mle": {"L1": 10.2}})
    assert judged(log, "with IID: adult").verdict == "reproduced"


def test_nothing_on_a_stand_in_is_called_reproduced(tmp_path):
    found = of_the_paper.claims(Results(made(tmp_path, table="adult-shaped")))
    on_it = [claim for claim in found if "adult-shaped" in claim.what]
    assert len(on_it) > 5
    assert {claim.verdict for claim in on_it} == {"not testable here"}


def test_a_file_of_which_other_attributes_are_left_decides_nothing(tmp_path):
    log = made(tmp_path)
    add(log, {"mechanism": "none", "table": "adult"}, {"rows": 48_842, "sizes": [16] * 14})
    found = [claim for claim in of_the_paper.claims(Results(log)) if "adult" in claim.what]
    assert {claim.verdict for claim in found} == {"not testable here"}
    assert judged(log, "Data set Adult").verdict == "not reproduced"
    assert (
        judged(log, "below ResidualPlanner's at small ε, and at worst slightly above: adult").measured != "not measured"
    )


def test_results_of_another_file_are_left_out(tmp_path, monkeypatch):
    first = made(tmp_path)
    monkeypatch.setattr(log, "source", lambda _: "another file")
    add(first, {"mechanism": "none", "table": "adult"}, SHAPES["adult"])
    results = Results(Log(first.path))
    assert results.runs == []
    assert results.older == 4


def test_single_runs_leave_a_comparison_open(tmp_path):
    log = made(tmp_path)
    assert judged(log, "than both AIM+GReM and ResidualPlanner: adult", of_ours).verdict == "undecided"
    for method in (PAPER, DEFAULT):
        asked = task(method, table="adult", epsilon=1.0, seed=1)
        add(log, asked, result(*asked["estimates"], {PAPER: 1.5, DEFAULT: 0.11}[method], 1.0))
    assert judged(log, "than both AIM+GReM and ResidualPlanner: adult", of_ours).verdict == "reproduced"


SMALL, MIDDLE, LARGE = [16] * 4, [16] * 5, [16] * 6


def in_axis(path, times):
    """A log of Decomp and Recon: for each shape the seconds compiled, in plain NumPy, and of the rival."""
    log = Log(path / "results.jsonl")
    for shape, (compiled, plain, rival) in times:
        made = {"shape": shape, "bytes": 8 * prod(shape), "copy": 1.0}
        for operation in ("decompose", "reconstruct"):
            made |= {operation: compiled, f"{operation} plain": plain, f"{operation} rival": rival}
        add(log, {"mechanism": "in-axis", "shape": shape}, made)
    return log


@pytest.mark.parametrize(
    ("small", "large", "verdict"),
    [(1.1, 9.0, "reproduced"), (0.98, 9.0, "not reproduced"), (1.1, 1.4, "not reproduced")],
)
def test_decomp_must_be_faster_everywhere_and_on_average(tmp_path, small, large, verdict):
    log = in_axis(tmp_path, [(SMALL, (1.0, small, small)), (LARGE, (1.0, 0.1, large))])
    assert judged(log, "16 values: compiled").verdict == verdict
    assert judged(log, "16 values: in plain NumPy").verdict == "not reproduced"  # as fast as the rival once


@pytest.mark.parametrize(
    ("slower", "times", "verdict"),
    [(4e-5, 3.0, "reproduced"), (6e-5, 3.0, "not reproduced"), (4e-5, 1.5, "not reproduced")],
)
def test_recon_may_be_slower_by_little_and_must_be_substantially_faster(tmp_path, slower, times, verdict):
    log = in_axis(tmp_path, [(SMALL, (1e-3 + slower, 1.0, 1e-3)), (LARGE, (1.0, 4.0, times))])
    claim = judged(log, "large ones: compiled")
    assert (claim.verdict, "s slower, up to" in claim.measured) == (verdict, True)
    plain = judged(log, "large ones: in plain NumPy")
    assert (plain.verdict, "never faster" in plain.measured) == ("not reproduced", True)


@pytest.mark.parametrize(("power", "verdict"), [(1.05, "reproduced"), (1.2, "not reproduced")])
def test_time_is_proportional_to_work(tmp_path, power, verdict):
    def seconds(shape):
        return (len(shape) * prod(shape)) ** power

    log = in_axis(tmp_path, [(shape, (seconds(shape), 1.0, 1.0)) for shape in (SMALL, MIDDLE, LARGE)])
    assert judged(log, "time proportional").verdict == verdict


def test_the_real_file_counts_before_its_stand_in(tmp_path):
    made(tmp_path, table="adult-shaped")
    log = made(tmp_path)
    assert Results(log).table("adult") == "adult"


def test_a_claim_is_there_whether_or_not_it_was_measured(tmp_path):
    def claimed(log):
        return {claim.what for claim in of_the_paper.claims(Results(log))}

    assert claimed(Log(tmp_path / "nothing")) == claimed(made(tmp_path))


def test_results_of_older_code_are_left_out(tmp_path, monkeypatch):
    older = made(tmp_path)
    monkeypatch.setattr(log, "code", lambda: "another")
    newer = add(older, {"mechanism": "none", "table": "loans"}, {"rows": 1, "sizes": [2]})
    lines = older.path.read_text().splitlines()
    lines[-1] = lines[-1].replace(newer.finished, "2999-01-01T00:00:00+00:00")
    older.path.write_text("\n".join(lines))
    results = Results(Log(older.path))
    assert [entry.task["table"] for entry in results.entries] == ["loans"]
    assert results.older == 5
    assert "5 results of other code, or of another file, are left out" in page.text(Log(older.path))


def test_a_page_can_be_written_at_any_time(tmp_path):
    empty = Log(tmp_path / "none" / "results.jsonl")
    assert "Nothing was measured yet." in page.text(empty)
    path = page.write(made(tmp_path), tmp_path)
    text = path.read_text()
    for name in pictures.pictures(Results(Log(tmp_path / "results.jsonl"))):
        assert f"({page.FOLDER}/{name}.svg)" in text
        assert (tmp_path / page.FOLDER / f"{name}.svg").read_text().startswith("<svg")
    assert (tmp_path / page.FOLDER / "results.jsonl").read_text() == (tmp_path / "results.jsonl").read_text()


def test_the_page_says_how_many_claims_came_out(tmp_path):
    shown = page.text(made(tmp_path))
    for module, verdict in ((of_the_paper, "not testable here"), (of_the_paper, "reproduced"), (of_ours, "undecided")):
        claims = module.claims(Results(Log(tmp_path / "results.jsonl")))
        number = sum(claim.verdict == verdict for claim in claims)
        assert re.search(rf"\n{len(claims)} claims: .*\b{verdict} {number}\b", shown)


def test_the_page_of_the_documentation_is_made_from_its_results():
    kept = Log(DOCS / page.FOLDER / "results.jsonl")
    assert page.text(kept) == (DOCS / page.PAGE).read_text(encoding="utf-8")
    for name in pictures.pictures(Results(kept)):
        assert (DOCS / page.FOLDER / f"{name}.svg").is_file()
