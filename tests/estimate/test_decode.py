from datetime import date, datetime, time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyarrow import csv

from residuum import Domain, DomainError, Schema, read
from residuum.core.units import Unit
from residuum.estimate.decode import Grid, decode, labelled

COPIES = 60
COLUMNS = {
    "boolean": {"kind": "boolean"},
    "integer": {"kind": "integer", "min": -2, "max": 4},
    "integers in bins": {"kind": "integer", "min": 0, "max": 99, "bins": 7},
    "integers cut": {"kind": "integer", "min": -(2**53), "max": 2**53, "cuts": [-1, 0, 1, 1000]},
    "integers without some": {"kind": "integer", "min": -10, "max": 10, "cuts": [-4, 0, 2, 5]},
    "real in bins": {"kind": "real", "min": 0, "max": 1, "bins": 9},
    "real cut": {"kind": "real", "min": -1.5, "max": 1e6, "cuts": [-1, 0, 1e-9, 0.1, 0.3, 1000]},
    "large reals": {"kind": "real", "min": -1e300, "max": 1e300, "cuts": [0, 1e-300, 1e200]},
    "narrow reals": {"kind": "real", "min": 1, "max": 1.0000000000000009, "bins": 3},
    "category": {"kind": "categorical", "values": ["f", "NA", "007", "1.5", "x,y", 'say "a"', "yes"]},
    "category with others": {"kind": "categorical", "values": ["f", "m"], "outside": "own"},
    "category that is missing": {"kind": "categorical", "values": ["f", "m"], "missing": {"as": "m"}},
    "category called unknown": {"kind": "categorical", "values": ["f", "m"], "missing": {"as": "unknown"}},
    "year": {"kind": "date", "min": "1890-05-01", "max": "2024-02-29", "granularity": "year"},
    "quarter": {"kind": "date", "min": "2019-12-28", "max": "2021-01-06", "granularity": "quarter"},
    "month": {"kind": "date", "min": "2019-12-28", "max": "2021-01-06", "granularity": "month"},
    "week": {"kind": "date", "min": "2019-12-28", "max": "2020-03-06", "granularity": "week"},
    "day": {"kind": "date", "min": "2019-12-28", "max": "2020-03-06", "granularity": "day"},
    "the last month": {"kind": "date", "min": "9999-11-05", "max": "9999-12-31", "granularity": "month"},
    "day as text": {
        "kind": "date", "min": "2019-12-28", "max": "2020-03-06", "granularity": "week", "format": "%d/%m/%Y",
    },
    "hour of a day": {"kind": "date", "min": "2020-02-28", "max": "2020-03-01", "granularity": "hour"},
    "hour of a day as text": {
        "kind": "date", "min": "2020-02-28", "max": "2020-03-01", "granularity": "hour", "format": "%d %b %Y, %H:%M",
    },
    "hour": {"kind": "time", "granularity": "hour"},
    "quarter of an hour": {"kind": "time", "granularity": "quarter-hour"},
    "minute": {"kind": "time", "granularity": "minute"},
    "hour as text": {"kind": "time", "granularity": "half-hour", "format": "%I:%M %p"},
}  # fmt: skip
WITH_TOKENS = (
    "boolean", "integers in bins", "integers without some", "real in bins", "real cut", "category", "month", "week",
    "day as text", "hour of a day", "hour", "quarter of an hour", "hour as text",
)  # fmt: skip
TOKENS = [
    "",
    "?",
    "NA",
    "0",
    "-7",
    "3",
    "3.0",
    "0.2",
    "2020-01-01",
    "2020-02-29 13:15",
    "01/01/2020",
    "12:15",
    "11:45 AM",
]


def schema_of(tokens, **columns):
    return Schema.from_dict({"columns": columns, "missing_tokens": tokens})


def every_code(schema, copies=COPIES, shuffled=0):
    """Codes of all attributes, each many times, in random order."""
    rng = np.random.default_rng(shuffled)
    n = copies * max(schema.domain.sizes)
    return np.column_stack([rng.permutation(np.resize(np.arange(size), n)) for size in schema.domain.sizes])


