"""Whatever is wrong with what a command is given: one line, exit code 2, nothing half-written, nothing of the data."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from typer.testing import CliRunner

from residuum.cli import app, explained
from tests.cli import people
from tests.cli.people import refused, run


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return people.write(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def made(source):
    assert (
        run("release", source.people, "--schema", source.schema, "--rho", "1", "-o", source.folder / "r").exit_code == 0
    )
    return source.folder / "r"


@pytest.fixture
def place(source, tmp_path, monkeypatch):
    """The table and its schema in a folder of their own, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for file in (source.people, source.schema):
        shutil.copy(file, tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def nothing_is_left_behind(tmp_path):
    yield
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".") or name.endswith("-release")]


def release(*options, data="people.csv", schema="schema.yaml", budget=("--rho", "1")):
    return ("release", data, "--schema", schema, *budget, *options)


@pytest.mark.parametrize("command", ["info", "query", "resume"])
def test_a_wrong_path(command, tmp_path):
    refused(command, tmp_path / "nowhere", says="nowhere")


def test_wrong_paths_of_everything_else(place, made):
    refused("export", "nowhere", "-o", "out", says="no such folder")
    refused("export", made, "-o", "nowhere/out", says="No such file")
    refused("schema", "nowhere.csv", says="No file at 'nowhere.csv'")
    refused("schema", "people.csv", "-o", "nowhere/schema.yaml", says="No such file")
    refused(*release(data="nowhere.csv"), says="No file at 'nowhere.csv'")
    refused(*release(data=str(place)), says="got the folder")
    refused(*release(schema="nowhere.yaml"), says="No schema file")
    refused(*release("--ledger", "nowhere.budget"), says="no budget file")
    refused(*release("--workload", "nowhere.yaml"), says="No file of cliques")
    refused(*release("-o", "people.csv"), says="is a file")
    refused("query", made, "sex", "-o", "nowhere/sex.csv", says="No such file")
    refused("ledger", "show", "nowhere", says="no budget file")
    refused("ledger", "abandon", "nowhere", "x", says="no budget file")
    refused("ledger", "create", "nowhere/budget", "--rho", "1", says="No such file")


def test_empty_files(place):
    (place / "empty").touch()
    refused("schema", "empty", says="is empty")
    refused(*release(data="empty"), says="is empty")
    refused(*release(schema="empty"), says="Expected a schema")
    refused(*release("--workload", "empty"), says="not a list")
    refused(*release("--ledger", "empty"), says="empty")
    (place / "folder").mkdir()
    refused("info", "folder", says="manifest.json")
    refused("resume", "folder", says="no run to resume")


def test_columns_that_are_missing_or_unknown(place, made):
    (place / "short.csv").write_text("sex,pet,note\nmale,quokka,zebrafish\n")
    refused(*release(data="short.csv"), says="Column 'age' of the schema is not in 'short.csv'")
    refused(*release("--dry-run", data="short.csv"), says="Column 'age' of the schema is not in 'short.csv'")
    (place / "wide.csv").write_text("sex,age,pet,note,more\nmale,1,quokka,zebrafish,x\n")
    refused(*release(data="wide.csv"), says="Column 'more' of 'wide.csv' is not in the schema")
    refused("query", made, "heightt", says="Unknown attribute 'heightt'")
    refused("query", made, "sex", "sex", says="named twice")
    refused("query", made, "sex", "age", "pet", says="holds no marginal")
    (place / "cliques.yaml").write_text("- [sex, heightt]")
    refused(*release("--workload", "cliques.yaml"), says="Look at entry 1")
    refused("export", made, "-o", "out", "--workload", "3", says="holds no marginal")
    assert not (place / "out").exists()


def test_an_unknown_value_is_named_by_its_column_only(place):
    schema = people.SCHEMA.replace("values: [cat, dog]", "values: [cat, dog], outside: error")
    (place / "strict.yaml").write_text(schema)
    line = refused(*release(schema="strict.yaml"), says="'pet'")
    assert "outside" in line


def test_texts_in_another_encoding(place):
    (place / "latin.csv").write_bytes(b"sex,age,pet,note\nmale,1,cat,zebrafish\xe9\n")
    refused(*release(data="latin.csv"), says="not in UTF-8")
    refused("schema", "latin.csv", says="not in UTF-8")
    (place / "latin.yaml").write_bytes(b"columns: {caf\xe9: {kind: boolean}}")
    refused(*release(schema="latin.yaml"), says="UTF-8")
    refused(*release("--workload", "latin.yaml"), says="UTF-8")


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf"])
def test_budgets_that_make_no_sense(place, value):
    refused(*release(budget=("--rho", value)), says="`rho`")
    refused(*release(budget=("--epsilon", value, "--delta", "1e-9")), says="`epsilon`")
    refused(*release(budget=("--epsilon", "1", "--delta", value)), says="`delta`")
    refused("ledger", "create", "budget", "--rho", value, says="`rho`")
    assert not (place / "budget").exists()


@pytest.mark.usefixtures("place")
def test_budgets_that_are_too_many_or_too_few():
    refused(*release("--epsilon", "1"), says="either rho or epsilon")
    refused(*release("--delta", "1e-9"), says="no delta beside rho")
    refused(*release(budget=()), says="Give epsilon and delta, or rho")
    refused(*release(budget=("--epsilon", "1")), says="Expected a delta")
    refused(*release(budget=("--rho", "much")), says="--rho")


