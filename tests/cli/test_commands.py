"""The commands on what they are made for."""

import csv
import dataclasses
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import residuum
from residuum import BudgetFile, Schema
from residuum.cli.common import resumable
from tests.cli import people
from tests.cli.people import run

RESIDUUM = Path(sys.executable).parent / "residuum"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return people.write(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def release(place):
    folder = place.folder / "release"
    result = run("release", place.people, "--schema", place.schema, "--rho", "0.5", "-o", folder)
    assert result.exit_code == 0, result.stderr
    return folder


def test_every_command_has_help_with_examples():
    for command in ("demo", "schema", "release", "resume", "info", "query", "export", "ledger"):
        text = run(command, "--help").stdout
        assert f"  residuum {command}" in text, command
    for command in ("create", "show", "abandon"):
        assert "Example:" in run("ledger", command, "--help").stdout


def test_help_and_version_import_no_engine():
    code = "import sys; from residuum.cli import app; app(['--help'], standalone_mode=False); "
    code += "print([m for m in ('duckdb', 'pyarrow', 'pydantic', 'numba', 'rich') if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == "[]"
    assert run("--version").stdout.startswith("residuum ")


def test_completion_knows_the_commands():
    environment = os.environ | {
        "_RESIDUUM_COMPLETE": "complete_bash", "COMP_WORDS": "residuum re", "COMP_CWORD": "1",
    }  # fmt: skip
    done = subprocess.run([RESIDUUM], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["release", "resume", "report"]


def test_a_draft_becomes_a_release(place, tmp_path):
    draft = tmp_path / "draft.yaml"
    result = run("schema", place.people, "-o", draft)
    assert (result.exit_code, result.stderr) == (0, "")
    text = draft.read_text()
    assert "confirmed: false" in text
    assert text.count("# read off the data") > 5
    people.refused("release", place.people, "--schema", draft, "--rho", "1", "-o", tmp_path / "r", says="is a draft")
    draft.write_text(text.replace("confirmed: false", "confirmed: true"))
    assert run("release", place.people, "--schema", draft, "--rho", "1", "-o", tmp_path / "r").exit_code == 0
    assert residuum.load(tmp_path / "r").schema["confirmed"] is True


def test_the_json_schema_is_written():
    assert json.loads(run("schema", "--json-schema").stdout)["required"] == ["columns"]


def test_a_release_says_what_it_is(place, release):
    text = " ".join(run("info", release).stdout.split())
    for part in ("AIM+GReM", "3 over 2 columns; 45 counts", "rho = 0.5", "whether somebody is in the table is hidden"):
        assert part in text
    assert Schema.from_dict(residuum.load(release).schema) == Schema.load(place.schema)


def test_a_query_has_error_bars_and_the_order_asked_for(release):
    text = run("query", release, "sex", "pet").stdout
    assert "sex × pet" in text
    assert len(re.findall(r"\d ± \d", text)) == 9
    assert len(re.findall(r"\d ± \d", run("query", release).stdout)) == 1


def test_long_tables_are_cut_and_say_so(release):
    text = run("query", release, "age", "--rows", "2").stdout
    assert "... and 4 more rows." in text
    assert "more row" not in run("query", release, "age", "--rows", "0").stdout


def test_a_query_in_each_format(release, tmp_path):
    values = residuum.load(release).marginal(["sex"]).values
    rows = list(csv.DictReader(io.StringIO(run("query", release, "sex", "--format", "csv").stdout)))
    assert [float(row["value"]) for row in rows] == values.tolist()
    content = json.loads(run("query", release, "sex", "--format", "json").stdout)
    assert [row["sex"] for row in content["rows"]] == ["female", "male", "(missing)"]
    assert run("query", release, "sex", "-o", tmp_path / "sex.parquet").exit_code == 0
    assert pq.read_table(tmp_path / "sex.parquet")["value"].to_pylist() == values.tolist()
    people.refused("query", release, "sex", "-o", tmp_path / "sex.parquet", says="--force")
    assert run("query", release, "sex", "-o", tmp_path / "sex.parquet", "--force").exit_code == 0
    people.refused("query", release, "sex", "-o", tmp_path / "sex.txt", says="--format")
    assert sorted(os.listdir(tmp_path)) == ["sex.parquet"]


def test_what_was_never_measured_is_said_and_has_no_interval_from_noise(place, tmp_path):
    options = ("--rho", "1e-9", "--workload", "3", "--seed", "1", "-o", tmp_path / "r")
    assert run("release", place.people, "--schema", place.schema, *options).exit_code == 0
    release = residuum.load(tmp_path / "r")
    lacking = next(gamma for gamma in release.workload.closure if release.noise(gamma)[1])
    names = release.domain.name(lacking)
    rows = list(csv.DictReader(io.StringIO(run("query", tmp_path / "r", *names, "--format", "csv").stdout)))
    assert "" not in {row["lower"] for row in rows}  # what latent classes leave open is known
    assert "Never measured and estimated from what was" in run("query", tmp_path / "r", *names).stdout
    raw = run("query", tmp_path / "r", *names, "--estimate", "mle", "--format", "csv").stdout
    assert {row["lower"] for row in csv.DictReader(io.StringIO(raw))} == {""}
    text = run("query", tmp_path / "r", *names, "--estimate", "mle").stdout
    assert "Never measured and taken as zero" in text
    assert "have no intervals" in text


def test_an_export_has_an_index(release, tmp_path):
    result = run("export", release, "-o", tmp_path / "out", "--format", "csv", "--workload", "1")
    assert result.exit_code == 0
    index = list(csv.DictReader(io.StringIO((tmp_path / "out/index.csv").read_text())))
    assert [row["columns"] for row in index] == ["sex", "age", "pet"]
    assert all((tmp_path / "out" / row["file"]).is_file() for row in index)


def test_names_of_columns_make_safe_files():
    from residuum.cli.export import _file

    taken = {"index.csv"}
    names = [_file(clique, "csv", taken) for clique in (("../x",), ("X",), ("index",), (), ("a" * 400, "b"), ("é",))]
    assert names[:4] == ["x.csv", "X-2.csv", "index-2.csv", "total.csv"]
    assert all(len(name) < 140 and name.isascii() and "/" not in name for name in names)


def test_a_dry_run_spends_and_writes_nothing(place, tmp_path):
    ledger = tmp_path / "budget"
    run("ledger", "create", ledger, "--rho", "1")
    for mechanism, part in {"aim": "first measurements", "residual-planner": "as planned"}.items():
        options = ("--rho", "0.5", "--ledger", ledger, "--mechanism", mechanism, "-o", tmp_path / "r", "--dry-run")
        text = run("release", place.people, "--schema", place.schema, *options).stdout
        for expected in (part, "3 marginals, 45 cells", "this fits", "MiB"):
            assert expected in text
        assert not any(secret in text for secret in people.SECRETS)
    assert BudgetFile(ledger).releases() == []
    assert os.listdir(tmp_path) == ["budget"]


def test_the_planned_noise_is_what_the_planner_reaches(place, tmp_path):
    options = ("--rho", "0.5", "--mechanism", "residual-planner", "--workload", "2", "-o", tmp_path / "r")
    planned = run("release", place.people, "--schema", place.schema, *options, "--dry-run").stdout.splitlines()[-1]
    run("release", place.people, "--schema", place.schema, *options)
    release = residuum.load(tmp_path / "r")
    reached = sorted(release.noise(gamma)[0] for gamma in release.workload.targets)
    assert [float(cell) for cell in planned.split()[2:]] == pytest.approx(reached, abs=0.051)


def test_a_ledger_is_charged_and_refuses_what_it_has_not(place, tmp_path):
    ledger = tmp_path / "budget"
    run("ledger", "create", ledger, "--rho", "1")
    common = ("release", place.people, "--schema", place.schema, "--ledger", ledger)
    assert run(*common, "--rho", "0.75", "-o", tmp_path / "one").exit_code == 0
    people.refused(*common, "--rho", "0.5", "-o", tmp_path / "two", says="Ask for less")
    assert not (tmp_path / "two").exists()
    assert "1 release" in run("ledger", "show", ledger).stdout
    people.refused("ledger", "abandon", ledger, BudgetFile(ledger).releases()[0].name, says="finished already")


def test_a_seeded_release_says_so_everywhere(place, tmp_path):
    options = ("--rho", "1", "--seed", "3", "-o", tmp_path / "r")
    dry = run("release", place.people, "--schema", place.schema, *options, "--dry-run").stdout
    made = run("release", place.people, "--schema", place.schema, *options).stdout
    info, query = run("info", tmp_path / "r").stdout, run("query", tmp_path / "r", "sex").stdout
    for text in (dry, made, info, query, run("query", tmp_path / "r", "sex", "--format", "json").stdout):
        assert "not private: seeded" in text
    assert "NONE, it is seeded" in made
    assert "NONE, it is seeded" in info


def test_a_person_with_several_rows_pays_for_them(place, tmp_path):
    schema = tmp_path / "schema.yaml"
    schema.write_text(people.SCHEMA.replace("leave_out: [note]", "person: {id: note, rows: 3}"))
    run("release", place.people, "--schema", schema, "--rho", "9", "-o", tmp_path / "r")
    assert residuum.load(tmp_path / "r").provenance["rows_per_person"] == 3
    assert "up to 3 rows of a person" in run("info", tmp_path / "r").stdout


def test_a_header_without_rows_is_a_table(place, tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text("sex,age,pet,note\n")
    options = ("--schema", place.schema, "--rho", "1", "-o", tmp_path / "r")
    assert run("release", empty, *options).exit_code == 0
    assert abs(residuum.load(tmp_path / "r").marginal(["sex"], "mle").values).max() < 100


def test_a_database_with_a_query(place, tmp_path):
    import sqlite3

    with closing(sqlite3.connect(tmp_path / "people.db")) as base:
        base.execute("CREATE TABLE people (sex TEXT, age INTEGER, pet TEXT, note TEXT)")
        base.execute("INSERT INTO people VALUES ('male', 31, 'cat', NULL)")
        base.commit()
    options = ("--schema", place.schema, "--rho", "1", "-o", tmp_path / "r")
    people.refused("release", tmp_path / "people.db", *options, says="is a database")
    assert run("release", tmp_path / "people.db", "--query", "SELECT * FROM people", *options).exit_code == 0


def test_the_default_folder_is_named_after_the_data(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("release", place.people, "--schema", place.schema, "--rho", "1").exit_code == 0
    assert os.listdir(tmp_path) == ["people-release"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_can_go_on(tmp_path, number):
    from residuum.cli import tour

    tour.write(tmp_path / "tour", rows=2_000)
    folder, ledger = tmp_path / "run", tmp_path / "budget"
    run("ledger", "create", ledger, "--rho", "1")
    command = [RESIDUUM, "release", tmp_path / "tour/people.csv", "--schema", tmp_path / "tour/schema.yaml"]
    slowly = ["--workload", "3", "--mechanism", "residual-planner", "--noise", "opendp"]
    options = ["--rho", "0.5", *slowly, "--ledger", ledger, "-o", folder]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started = time.monotonic()
    journal = folder / "journal"
    while not (journal.exists() and journal.stat().st_size > 20_000) and time.monotonic() < started + 60:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(number)
    printed, said = process.communicate(timeout=60)
    assert printed == ""
    if number != signal.SIGKILL:
        assert process.returncode == 130
        said = said.splitlines()[-1]  # on a slow machine, a line about the compiler comes before it
        assert said == f"Stopped. What was measured is kept. Go on with: residuum resume {folder}"
    assert "has not come to its end" in run("info", folder).stdout
    assert "running" in run("ledger", "show", ledger).stdout
    people.refused("query", folder, "sex", says="has not finished")
    people.refused(*command[1:], "--rho", "0.5", "-o", folder, says="residuum resume")
    text = run("resume", folder).stdout
    assert re.search(r"kept +[\d,]+ answers from before", text)
    assert "lost" in text
    assert run("resume", folder).stdout.endswith("Nothing had to be done.\n")
    assert BudgetFile(ledger).releases()[0].state == "finished"


def test_a_reader_that_has_seen_enough_is_no_error(release):
    command = f"{RESIDUUM} query {release} sex age --format json | head -c 20 > /dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")
    with open(os.devnull) as nobody:  # a pipe whose reader is gone from the start
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [RESIDUUM, "info", release], stdin=nobody, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_demo_writes_files_and_overwrites_none(tmp_path):
    assert run("demo", "--write", tmp_path / "tour").exit_code == 0
    before = (tmp_path / "tour/people.csv").read_bytes()
    people.refused("demo", "--write", tmp_path / "tour", says="Expected a new folder")
    assert (tmp_path / "tour/people.csv").read_bytes() == before
    table = residuum.read(tmp_path / "tour/people.csv", Schema.load(tmp_path / "tour/schema.yaml"))
    assert table.columns.shape == (12, 50_000)


def test_no_colours_where_there_is_no_terminal(release):
    assert "\x1b" not in run("info", release).stdout + run("query", release, "sex").stdout


def test_estimates_by_name(release):
    opened = residuum.load(release)
    for estimate in ("best", "mle", "nonnegative", "latent"):
        content = json.loads(run("query", release, "sex", "age", "--estimate", estimate, "--format", "json").stdout)
        assert content["estimate"] == estimate
        expected = opened.marginal(["sex", "age"], estimate).values.reshape(-1)
        assert [row["value"] for row in content["rows"]] == expected.tolist()
    people.refused("query", release, "sex", "--estimate", "truth", says="'truth' is not one of")


def test_whole_counts_add_up_to_the_noisy_total(release, tmp_path):
    total = round(residuum.load(release).fit().total)
    options = ("--workload", "2", "--format", "csv", "--estimate", "latent", "--integers")
    assert run("export", release, "-o", tmp_path / "out", *options).exit_code == 0
    index = list(csv.DictReader(io.StringIO((tmp_path / "out/index.csv").read_text())))
    assert [row["estimate"] for row in index] == ["latent"] * 3
    for row in index:
        text = (tmp_path / "out" / row["file"]).read_text()
        counts = [int(line["value"]) for line in csv.DictReader(io.StringIO(text))]
        assert min(counts) >= 0
        assert sum(counts) == total


def test_what_was_fitted_once_is_kept(release):
    run("query", release, "sex")
    before = (release / "model.arrow").stat().st_mtime_ns
    run("query", release, "age")
    assert (release / "model.arrow").stat().st_mtime_ns == before


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_synthetic_rows_can_be_read_by_the_schema_of_the_table(place, release, tmp_path, ending):
    file = tmp_path / f"rows.{ending}"
    result = run("sample", release, "-n", "500", "-o", file, "--seed", "1")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "500 synthetic rows of 3 columns" in result.stdout
    lines = file.rename(tmp_path / "rows.jsonl") if ending == "json" else file
    table = residuum.read(str(lines), Schema.from_dict(Schema.load(place.schema).to_dict() | {"leave_out": []}))
    assert table.columns.shape == (3, 500)
    people.refused("sample", release, "-o", lines, says="")


def test_as_many_synthetic_rows_as_the_noisy_total(release):
    lines = run("sample", release).stdout.splitlines()
    assert len(lines) - 1 == round(residuum.load(release).fit().total)
    assert lines[0] == '"sex","age","pet"'
    assert run("sample", release, "-n", "0").stdout.splitlines() == lines[:1]


def test_synthetic_rows_of_a_seeded_release_say_so(place, tmp_path):
    options = ("--schema", place.schema, "--rho", "1", "--seed", "1", "-o", tmp_path / "r")
    assert run("release", place.people, *options).exit_code == 0
    for output in ((), ("-o", tmp_path / "rows.csv")):
        assert run("sample", tmp_path / "r", "-n", "3", *output).stderr == "Caveat: not private: seeded.\n"


def test_synthetic_rows_that_cannot_be_had(release, tmp_path):
    people.refused("sample", release, "-n", "-1", says="greater than or equal to 0")
    people.refused("sample", release, "-n", str(2**40), says="Expected a number of rows from 0")
    people.refused("sample", release, "-o", tmp_path / "rows.txt", says="--format")
    people.refused("sample", tmp_path / "nowhere", says="there is no such folder")
    assert os.listdir(tmp_path) == []


def test_a_stop_that_a_library_takes_for_a_fault_of_its_own_is_a_stop(tmp_path):
    """As when a module is being imported, and says then that it lacks something."""

    def interrupted():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
        except KeyboardInterrupt:
            raise AttributeError("a module has no attribute") from None

    with pytest.raises(KeyboardInterrupt, match="Nothing was released"), resumable(tmp_path / "run"):
        interrupted()
    with pytest.raises(AttributeError), resumable(tmp_path / "run"):
        raise AttributeError("a fault of ours")


def test_an_epsilon_that_does_not_follow_from_rho_is_not_repeated(place, tmp_path):
    options = ("--epsilon", "1", "--delta", "1e-6", "-o", tmp_path / "r")
    assert run("release", place.people, "--schema", place.schema, *options).exit_code == 0
    assert "epsilon = 1, delta = 1e-06" in run("info", tmp_path / "r").stdout
    made = residuum.load(tmp_path / "r")
    claimed = dataclasses.replace(made, provenance={**made.provenance, "epsilon": 0.01})
    residuum.save(claimed, tmp_path / "claimed")
    assert "epsilon = 0.01" not in run("info", tmp_path / "claimed").stdout
