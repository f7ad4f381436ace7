"""Nothing of estimate/ can look at the truth: it has no way to reach it, and nobody hands it over."""

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from residuum import estimate

ROOT = Path(estimate.__path__[0]).parent
MODULES = ["residuum.release", *(f"residuum.estimate.{part.name}" for part in pkgutil.iter_modules(estimate.__path__))]
PRIVATE = ("data", "mechanism", "privacy")

_ALONE = """
import sys, types
package = types.ModuleType("residuum")  # without what its __init__ imports for the public names
package.__path__ = [sys.argv[1]]
sys.modules["residuum"] = package
for name in sys.argv[2:]:
    __import__(name)
print(*sys.modules)
"""


def loaded_by(*modules):
    """The parts of the package that importing these brings in, in a fresh interpreter."""
    run = [sys.executable, "-c", _ALONE, str(ROOT), *modules]
    names = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    return {name.split(".")[1] for name in names if name.startswith("residuum.")}


def test_importing_it_brings_in_nothing_private():
    assert {"estimate", "release", "core"} <= loaded_by(*MODULES)
    assert loaded_by(*MODULES).isdisjoint(PRIVATE)


@pytest.mark.parametrize("private", ["residuum.data.table", "residuum.mechanism.curator", "residuum.privacy.noise"])
def test_what_is_private_would_be_seen(private):
    assert private.split(".")[1] in loaded_by(private)


def classes(package):
    """The names of all classes that a part of the package defines."""
    for path in (ROOT / package).rglob("*.py"):
        yield from (node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef))


def parameters(source):
    """The names in the annotations of all parameters and fields, at any depth; "nothing" where there is none."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            arguments += [argument for argument in (node.args.vararg, node.args.kwarg) if argument]
            annotations = [argument.annotation for argument in arguments if argument.arg not in ("self", "cls")]
        elif isinstance(node, ast.ClassDef):
            annotations = [field.annotation for field in node.body if isinstance(field, ast.AnnAssign)]
        else:
            continue
        for annotation in annotations:
            yield from _names(annotation) if annotation else ["nothing"]


def _names(annotation):
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name | ast.Attribute):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _names(ast.parse(node.value))


TAKEN_BY_NOBODY = {"nothing", *(name for package in PRIVATE for name in classes(package))}
"""What holds the truth, or has access to it, and whatever has no annotation."""


def test_no_function_is_given_the_truth():
    taken = {name for path in (ROOT / "estimate").glob("*.py") for name in parameters(path.read_text())}
    assert {"Table", "Counts", "Differences", "Curator"} <= TAKEN_BY_NOBODY
    assert {"Estimates", "Mixture"} <= taken
    assert taken.isdisjoint(TAKEN_BY_NOBODY)


@pytest.mark.parametrize(
    "source",
    [
        "def look(table: Table): ...",
        "def look(truth: 'dict[Clique, Counts]' = {}): ...",
        "class Open:\n    def look(self, *tables: data.Table | None): ...",
        "class Open:\n    differences: Differences",
        "def outer():\n    def look(anything): ...",
    ],
)
def test_a_table_would_be_noticed(source):
    assert not TAKEN_BY_NOBODY.isdisjoint(parameters(source))
