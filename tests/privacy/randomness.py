"""Where source code draws randomness, found without running it."""

import ast
from collections.abc import Iterator

SOURCES = (
    "numba.cuda.random",
    "numpy.random",
    "opendp",
    "os.getrandom",
    "os.urandom",
    "random",
    "scipy.stats",
    "secrets",
    "ssl.RAND_bytes",
    "tempfile",
    "uuid",
)
"""Modules and functions that give random numbers, or names made of them."""

UNKNOWN = "a module named at run time"

_BY_NAME = {"__import__", "builtins.__import__", "importlib.import_module"}


def drawn(source: str) -> set[str]:
    """The full names of all sources of randomness that a module mentions, under whatever name it knows them."""
    tree = ast.parse(source)
    names = dict(_imported(tree))
    found = set(names.values())
    for node in ast.walk(tree):
        found |= {_full(node, names), *_loaded(node, names)}
    told = {name for name in found if name == UNKNOWN or any(f"{name}.".startswith(f"{known}.") for known in SOURCES)}
    return {name for name in told if not any(other.startswith(name + ".") for other in told)}


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What a module calls the things it imports, and their full names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
                yield alias.name, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _full(node: ast.AST, names: dict[str, str]) -> str:
    """The full name of an attribute of an imported module, or of what `getattr` takes from one; else nothing."""
    if isinstance(node, ast.Attribute):
        inside = _full(node.value, names)
        return inside and f"{inside}.{node.attr}"
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id if node.id in _BY_NAME else "")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
        inside, wanted = _full(node.args[0], names), node.args[1]
        return f"{inside}.{wanted.value}" if inside and isinstance(wanted, ast.Constant) else ""
    return ""


def _loaded(node: ast.AST, names: dict[str, str]) -> Iterator[str]:
    """A module that is imported by a call, with its name as a text; where that is not written out it is unknown."""
    if isinstance(node, ast.Call) and _full(node.func, names) in _BY_NAME:
        name = node.args[0] if node.args else None
        yield name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else UNKNOWN