def decoded(unit, codes, size=None, seed=0):
    """What the codes of a column become."""
    domain = Domain({"x": size or max(2, unit.values + 1)}, {"x": unit})
    return decode(np.array(codes)[:, None], domain, np.random.default_rng(seed)).column("x").to_pylist()


class TestReadAgain:
    @pytest.mark.parametrize("name", COLUMNS)
    def test_a_value_has_the_code_that_it_was_made_from(self, name):
        schema = schema_of(["", "?"], x=COLUMNS[name])
        codes = every_code(schema, copies=25)
        rows = decode(codes, schema.domain, np.random.default_rng(1))
        np.testing.assert_array_equal(read(rows, schema).columns.T, codes)

    def test_and_in_a_file(self, tmp_path):
        schema = schema_of(["", "?"], **{name: keys for name, keys in COLUMNS.items() if name != "minute"})
        codes = every_code(schema, copies=3)
        csv.write_csv(decode(codes, schema.domain, np.random.default_rng(1)), tmp_path / "rows.csv")
        np.testing.assert_array_equal(read(tmp_path / "rows.csv", schema).columns.T, codes)

    @pytest.mark.parametrize("name", WITH_TOKENS)
    def test_no_value_is_one_that_means_a_missing_one(self, name, tmp_path):
        schema = schema_of(TOKENS, x=COLUMNS[name])
        codes = every_code(schema, copies=200 if schema.domain.sizes[0] < 30 else 40)
        rows = decode(codes, schema.domain, np.random.default_rng(1))
        np.testing.assert_array_equal(read(rows, schema).columns.T, codes)
        csv.write_csv(rows, tmp_path / "rows.csv")
        np.testing.assert_array_equal(read(tmp_path / "rows.csv", schema).columns.T, codes)

    def test_a_code_that_is_only_missing_values_has_those(self):
        schema = schema_of(["3"], x={"kind": "integer", "min": 2, "max": 4})
        rows = decode([[0], [1], [2]], schema.domain, np.random.default_rng(0))
        assert rows.column("x").to_pylist() == [2, 3, 4]

    def test_codes_without_a_value_are_empty_cells(self):
        schema = schema_of(
            ["?"], **{name: {**COLUMNS[name], "outside": "own"} for name in ("hour", "real cut", "boolean")}
        )
        last = np.array(schema.domain.sizes) - 1
        rows = decode([last, last - 1, last - 2], schema.domain, np.random.default_rng(0))
        for column in rows.columns:
            assert [value is None for value in column.to_pylist()] == [True, True, False]


class TestTypes:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("boolean", pa.bool_()), ("integers in bins", pa.int64()), ("real cut", pa.float64()),
            ("category", pa.string()), ("week", pa.date32()), ("hour of a day", pa.timestamp("s")),
            ("hour", pa.time32("s")), ("day as text", pa.string()), ("hour as text", pa.string()),
        ],
    )  # fmt: skip
    def test_columns_have_the_type_of_their_values(self, name, expected):
        schema = schema_of(["?"], x=COLUMNS[name])
        for codes in (every_code(schema, copies=1), np.empty((0, 1), dtype=int)):
            assert decode(codes, schema.domain, np.random.default_rng(0)).schema.field("x").type == expected

    def test_single_values(self):
        assert decoded(Unit("boolean"), [0, 1, 2], size=3) == [False, True, None]
        assert decoded(Unit("date", ("2024-02-29",), "2024-02-29"), [0, 1]) == [date(2024, 2, 29), None]
        assert decoded(Unit("time", ("13:05",), "13:05"), [0, 1]) == [time(13, 5), None]
        moment = Unit("datetime", ("1969-12-31 23:59",), "1969-12-31 23:59")
        assert decoded(moment, [0, 1]) == [datetime(1969, 12, 31, 23, 59), None]
        day = Unit("date", ("2024-02-03",), "2024-02-03", form="%-d. %B %y")
        assert decoded(day, [0, 1]) == ["3. February 24", None]

    def test_labels_and_codes_where_there_is_no_unit(self):
        domain = Domain({"a": ["x", "y"], "b": 3, "c": ["u", "v", None]}, {"c": Unit("category", missing=1)})
        rows = decode([[0, 2, 0], [1, 0, 1], [1, 1, 2]], domain, np.random.default_rng(0))
        assert rows.to_pydict() == {"a": ["x", "y", "y"], "b": [2, 0, 1], "c": ["u", None, None]}


