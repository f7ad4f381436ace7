import pytest

from residuum import Schema, load, read
from tests.cli import people
from tests.data import sparks

pytestmark = sparks.needs_spark


@pytest.mark.usefixtures("spark")
def test_a_release_counted_by_spark_is_that_of_this_machine(tmp_path):
    place = people.write(tmp_path)
    common = ("release", place.people, "--schema", place.schema, "--rho", "1", "--seed", "1")
    made = [tmp_path / "here", tmp_path / "there"]
    for folder, engine in zip(made, ([], ["--engine", "spark", "--master", "local[2]"]), strict=True):
        assert people.run(*common, "-o", folder, *engine).exit_code == 0
    here, there = map(load, made)
    assert here.lineage == there.lineage
    assert here.schema == there.schema
    assert read(place.people, Schema.load(place.schema)).domain == there.domain


@pytest.fixture
def spark():
    with sparks.session("local[2]") as session:
        yield session
