import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest

from residuum import Schema, SourceError, read
from residuum.data.sources.parts import identified, of_people, tables
from tests.data.sparks import PEOPLE, ROWS, people

TEXTS = Schema.parse(
    """
    leave_out: [who]
    columns:
      age: {kind: integer, min: 0, max: 99, bins: 5, outside: own}
      score: {kind: real, min: 0, max: 1, cuts: [0.1, 0.7]}
      sex: {kind: categorical, values: [f, m, 3, true], aliases: {female: f}}
      day: {kind: date, min: 2020-01-01, max: 2020-12-31, granularity: month}
      flag: {kind: boolean, missing: {as: "false"}}
    """
)


def as_texts(table):
    """The same as texts, with gaps; large ones in one column."""
    texts = table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))
    gaps = pa.array(np.arange(len(table)) % 11 == 0)
    columns = {name: pa.compute.if_else(gaps, None, texts[name]) for name in texts.column_names}
    return pa.table(columns | {"sex": columns["sex"].cast(pa.large_string())})


@pytest.mark.parametrize("size", [7, 100, 5000])
@pytest.mark.parametrize(("schema", "texts"), [(ROWS, False), (ROWS, True), (TEXTS, True)])
def test_parts_have_the_codes_of_the_whole(size, schema, texts):
    table = as_texts(people(2000)) if texts else people(2000)
    whole = read(table, schema).columns
    needed = table.select([*schema.columns])
    found = tables((needed.slice(start, size) for start in range(0, 2000, size)), schema)
    np.testing.assert_array_equal(np.concatenate([part.columns for part in found], axis=1), whole)


@pytest.mark.parametrize("size", [300, 5000])
def test_people_keep_the_same_rows(size):
    table = people(2000)
    batches = [part for start in range(0, 2000, size) for part in identified([table.slice(start, size)], PEOPLE)]
    (found,) = of_people((batch.slice(k, 50) for batch in batches for k in range(0, len(batch), 50)), PEOPLE)
    assert sorted(map(tuple, found.columns.T)) == sorted(map(tuple, read(table, PEOPLE).columns.T))


def test_no_rows():
    assert list(of_people(iter(()), PEOPLE)) == []
    (table,) = tables([people(0).select([*ROWS.columns])], ROWS)
    assert table.columns.shape == (5, 0)


@pytest.mark.parametrize("cells", [["a"] * 20 + [None], [None, "a"]])
def test_an_error_is_one_only_where_there_is_such_a_cell(cells):
    schema = Schema.parse("columns: {x: {kind: categorical, values: [a, b], missing: error}}")
    list(tables([pa.table({"x": ["a"] * 20})], schema))
    with pytest.raises(SourceError, match="A value of column 'x' is missing"):
        list(tables([pa.table({"x": cells})], schema))