class TestAllAlike:
    @pytest.mark.parametrize(
        ("unit", "expected"),
        [
            (Unit("integer", (0, 10), 12), [range(10), range(10, 13)]),
            (Unit("integer", (0, 5), 9, without=(0, 2, 9)), [[1, 3, 4], [5, 6, 7, 8]]),
            (Unit("integer", (0, 5), 9, without=(3, 3, 4, 77, -1)), [[0, 1, 2], range(5, 10)]),
            (Unit("integer", (0, 2), 4, without=(0, 1)), [[0, 1], [2, 3, 4]]),
        ],
    )
    def test_every_number_of_a_code_comes_as_often(self, unit, expected):
        for code, numbers in enumerate(expected):
            found, counts = np.unique(decoded(unit, [code] * 3000), return_counts=True)
            assert found.tolist() == list(numbers)
            mean = 3000 / len(found)
            assert (np.abs(counts - mean) < 5 * np.sqrt(mean)).all()

    def test_real_numbers_are_spread_over_their_bin(self):
        found = np.array(decoded(Unit("real", (0.0, 2.0), 10.0, without=(2.0,)), [1] * 5000))
        assert 2.0 < found.min() < 2.1
        assert 9.9 < found.max() <= 10.0
        assert found.mean() == pytest.approx(6, abs=0.2)
        assert len(np.unique(found)) > 1000

    def test_real_numbers_have_few_digits(self):
        found = decoded(Unit("real", (0.0, 0.5), 1.0), [0, 1] * 200)
        assert max(len(repr(number)) for number in found) <= len("0.12345")

    def test_the_same_seed_the_same_rows(self):
        unit = Unit("integer", (0,), 1000)
        assert decoded(unit, [0] * 50, seed=1) == decoded(unit, [0] * 50, seed=1) != decoded(unit, [0] * 50, seed=2)


BOUNDS = st.floats(-1e300, 1e300, allow_subnormal=False) | st.floats(-1e-15, 1e-15, allow_subnormal=False)


@given(st.lists(BOUNDS, min_size=2, max_size=5, unique=True), st.lists(BOUNDS, max_size=2), st.integers(0, 2**32))
def test_real_numbers_are_in_their_bin(bounds, without, seed):
    *starts, last = sorted(bounds)
    assume(np.isfinite(last - starts[0]))
    codes = np.repeat(np.arange(len(starts)), 20)
    numbers = np.array(decoded(Unit("real", tuple(starts), last, tuple(without)), codes, seed=seed))
    np.testing.assert_array_equal(np.searchsorted(starts[1:], numbers, side="right"), codes)
    assert numbers.min() >= starts[0]
    assert numbers.max() <= last


class Least:
    """Draws the least of what is possible."""

    def integers(self, low, high, endpoint):
        assert endpoint
        assert (low <= high).all()
        return low


class Greatest:
    """Draws the greatest of what is possible."""

    def integers(self, low, high, endpoint):
        assert endpoint
        assert (low <= high).all()
        return high


@pytest.mark.parametrize("first", [1, 3, 7, -5])
@pytest.mark.parametrize("rng", [Least(), Greatest()])
def test_rounding_takes_no_number_out_of_its_bin(rng, first):
    """The bounds are decimal numbers, so that some of them can come up themselves."""
    for exponent in range(-300, 16):
        *starts, last = (float(f"{first + k}e{exponent}") for k in range(6))
        column = decode(np.arange(5)[:, None], Domain({"x": 5}, {"x": Unit("real", tuple(starts), last)}), rng)
        numbers = column.column("x").to_numpy()
        assert np.searchsorted(starts[1:], numbers, side="right").tolist() == [0, 1, 2, 3, 4], exponent
        assert starts[0] <= numbers[0] <= numbers[4] <= last


