"""Thousands of files that nobody would write: each is taken, or refused with a line. No traceback, no hang."""

import copy
import json
import shutil
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from residuum import Domain, ResiduumError, Schema, Workload, load, read
from residuum.data import cliques
from tests.cli import people
from tests.cli.people import run

SLOW = 10_000
"""Milliseconds that no case may take."""

DOMAIN = Domain({"sex": 3, "age": 6, "pet": ["cat", "dog"], "007": 2})


def cases(count):
    return settings(
        max_examples=count,
        deadline=SLOW,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


names = st.sampled_from(["sex", "age", "pet", "007", "nobody", "", "all"])
scalars = st.one_of(
    names,
    st.integers(-3, 9),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(max_size=8),
    st.sampled_from(["1e400", "-0"]),
)
nested = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names | st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
known = st.lists(st.sampled_from(DOMAIN.names), min_size=1, max_size=3, unique=True)
sound_entries = st.one_of(
    known,
    st.fixed_dictionaries({"columns": known}, optional={"weight": st.integers(1, 9)}),
    st.fixed_dictionaries({"all": st.just(1)}, optional={"of": known, "weight": st.floats(0.1, 9)}),
)
entries = st.one_of(
    sound_entries,
    st.lists(names, max_size=5),
    st.fixed_dictionaries({"columns": st.lists(names, max_size=5) | nested}, optional={"weight": scalars}),
    st.fixed_dictionaries({"all": scalars}, optional={"of": st.lists(names) | nested, "weight": scalars}),
    nested,
)
yaml_marks = st.text(st.sampled_from("[]{}:,-&*!|>'\"#%@`? \n\tab07\0é"), max_size=40)


def answered(make):
    """What was made of a text, or None where it was refused. Any other error is a bug."""
    try:
        return make()
    except ResiduumError:
        return None


@cases(1500)
@given(st.lists(entries, max_size=3).map(json.dumps) | nested.map(json.dumps) | yaml_marks)
def test_files_of_cliques(text):
    workload = answered(lambda: cliques.parse(text, DOMAIN))
    assert workload is None or (isinstance(workload, Workload) and workload.targets)


@cases(300)
@given(st.lists(sound_entries, min_size=1, max_size=4))
def test_files_of_cliques_that_are_sound_are_taken(entries):
    assert cliques.parse(json.dumps(entries), DOMAIN).targets


SOUND = {
    "version": 1,
    "confirmed": True,
    "person": {"id": "who", "rows": 2},
    "leave_out": ["note"],
    "missing_tokens": ["", "?"],
    "strip": True,
    "csv": {"delimiter": ";", "quote": "'", "encoding": "latin-1"},
    "columns": {
        "sex": {"kind": "categorical", "values": ["f", "m"], "aliases": {"F": "f"}, "missing": {"as": "f"}},
        "ill": {"kind": "boolean", "missing": "own", "outside": "own"},
        "age": {"kind": "integer", "min": 0, "max": 99, "bins": 5, "outside": "clamp"},
        "pay": {"kind": "real", "min": -1.5, "max": 9, "cuts": [0, 0.5], "outside": {"as": "odd"}},
        "day": {"kind": "date", "min": "2020-01-01", "max": "2021-12-31", "granularity": "week", "format": "%d/%m/%Y"},
        "hour": {"kind": "time", "granularity": "half-hour", "missing": "error"},
    },
}
words = st.sampled_from(
    ["own", "missing", "clamp", "error", "year", "minute", "integer", "real", "date", "row", "1e99"]
)


def places(part, path=()):
    """Every place in a schema."""
    yield path
    for key, inner in part.items() if isinstance(part, dict) else ():
        yield from places(inner, (*path, key))


@st.composite
def schemas(draw):
    """A sound schema in which a few things were taken out, added or replaced."""
    schema = copy.deepcopy(SOUND)
    for path in draw(st.lists(st.sampled_from([*places(SOUND)][1:]), max_size=3)):
        part = schema
        for step in path[:-1]:
            part = part.get(step, {}) if isinstance(part, dict) else {}
        if not isinstance(part, dict):
            continue
        what = draw(st.sampled_from(["out", "other", "other", "more"]))
        if what == "out":
            part.pop(path[-1], None)
        else:
            name = path[-1] if what == "other" else draw(names | words | st.sampled_from(["min", "bins", "cuts"]))
            part[name] = draw(words | nested)
    return schema


@cases(500)
@given(nested.map(json.dumps) | yaml_marks)
def test_texts_that_are_no_schema(text):
    assert answered(lambda: Schema.parse(text)) is None


@cases(1000)
@given(schemas().map(json.dumps))
def test_schema_files(text):
    schema = answered(lambda: Schema.parse(text))
    if schema is not None:
        assert min(schema.domain.sizes) >= 2
        assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return people.write(tmp_path_factory.mktemp("people"))


cells = st.lists(
    st.sampled_from(["male", "1", "", '"', "'", ",", ";", "\t", "|", "\n", "\r", "\r\n", "\0", "é", "?", " "])
)


@cases(300)
@given(
    st.just("sex,age,pet,note\n") | st.just("") | st.just("sex;age;pet;note\r\n"),
    cells.map("".join),
    st.sampled_from(["utf-8", "latin-1", "utf-16"]),
    st.fixed_dictionaries(
        {},
        optional={
            "delimiter": st.sampled_from([",", ";", "\t", "|", "a", " ", '"', "é", "\0", "\\", "'"]),
            "quote": st.sampled_from(['"', "'", ",", "\\", "x"]),
            "encoding": st.sampled_from(["utf-8", "latin-1", "utf-16", "utf-7"]),
        },
    ),
)
def test_csv_files_and_how_they_are_read(place, head, body, encoding, options):
    path = place.folder / "odd.csv"
    path.write_bytes((head + body).encode(encoding))
    schema = answered(lambda: Schema.parse(people.SCHEMA + f"csv: {json.dumps(options)}\n"))
    if schema is not None:
        table = answered(lambda: read(path, schema))
        assert table is None or len(table.columns) == 3


@pytest.fixture(scope="module")
def release(place):
    folder = place.folder / "release"
    assert run("release", place.people, "--schema", place.schema, "--rho", "1", "-o", folder).exit_code == 0
    return folder


def opened(folder):
    """All there is in a release, or None."""
    found = answered(lambda: load(folder))
    return found and answered(lambda: [found.marginal(gamma, "mle") for gamma in found.workload.closure])


@cases(400)
@given(
    st.sampled_from(["manifest.json", "residuals.arrow", "spends.arrow", "values.arrow"]),
    st.floats(0, 1, exclude_max=True),
    st.binary(min_size=1, max_size=12),
    st.sampled_from(["change", "insert", "cut"]),
)
def test_release_folders_that_were_damaged(release, place, file, where, content, harm):
    folder = place.folder / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(release, folder)
    before = (folder / file).read_bytes()
    at = int(where * len(before))
    after = (
        before[:at]
        + {"change": content + before[at + len(content) :], "insert": content + before[at:], "cut": b""}[harm]
    )
    (folder / file).write_bytes(after)
    assert (
        opened(folder) is None or after == before or file == "values.arrow" or json.loads(after) == json.loads(before)
    )


@cases(500)
@given(st.sampled_from(["version", "rho", "provenance", "lineage", "schema", "domain", "workload", "files"]), nested)
def test_manifests_that_were_forged(release, place, key, value):
    """The checksum is right, and what it protects makes no sense."""
    folder = place.folder / "forged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(release, folder)
    content = json.loads((folder / "manifest.json").read_text())
    content[key] = value
    del content["sha256"]
    content["sha256"] = sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(content))
    opened(folder)


