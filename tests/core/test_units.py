import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum import Domain, DomainError
from residuum.core.units import Unit


class TestValues:
    @pytest.mark.parametrize(
        ("unit", "values"),
        [
            (Unit("category"), None),
            (Unit("category", missing=3), None),
            (Unit("boolean"), 2),
            (Unit("integer", (0, 20, 40), 99), 3),
            (Unit("integer", (7,), 7), 1),
            (Unit("real", (-0.5, 0), 1e300), 2),
            (Unit("date", ("2024-01-01", "2024-02-01"), "2024-02-29", form="%d/%m/%Y"), 2),
            (Unit("datetime", ("2024-01-01 00:00",), "2024-01-01 23:59"), 1),
            (Unit("time", ("00:00", "12:00"), "23:59", without=("11:11",)), 2),
        ],
    )
    def test_how_many_codes_have_a_value(self, unit, values):
        assert unit.values == values


class TestNumbers:
    @pytest.mark.parametrize(
        ("unit", "given", "numbers"),
        [
            (Unit("integer", (0,), 9), (3, -(2**53), np.int64(4)), [3, -(2**53), 4]),
            (Unit("real", (0,), 9), (3, 0.5, np.float32(0.25)), [3.0, 0.5, 0.25]),
            (Unit("date", ("2000-01-01",), "2000-12-31"), ("1970-01-01", "1969-12-31", "2000-03-01"), [0, -1, 11017]),
            (Unit("datetime", ("2000-01-01",), "2000-12-31"), ("1970-01-02 01:01", "1969-12-31 23:59"), [1501, -1]),
            (Unit("time", ("00:00",), "23:59"), ("00:00", "13:05"), [0, 785]),
            (Unit("boolean"), (), []),
        ],
    )  # fmt: skip
    def test_days_since_1970_and_minutes(self, unit, given, numbers):
        assert unit.numbers(given) == numbers

    @given(st.dates())
    def test_days_are_those_of_numpy(self, day):
        assert Unit("date", ("2000-01-01",), "2000-12-31").numbers((str(day),)) == [np.datetime64(day, "D").astype(int)]

    @given(st.datetimes())
    def test_minutes_are_those_of_numpy(self, moment):
        unit = Unit("datetime", ("2000-01-01 00:00",), "2000-12-31 00:00")
        text = moment.isoformat(" ", "minutes")
        assert unit.numbers((text,)) == [np.datetime64(moment, "m").astype(int)]

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            ("integer", 1.0), ("integer", True), ("integer", "1"), ("integer", None), ("integer", 2**53 + 1),
            ("real", True), ("real", "1"), ("real", float("nan")), ("real", float("inf")),
            ("real", 10**400), ("real", 1j),
            ("date", "2024-02-30"), ("date", "2024-01-01 13:00"), ("date", 5), ("date", ""),
            ("datetime", "13:00"), ("datetime", "2024-01-01 13:00:01"), ("datetime", "2024-01-01 13:00+01:00"),
            ("time", "24:30"), ("time", "13:00:30"), ("time", "13:00Z"), ("time", 780), ("time", "noon"),
        ],
    )  # fmt: skip
    def test_other_values_are_refused(self, kind, value):
        good = {
            "integer": 0, "real": 0.0, "date": "2024-01-01", "datetime": "2024-01-01 00:00", "time": "00:00",
        }[kind]  # fmt: skip
        for build in (
            lambda: Unit(kind, (good,), good).numbers((value,)),
            lambda: Unit(kind, (value,), good),
            lambda: Unit(kind, (good,), value) if value is not None else Unit(kind, (value,), good),
            lambda: Unit(kind, (good,), good, without=(value,)),
        ):
            with pytest.raises(DomainError, match=f"Expected values of kind {kind} in a unit, got "):
                build()

    def test_a_message_shows_a_few_values_only(self):
        with pytest.raises(DomainError, match=r"got 'a', 'b', 'c' and more\."):
            Unit("integer", ("a", "b", "c", "d"), 9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "number"}, "Expected a unit of kind category, boolean, integer, .*, got 'number'"),
        ({"kind": None}, "Expected a unit of kind"),
        ({"kind": "integer"}, "Expected values in a unit of kind integer"),
        ({"kind": "integer", "starts": (0,)}, "Expected values in"),
        ({"kind": "integer", "last": 5}, "Expected values in"),
        ({"kind": "integer", "starts": [0], "last": 5}, "Expected values in"),
        ({"kind": "integer", "starts": (0,), "last": 5, "without": [1]}, "Expected values in"),
        ({"kind": "boolean", "starts": (0,), "last": 5}, "Expected no values in a unit of kind boolean"),
        ({"kind": "category", "starts": ("a",)}, "Expected no values in"),
        ({"kind": "category", "last": 5}, "Expected no values in"),
        ({"kind": "category", "without": (5,)}, "Expected values of kind category in a unit, got 5"),
        ({"kind": "integer", "starts": (0, 0), "last": 5}, "Expected ascending values, not too far apart"),
        ({"kind": "integer", "starts": (0, 7), "last": 5}, "Expected ascending"),
        ({"kind": "real", "starts": (-1e308,), "last": 1e308}, "not too far apart, in a unit of kind real"),
        ({"kind": "date", "starts": ("2024-02-01", "2024-01-01"), "last": "2024-12-31"}, "Expected ascending"),
        ({"kind": "time", "starts": ("12:00",), "last": "11:59"}, "Expected ascending"),
        ({"kind": "integer", "starts": (0,), "last": 5, "form": "%d"}, "Expected no form, .*, got '%d'"),
        ({"kind": "date", "starts": ("2024-01-01",), "last": "2024-12-31", "form": 5}, "Expected no form, .*, got 5"),
        ({"kind": "boolean", "missing": 2}, "Expected no code of missing values, or one of a category, got 2"),
        ({"kind": "category", "missing": -1}, "Expected no code of missing values"),
        ({"kind": "category", "missing": True}, "Expected no code of missing values"),
        ({"kind": "category", "missing": 1.0}, "Expected no code of missing values"),
    ],
)
def test_units_that_make_no_sense(arguments, message):
    with pytest.raises(DomainError, match=message):
        Unit(**arguments)


@pytest.mark.parametrize("unit", [Unit("integer", (0, 1, 2), 9), Unit("category", missing=2)])
def test_a_unit_has_no_more_codes_than_its_attribute(unit):
    assert Domain({"x": 3}, {"x": unit}).units == (unit,)
    with pytest.raises(DomainError, match="The unit of attribute 'x' has more codes than the attribute, which has 2"):
        Domain({"x": 2}, {"x": unit})
