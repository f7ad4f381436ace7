"""What a release says of how its table was read, and how a run that died finds its table again."""

import json
from dataclasses import replace

import numpy as np
import pytest

import residuum
from residuum import ReleaseError, ResiduumError, Schema, Table, Workload, aim, read, residual_planner, resume
from residuum.data.counts import Counts
from residuum.data.origin import Origin
from residuum.mechanism.journal import Journal

SCHEMA = Schema.parse("""
confirmed: true
person: {id: who, rows: 2}
columns:
  age: {kind: integer, min: 0, max: 9, bins: 5}
  sex: {kind: categorical, values: [female, male]}
""")


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{i},{rng.integers(10)},{rng.choice(['female', 'male'])}" for i in range(300)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["who,age,sex", *rows, ""]))
    return path


def died(report):
    if report.rounds:
        raise KeyboardInterrupt


def interrupted(table, folder, **others):
    workload = Workload.all_kway(table.domain, 2)
    with pytest.raises(KeyboardInterrupt):
        aim(table, workload, rho=1.0, rows_per_person=2, output=folder, progress=died, **others)


@pytest.mark.parametrize("mechanism", [aim, residual_planner])
def test_a_release_and_its_folder_say_how_the_table_was_read(people, tmp_path, mechanism):
    table = read(people, SCHEMA)
    release = mechanism(
        table, Workload.all_kway(table.domain, 2), rho=1.0, rows_per_person=2, output=tmp_path / "release"
    )
    assert release.schema == SCHEMA.to_dict()
    assert Schema.from_dict(residuum.load(tmp_path / "release").schema) == SCHEMA


def test_neither_path_nor_query_is_in_the_release(people, tmp_path):
    table = read(people, SCHEMA)
    aim(table, Workload.all_kway(table.domain, 2), rho=1.0, rows_per_person=2, output=tmp_path / "release")
    assert str(people) not in (tmp_path / "release/manifest.json").read_text()


def test_counts_carry_the_origin_of_their_table(people):
    table = read(people, SCHEMA)
    assert Counts(table, Workload.all_kway(table.domain, 2)).origin == table.origin


def test_a_table_of_codes_has_no_origin():
    table = Table.from_codes([[0, 1]], SCHEMA.domain)
    assert table.origin is None
    assert aim(table, Workload.all_kway(table.domain, 1), rho=1.0).schema is None


def test_too_few_rows_per_person_are_refused_before_anything_is_written(people, tmp_path):
    table = read(people, SCHEMA)
    with pytest.raises(ResiduumError, match="rows_per_person=2"):
        aim(table, Workload.all_kway(table.domain, 2), rho=1.0, output=tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_a_run_finds_its_table_again(people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    interrupted(read("people.csv", SCHEMA), tmp_path / "run", seed=3)
    monkeypatch.chdir("/")
    release = resume(tmp_path / "run")
    assert release.schema == SCHEMA.to_dict()
    whole = aim(
        read(people, SCHEMA), Workload.all_kway(SCHEMA.domain, 2), rho=1.0, rows_per_person=2, seed=3, progress=False
    )
    assert np.array_equal(release.marginal((0, 1), "mle").values, whole.marginal((0, 1), "mle").values)


def test_a_table_that_moved_is_read_from_its_new_place(people, tmp_path):
    interrupted(read(people, SCHEMA), tmp_path / "run")
    people.rename(tmp_path / "moved.csv")
    with pytest.raises(residuum.SourceError, match=r"No file at '.*people.csv'"):
        resume(tmp_path / "run")
    assert resume(tmp_path / "run", tmp_path / "moved.csv").schema == SCHEMA.to_dict()


def test_a_table_that_was_no_file_must_be_given(people, tmp_path):
    table = read(people, SCHEMA)
    interrupted(replace(table, origin=Origin(SCHEMA.to_dict())), tmp_path / "run")
    with pytest.raises(ReleaseError, match="Give the same table again"):
        resume(tmp_path / "run")
    assert resume(tmp_path / "run", table).schema == SCHEMA.to_dict()


def test_the_start_of_a_journal_is_plain(people, tmp_path):
    interrupted(read(people, SCHEMA), tmp_path / "run")
    journal, start = Journal.open(tmp_path / "run")
    journal.close()
    assert start["origin"] == {"schema": SCHEMA.to_dict(), "path": str(people), "query": None}
    assert json.dumps(str(people)).encode() in (tmp_path / "run/journal").read_bytes()
