"""What is wrong with a schema, in one line."""

from typing import Any

from pydantic import ValidationError

KINDS = ("boolean", "categorical", "date", "integer", "real", "time")

KEYS = {
    "": ("version", "confirmed", "person", "columns", "leave_out", "missing_tokens", "strip", "csv"),
    "person": ("id", "rows"),
    "csv": ("delimiter", "quote", "encoding"),
    "boolean": ("kind", "missing", "outside"),
    "categorical": ("kind", "values", "aliases", "missing", "outside"),
    "date": ("kind", "min", "max", "granularity", "format", "missing", "outside"),
    "integer": ("kind", "min", "max", "bins", "cuts", "missing", "outside"),
    "real": ("kind", "min", "max", "bins", "cuts", "missing", "outside"),
    "time": ("kind", "granularity", "format", "missing", "outside"),
}

_EXPECTED = {
    "bool": "`true` or `false`",
    "dict": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
    "tuple_type": "a list",
    "int": "a whole number",
    "float": "a number",
    "finite_number": "a finite number",
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "string_too_long": "one character",
    "string_pattern_mismatch": "a form such as %d/%m/%Y",
    "date": "a day such as 2024-01-31",
    "too_short": "at least one",
    "too_long": "fewer",
    "greater_than_equal": "a greater number",
    "less_than_equal": "a smaller number",
}
"""What was expected, by how pydantic's name for the problem begins."""


def explain(error: ValidationError, given: dict[str, Any]) -> str:
    """The most telling problem of a schema.

    An unknown key often explains why another is missing. That a map is not a word, where both can be, explains nothing.
    """
    weight = {"extra_forbidden": 0, "literal_error": 2}
    first = min(error.errors(include_url=False), key=lambda problem: weight.get(problem["type"], 1))
    kind, context = first["type"], first.get("ctx", {})
    steps = _steps(first["loc"], given)
    place, above = ".".join(steps), ".".join(steps[:-1]) or "the schema"
    if kind == "extra_forbidden":
        keys = ", ".join(map(repr, _known(first["loc"][:-1])))
        return f"Unknown key {steps[-1]!r} in {above}. It may have {keys}."
    if kind == "missing":
        return f"Missing key {steps[-1]!r} in {above}."
    if kind.startswith("union_tag"):
        problem = f"Unknown kind {context['tag']!r}" if kind == "union_tag_invalid" else "Missing key 'kind'"
        return f"{problem} in {place}. It is one of {', '.join(KINDS)}."
    if kind == "value_error":
        return f"{context['error']} Look at {place}." if place else str(context["error"])
    if place == "person":
        expected = "`row` or `{id: COLUMN, rows: K}`"
    elif kind == "literal_error":
        expected = context["expected"].replace("'", "`")
    else:
        words = (word for start, word in _EXPECTED.items() if kind.startswith(start))
        expected = next(words, first["msg"].removeprefix("Input should be "))
    return f"Expected {expected} in {place or 'the schema'}, got {_short(first['input'])}."


def _steps(loc: tuple[Any, ...], given: Any) -> list[str]:
    """The way to a place in the schema as it was given, without the steps that only the checker knows."""
    steps = []
    for k, step in enumerate(loc):
        if (isinstance(given, dict) and step in given) or (isinstance(given, list | tuple) and isinstance(step, int)):
            given = given[step]
        elif k < len(loc) - 1 or not isinstance(given, dict) or step in ("Person", "As", "literal['row']", *KINDS):
            continue
        steps.append(str(step))
    return steps


def _known(loc: tuple[str | int, ...]) -> tuple[str, ...]:
    """The keys that a part of a schema may have."""
    if not loc or loc[0] != "columns":
        return KEYS[str(loc[0]) if loc else ""]
    return KEYS[str(loc[2])] if len(loc) == 3 else ("as",)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
