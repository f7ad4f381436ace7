"""A private table for the tests of the commands, and a way to call them.

Its cells and its number of rows are odd enough to be recognised wherever they turn up.
"""

from pathlib import Path
from types import SimpleNamespace

from typer.testing import CliRunner

from residuum.cli import app

ROWS = 7919
SECRETS = ("zebrafish", "quokka", "8675309", str(ROWS), f"{ROWS:,}")
"""Cells, one of them outside the schema, and the number of rows: in no message may they be seen."""

SCHEMA = """\
version: 1
confirmed: true
leave_out: [note]
columns:
  sex: {kind: categorical, values: [female, male]}
  age: {kind: integer, min: 0, max: 99, bins: 5}
  pet: {kind: categorical, values: [cat, dog]}
"""


def write(folder: Path) -> SimpleNamespace:
    """The table and its schema in a folder."""
    cells = ("female,31,cat,zebrafish", "male,8675309,quokka,zebrafish", "female,70,dog,", "male,12,,quokka")
    people, schema = folder / "people.csv", folder / "schema.yaml"
    people.write_text("sex,age,pet,note\n" + "".join(f"{cells[i % 4]}\n" for i in range(ROWS)))
    schema.write_text(SCHEMA)
    return SimpleNamespace(folder=folder, people=people, schema=schema)


def run(*arguments):
    """What a command does; an error of ours is raised, so that it shows."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def refused(*arguments, says):
    """That a command ends with one line, exit code 2, and nothing of the data in it."""
    result = run(*arguments)
    assert result.exit_code == 2, (result.stdout, result.stderr)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert says in result.stderr, result.stderr
    assert not any(secret in result.stderr for secret in SECRETS)
    return result.stderr
