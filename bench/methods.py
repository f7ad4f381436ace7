"""The methods that are compared, as tasks for `bench.job`; a table, a budget and a seed make a task whole."""

from typing import Any

Task = dict[str, Any]

PAPER = "AIM+GReM"
DEFAULT = "residuum"
PLANNER = "ResidualPlanner"

_GRAPHICAL = "AIM+PGM, "

RIVAL = "AIM+PGM, 50 MB"
"""AIM+PGM with the size of model that the paper gives it."""

METHODS: dict[str, Task] = {
    PAPER: {"mechanism": "aim", "options": {"reference": "none"}, "estimates": ["mle"]},
    DEFAULT: {"mechanism": "aim", "fit": True, "estimates": ["best"]},
    PLANNER: {"mechanism": "residual planner", "estimates": ["mle"]},
}
"""The paper's algorithm and its batch rival as they stand, and what the package does unless told otherwise."""


def graphical(megabytes: float) -> str:
    """AIM with a graphical model of at most so many megabytes, by name."""
    return f"{_GRAPHICAL}{megabytes:g} MB"


def is_graphical(method: str) -> bool:
    """Whether a method is AIM+PGM, of whatever size."""
    return method.startswith(_GRAPHICAL)


def megabytes_of(method: str) -> float:
    """How large the model of AIM+PGM may be."""
    return float(method.removeprefix(_GRAPHICAL).removesuffix(" MB"))


def method_of(task: Task) -> str:
    """The name of the method that a task runs."""
    if task["mechanism"] == "aim+pgm":
        return graphical(task["options"]["megabytes"])
    return next(name for name, made in METHODS.items() if made.items() <= task.items())


def task(method: str, **more: Any) -> Task:
    """The task of a method."""
    if is_graphical(method):
        return {"mechanism": "aim+pgm", "options": {"megabytes": megabytes_of(method)}, "estimates": ["model"], **more}
    return METHODS[method] | more
