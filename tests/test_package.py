"""The package as a whole: its contracts, its import, its command line."""

import subprocess
import sys
from importlib.metadata import version

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports
from typer.testing import CliRunner

import residuum
from residuum.cli import app


def test_import_contracts():
    assert lint_imports(config_filename="pyproject.toml", no_cache=True) == EXIT_STATUS_SUCCESS


def test_import_brings_in_no_compiler():
    loaded = subprocess.run(
        [sys.executable, "-c", "import residuum, sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    ).stdout.split()
    engines = {"duckdb", "narwhals", "numba", "llvmlite", "pandas", "polars", "pyarrow", "pyspark", "scipy"}
    assert not (engines | {"pydantic", "rich", "typer", "yaml"}) & set(loaded)


def test_public_names_exist_and_are_sorted():
    assert residuum.__all__ == sorted(residuum.__all__)
    assert all(getattr(residuum, name).__doc__ for name in residuum.__all__)


def test_demo_releases_the_sample():
    result = CliRunner().invoke(app, ["demo"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    for text in ("50,000 made-up people", "epsilon = 1, delta = 1e-09", "age × marital", "L1 error"):
        assert text in result.output


def test_version_and_help():
    assert CliRunner().invoke(app, ["--version"]).output == f"residuum {version('residuum')}\n"
    assert "demo" in CliRunner().invoke(app, ["--help"]).output
    assert CliRunner().invoke(app, ["nonsense"]).exit_code == 2