def test_the_bounds_of_all_can_come_up():
    domain = Domain({"x": 2}, {"x": Unit("real", (-1.0, 0.0), 2.0)})
    found = [decode([[0], [1]], domain, rng).column("x").to_pylist() for rng in (Least(), Greatest())]
    assert found == [[-1, 0], [-0.001, 2]]


@st.composite
def units(draw):
    """Whole numbers in bins, some of them never there."""
    *starts, last = sorted(draw(st.lists(st.integers(-30, 30), min_size=2, max_size=6, unique=True)))
    without = draw(st.lists(st.integers(-35, 35), max_size=20))
    return Unit("integer", tuple(starts), last, tuple(without))


@given(units(), st.integers(0, 2**32))
def test_whole_numbers_are_in_their_bin_and_not_among_those_never_there(unit, seed):
    for code, low in enumerate(unit.starts):
        high = unit.starts[code + 1] - 1 if code + 1 < unit.values else unit.last
        possible = set(range(low, high + 1)) - set(unit.without) or set(range(low, high + 1))
        assert set(decoded(unit, [code] * 30, seed=seed)) <= possible


def test_a_grid_of_single_numbers_needs_no_chance():
    grid = Grid.of_whole(Unit("integer", (3, 4, 5), 5))
    assert grid.draw(np.array([2, 0, 1]), None).tolist() == [5, 3, 4]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint64])
def test_codes_of_any_type(dtype):
    """Also of one that cannot hold all codes of the attribute, as long as it holds those there are."""
    domain = Domain({"x": 301}, {"x": Unit("integer", tuple(range(0, 600, 2)), 599)})
    codes = np.array([[0], [5], [100]], dtype=dtype)
    found = decode(codes, domain, np.random.default_rng(0)).column("x").to_pylist()
    assert [number // 2 for number in found] == [0, 5, 100]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([0, 1], "Expected codes with a column for each of the 2 attributes"),
        ([[0], [1]], "Expected codes with a column"),
        ([[0.0, 1.0]], "Expected codes with a column"),
        ([[True, False]], "Expected codes with a column"),
        ([[0, 3]], "Expected codes from 0 to 2 in column 'b', got one outside"),
        ([[-1, 0]], "Expected codes from 0 to 1 in column 'a', got one outside"),
    ],
)
def test_odd_codes(codes, message):
    with pytest.raises(DomainError, match=message):
        decode(codes, Domain({"a": 2, "b": 3}), np.random.default_rng(0))


class TestLabelled:
    @pytest.mark.parametrize(
        ("labels", "expected"),
        [
            (("f", "m"), ["m", "f", "m"]),
            ((1.5, 2), [2.0, 1.5, 2.0]),
            (None, [1, 0, 1]),
            (("f", None), [None, "f", None]),
            (("f", 1), ["1", "f", "1"]),
            (("1", 1), ["1", "'1'", "1"]),
            ((10**30, 1), ["1", str(10**30), "1"]),
        ],
    )
    def test_labels_of_one_kind_keep_it(self, labels, expected):
        assert labelled(pa, labels, np.array([1, 0, 1])).to_pylist() == expected


@settings(max_examples=15)
@given(st.integers(2, 60), st.floats(-1e4, 1e4), st.floats(1e-3, 1e6), st.integers(0, 2**32))
def test_any_bins_of_real_numbers_can_be_read_again(bins, low, width, seed):
    schema = schema_of(["0", "1"], x={"kind": "real", "min": low, "max": low + width, "bins": bins})
    codes = every_code(schema, copies=4, shuffled=seed)
    rows = decode(codes, schema.domain, np.random.default_rng(seed))
    np.testing.assert_array_equal(read(rows, schema).columns.T, codes)
