"""The manifest of a release: what it is, as JSON that says so itself.

Floats are written so that they come back exactly, and there is no NaN or infinity. Lists come back as tuples. The entry
"sha256" is the checksum of all others, in sorted order and without spaces, so that a slip of an editor is noticed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from functools import cache
from hashlib import sha256
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from residuum.core.domain import Domain
from residuum.core.units import Unit
from residuum.core.workload import Workload
from residuum.errors import ReleaseError, ResiduumError
from residuum.release import Release
from residuum.store.folder import FILES, MANIFEST, Folder

FORMAT = "residuum release"
VERSION = 1
"""The version of the format that is written, and the newest that can be read."""

_MARKED = {"decimal": Decimal, "float": float}
"""Labels that JSON has no form for, such as Decimal("0.5") and infinity: {"decimal": "0.5"}, {"float": "inf"}."""


@dataclass(frozen=True, slots=True)
class Described:
    """What a manifest says."""

    workload: Workload
    rho: float
    provenance: Mapping[str, Any]
    lineage: frozenset[str]
    schema: Mapping[str, Any] | None
    files: Mapping[str, Mapping[str, Any]]


def describe(release: Release) -> dict[str, Any]:
    """All that a manifest says of a release, but for its files. What could not be read back is refused.

    >>> from residuum import Domain, Estimates, Release, Workload
    >>> estimates = Estimates(Workload(Domain({"age": 4, "sex": ["f", "m"]}), [("age", "sex")]))
    >>> content = describe(Release(estimates, 0.5, (), {"mechanism": "by hand", "caveats": ()}, frozenset()))
    >>> content["domain"]
    [{'name': 'age', 'size': 4}, {'name': 'sex', 'labels': ['f', 'm']}]
    >>> content["workload"]
    [[[0, 1], 1.0]]
    """
    try:
        content = _content(release)
        read(content | {"files": {name: {"bytes": 0, "sha256": ""} for name in FILES}})
    except ResiduumError as error:
        raise ReleaseError(f"The release cannot be saved: {error}") from None
    except RecursionError:
        raise ReleaseError("The release cannot be saved: its provenance or schema is nested too deep.") from None
    return content


def sealed(content: Mapping[str, Any], files: Mapping[str, Any]) -> bytes:
    """The text of a manifest, with an entry per line and its own checksum.

    >>> sealed({"format": "x"}, {}).decode().splitlines()[:3]
    ['{', '"format": "x",', '"files": {},']
    """
    content = {**content, "files": files}
    content["sha256"] = _checksum(content)
    entries = (f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in content.items())
    return ("{\n" + ",\n".join(entries) + "\n}\n").encode("ascii")


def opened(folder: Folder) -> Described:
    """What the manifest of a folder says, once its format and its checksum are right."""
    text = folder.read(MANIFEST)
    try:
        content = json.loads(text.decode("ascii"), parse_float=_finite, parse_constant=_finite)
        entries = content if isinstance(content, dict) else {}
        checksum = _checksum({key: entry for key, entry in entries.items() if key != "sha256"})
    except (ValueError, RecursionError):
        raise folder.damaged(f"{MANIFEST} is no JSON that residuum writes") from None
    if entries.get("format") != FORMAT:
        raise ReleaseError(f"Expected a release in {str(folder.path)!r}, but its {MANIFEST} is of another kind.")
    found = entries.get("version")
    if type(found) is int and found > VERSION:
        raise ReleaseError(
            f"The release in {str(folder.path)!r} has format {found}, and this residuum reads up to {VERSION}. "
            "Install a newer one."
        )
    if entries.get("sha256") != checksum:
        raise folder.damaged(f"{MANIFEST} was changed after it was written")
    try:
        return read(entries)
    except (ResiduumError, RecursionError) as error:
        raise folder.damaged(f"{MANIFEST} makes no sense ({error})") from None


def read(content: Mapping[str, Any]) -> Described:
    """What the entries of a manifest mean; an entry of the wrong kind is an error that names it.

    >>> read({"version": 1, "rho": "much"})
    Traceback (most recent call last):
    residuum.errors.ReleaseError: Expected a budget above 0 as "rho", got 'much'.
    """
    _take(content, "version", lambda found: type(found) is int and found == VERSION, f"the number {VERSION}")
    return Described(
        rho=_take(content, "rho", lambda rho: type(rho) is float and 0 < rho < inf, "a budget above 0"),
        provenance=_tuples(_take(content, "provenance", _has_caveats, "entries with a list of caveats")),
        lineage=frozenset(_take(content, "lineage", lambda names: _lists(names, str), "a list of names")),
        schema=_tuples(
            _take(content, "schema", lambda found: found is None or isinstance(found, dict), "entries or null")
        ),
        files=_take(content, "files", _has_files, f"size and SHA-256 of {', '.join(FILES)}"),
        workload=read_workload(content),
    )


def _content(release: Release) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "written_by": software(),
        "rho": float(release.rho),
        "provenance": plain(release.provenance, "provenance"),
        "lineage": sorted(release.lineage),
        "schema": plain(release.schema, "schema"),
        **describe_workload(release.workload),
    }


@cache
def software() -> str:
    """The program and its version.

    >>> software().split()[0]
    'residuum'
    """
    from importlib.metadata import version  # it takes a while to import

    return f"residuum {version('residuum')}"


def describe_workload(workload: Workload) -> dict[str, Any]:
    """A workload and its domain, in what JSON has.

    >>> from residuum import Domain
    >>> describe_workload(Workload(Domain({"age": 4, "sex": ["f", "m"]}), [("age",)]))
    {'domain': [{'name': 'age', 'size': 4}, {'name': 'sex', 'labels': ['f', 'm']}], 'workload': [[[0], 1.0]]}
    """
    domain = workload.domain
    return {
        "domain": [
            {"name": name}
            | ({"size": size} if labels is None else {"labels": [*map(_label, labels)]})
            | ({} if unit is None else {"unit": plain(_entries(unit), "a unit")})
            for name, size, labels, unit in zip(domain.names, domain.sizes, domain.labels, domain.units, strict=True)
        ],
        "workload": [[list(gamma), weight] for gamma, weight in workload.weights.items()],
    }


def read_workload(content: Mapping[str, Any]) -> Workload:
    """The workload that `describe_workload` described.

    >>> read_workload({"domain": [{"name": "age", "size": 4}], "workload": [[[0], 1.0]]}).targets
    ((0,),)
    """
    attributes = _take(content, "domain", _has_names, "attributes with a name each, and a size or labels")
    sizes = {
        attribute["name"]: [*map(_unmarked, attribute["labels"])] if "labels" in attribute else attribute["size"]
        for attribute in attributes
    }
    if len(sizes) < len(attributes):
        raise ReleaseError('Expected each attribute once as "domain", got one twice.')
    weighted = _take(content, "workload", _has_cliques, "cliques with a weight each")
    units = {attribute["name"]: _unit(attribute["unit"]) for attribute in attributes if "unit" in attribute}
    return Workload(Domain(sizes, units), {tuple(clique): weight for clique, weight in weighted})


def _entries(unit: Unit) -> dict[str, Any]:
    """What a unit says beside what it would say anyway.

    >>> _entries(Unit("integer", (0, 20), last=99))
    {'kind': 'integer', 'starts': (0, 20), 'last': 99}
    """
    plainest = {field.name: field.default for field in fields(Unit)}
    return {name: value for name, value in asdict(unit).items() if value != plainest[name]}


def _unit(entries: Any) -> Unit:
    """The unit with these entries."""
    if not isinstance(entries, dict) or not {"kind"} <= entries.keys() <= {field.name for field in fields(Unit)}:
        raise ReleaseError(f"Expected a unit as it was written, got {_shown(entries)}.")
    return Unit(**_tuples(entries))


def _has_caveats(provenance: Any) -> bool:
    return isinstance(provenance, dict) and isinstance(provenance.get("caveats"), list)


def _has_files(files: Any) -> bool:
    return (
        isinstance(files, dict)
        and files.keys() == set(FILES)
        and _lists([*files.values()], dict)
        and all(type(entry.get("bytes")) is int and isinstance(entry.get("sha256"), str) for entry in files.values())
    )


def _has_names(attributes: Any) -> bool:
    return _lists(attributes, dict) and all(
        isinstance(attribute.get("name"), str)
        and isinstance(attribute.get("labels", []), list)
        and ("size" in attribute) != ("labels" in attribute)
        for attribute in attributes
    )


def _has_cliques(weighted: Any) -> bool:
    return _lists(weighted, list) and all(len(entry) == 2 and _lists(entry[0], int) for entry in weighted)


def plain(value: Any, place: str) -> Any:
    """The value in what JSON has: text, numbers, truth values, nothing, lists and entries.

    >>> plain({"seed": np.int64(3)}, "the terms")
    {'seed': 3}
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and isfinite(value):
        return float(value)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(item, f"{place}, {key!r}") for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(item, place) for item in value]
    shown = repr(value) if isinstance(value, Real) else f"a {type(value).__name__}"
    raise ReleaseError(f"Expected text, finite numbers or lists in {place}, got {shown}.")


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    return {key: _tuples(item) for key, item in value.items()} if isinstance(value, dict) else value


def _label(label: Any) -> Any:
    if isinstance(label, Decimal):
        return {"decimal": str(label)}
    if isinstance(label, Real) and not isfinite(label):
        return {"float": str(float(label))}
    return plain(label, "the labels")


def _unmarked(label: Any) -> Any:
    if not isinstance(label, dict):
        return label
    try:
        ((mark, text),) = label.items()
        return _MARKED[mark](text)
    except (KeyError, ValueError, TypeError, ArithmeticError):
        raise ReleaseError(f"Expected plain labels, got {_shown(label)}.") from None


def _lists(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _take(content: Mapping[str, Any], key: str, right: Callable[[Any], bool], expected: str) -> Any:
    value = content.get(key)
    if not right(value):
        raise ReleaseError(f'Expected {expected} as "{key}", got {_shown(value)}.')
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(text)
    return number


def _checksum(content: Mapping[str, Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