def test_a_folder_with_something_in_it(place, made):
    (place / "full").mkdir()
    (place / "full/thesis.txt").write_text("mine")
    refused(*release("-o", "full"), says="nothing is overwritten")
    refused(*release("-o", made), says="nothing is overwritten")
    refused("export", made, "-o", "full", says="already")
    refused("demo", "--write", "full", says="Expected a new folder")
    refused("query", made, "sex", "-o", "full", "--format", "csv", "--force", says="is a folder")
    refused("schema", "people.csv", "-o", "schema.yaml", says="--force")
    assert os.listdir(place / "full") == ["thesis.txt"]
    assert (place / "schema.yaml").read_text() == people.SCHEMA


@pytest.mark.parametrize("file", ["manifest.json", "residuals.arrow", "spends.arrow", "values.arrow"])
@pytest.mark.parametrize("harm", ["gone", "cut", "changed", "folder"])
def test_a_damaged_release(made, tmp_path, file, harm):
    folder = tmp_path / "damaged"
    shutil.copytree(made, folder)
    path = folder / file
    content = path.read_bytes()
    path.unlink()
    if harm == "folder":
        path.mkdir()
    elif harm != "gone":
        middle = len(content) // 2
        path.write_bytes(content[:middle] if harm == "cut" else content[:middle] + b"??" + content[middle + 2 :])
    codes = []
    for command in (("info", folder), ("query", folder, "sex", "age"), ("export", folder, "-o", tmp_path / "out")):
        result = run(*command)
        codes.append(result.exit_code)
        assert result.exit_code in (0, 2)
        assert result.stderr.count("\n") == (result.exit_code == 2)
    assert codes[1:] == [2, 2]
    assert not (tmp_path / "out").exists()


def test_a_foreign_database_as_budget_file(place):
    with closing(sqlite3.connect(place / "foreign.db")) as base:
        base.execute("CREATE TABLE budget (note TEXT)")
        base.execute("INSERT INTO budget VALUES ('zebrafish')")
        base.commit()
    before = (place / "foreign.db").read_bytes()
    for command in (
        ("ledger", "show", "foreign.db"),
        release("--ledger", "foreign.db"),
        ("ledger", "abandon", "foreign.db", "x"),
    ):
        refused(*command, says="foreign.db")
    refused("ledger", "create", "foreign.db", "--rho", "1", says="already")
    refused("ledger", "show", "people.csv", says="no budget file")
    assert (place / "foreign.db").read_bytes() == before


@pytest.mark.usefixtures("place")
def test_options_that_make_no_sense():
    refused(*release("--mechanism", "magic"), says="--mechanism")
    refused(*release("--workload", "0"), says="k between 1")
    refused(*release("--workload", "9"), says="k between 1")
    refused(*release("--seed", "1", "--noise", "opendp"), says="cannot be seeded")
    refused(*release("--query", "SELECT 1"), says="A query is for a database")
    refused(*release("--sed", "1"), says="See: ")
    refused("relase", says="Did you mean 'release'?")
    refused("release", says="Missing argument")
    refused("schema", says="residuum schema people.csv")
    refused("schema", "people.csv", "--json-schema", says="Leave one out")


def test_a_journal_that_is_none(place):
    (place / "run").mkdir()
    (place / "run/journal").write_bytes(b"zebrafish")
    refused("info", "run", says="damaged")
    refused("resume", "run", says="damaged")
    refused("query", "run", says="has not finished")


def test_a_csv_file_that_is_damaged(place):
    (place / "torn.csv").write_text(
        'sex,age,pet,note\nmale,"1,quokka,zebrafish\n' + "male,1,cat,zebrafish,8675309,4\n" * 3
    )
    refused(*release(data="torn.csv"), says="not well-formed")
    refused("schema", "torn.csv", says="not well-formed")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MemoryError("Unable to allocate for an array with shape (7919, 4)"), "too little memory"),
        (UnicodeDecodeError("utf-8", b"zebrafish", 0, 1, "invalid"), "not in the encoding"),
        (OSError(28, "No space left on device", "out.csv"), "No space left on device: 'out.csv'."),
    ],
)
def test_errors_of_the_system_are_one_line_too(monkeypatch, made, error, says):
    def fail(*_):
        raise error

    monkeypatch.setattr("residuum.cli.info.load", fail)
    refused("info", made, says=says)


def test_an_error_of_ours_is_not_hidden(monkeypatch, made):
    def fail(*_):
        raise ZeroDivisionError

    assert explained(ZeroDivisionError()) is None
    monkeypatch.setattr("residuum.cli.info.load", fail)
    assert isinstance(CliRunner().invoke(app, ["info", str(made)]).exception, ZeroDivisionError)


@pytest.mark.usefixtures("place")
def test_a_cluster_without_spark_and_spark_with_a_query():
    common = ("release", "people.csv", "--schema", "schema.yaml", "--rho", "1")
    refused(*common, "--master", "spark://host:7077", says="Add --engine spark")
    refused(*common, "--engine", "spark", "--query", "SELECT 1", says="Leave out --query")