@cases(120)
@given(
    st.dictionaries(
        st.sampled_from(
            ["mechanism", "epsilon", "delta", "rho", "rounds", "software", "neighbours", "rows_per_person"]
        ),
        nested,
    ),
    st.none() | st.dictionaries(st.text(max_size=4) | st.just("confirmed"), nested, max_size=2),
    st.lists(scalars, max_size=2),
)
def test_what_a_foreign_release_says_of_itself_is_shown_or_refused(release, place, provenance, schema, caveats):
    folder = place.folder / "foreign"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(release, folder)
    content = json.loads((folder / "manifest.json").read_text())
    content |= {"provenance": {**content["provenance"], **provenance, "caveats": caveats}, "schema": schema}
    del content["sha256"]
    content["sha256"] = sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(content))
    raw = ("query", folder, "sex", "--estimate", "mle")
    for command in (("info", folder), raw, (*raw, "--format", "json")):
        result = run(*command)
        assert result.exit_code in (0, 2)
        assert "\x1b" not in result.stdout + result.stderr


@cases(150)
@given(st.lists(entries, min_size=1, max_size=3).map(json.dumps) | yaml_marks)
def test_cliques_on_the_command_line(place, text):
    path = place.folder / "cliques.yaml"
    path.write_text(text, encoding="utf-8")
    options = ("--schema", place.schema, "--rho", "1", "--workload", path, "-o", place.folder / "none", "--dry-run")
    result = run("release", place.people, *options)
    assert result.exit_code in (0, 2)
    assert result.stderr.count("\n") == (result.exit_code == 2)
