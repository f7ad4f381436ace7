"""The methods that are compared, as tasks for `bench.job`; a table, a budget and a seed make a task whole."""

from typing import Any

Task = dict[str, Any]

PAPER = "AIM+GReM"
DEFAULT = "residuum"
PLANNER = "ResidualPlanner"

METHODS: dict[str, Task] = {
    PAPER: {"mechanism": "aim", "options": {"reference": "none"}, "estimates": ["mle"]},
    DEFAULT: {"mechanism": "aim", "fit": True, "estimates": ["best"]},
    PLANNER: {"mechanism": "residual planner", "estimates": ["mle"]},
}
"""The paper's algorithm and its batch rival as they stand, and what the package does unless told otherwise."""


def graphical(megabytes: float) -> str:
    """AIM with a graphical model of at most so many megabytes, by name."""
    return f"AIM+PGM, {megabytes:g} MB"


def task(method: str, **more: Any) -> Task:
    """The task of a method."""
    if method.startswith("AIM+PGM, "):
        megabytes = float(method.removeprefix("AIM+PGM, ").removesuffix(" MB"))
        return {"mechanism": "aim+pgm", "options": {"megabytes": megabytes}, "estimates": ["model"], **more}
    return METHODS[method] | more
