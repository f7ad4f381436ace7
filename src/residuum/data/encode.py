"""Codes as SQL: what the engine computes from a column of a source, by what a schema says of it.

A source's columns come as texts or with types of their own. The same value must have the same code either way, so a
number with a type is matched as its shortest text, and a text that is not listed is matched as a number.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from residuum.data.calendar import Date, Time
from residuum.data.columns import NUMBER, WHITE, Binned, Boolean, Categorical, Column, Integer, Real, plain
from residuum.data.schema import Schema

INTEGERS = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")} | {
    "INTEGER",
    "UINTEGER",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a source: its identifier in SQL, the engine's type of it, and whether to strip texts.

    `parsed` is the identifier of the number or the time in it, where that has been read already.

    >>> Field('"age"', "BIGINT").number
    'CAST("age" AS DOUBLE)'
    """

    sql: str
    type: str
    strip: bool = True
    parsed: str | None = None

    @property
    def numeric(self) -> bool:
        """Whether the engine holds numbers."""
        return self.type in INTEGERS or self.type in ("DOUBLE", "FLOAT") or self.type.startswith("DECIMAL")

    @property
    def temporal(self) -> bool:
        """Whether the engine holds days, with or without times."""
        return self.type.startswith(("DATE", "TIMESTAMP"))

    @property
    def number(self) -> str:
        """The cell as a number; NULL where it is none. A number of 32 bits is what its shortest text says."""
        if self.numeric:
            inner = f"CAST({self.sql} AS VARCHAR)" if self.type == "FLOAT" else self.sql
            return f"CAST({inner} AS DOUBLE)"
        return f"TRY_CAST({self.text} AS DOUBLE)"

    @property
    def text(self) -> str:
        """The cell as text, whole numbers without a decimal point; NULL where it is empty or NaN. CLEAN is such."""
        if self.type == "CLEAN":
            return self.sql
        text = f"CAST({self.sql} AS VARCHAR)"
        if self.type in INTEGERS or self.temporal:
            return text
        if self.numeric:
            x = self.number
            whole = f"CAST(CAST({x} AS BIGINT) AS VARCHAR)"
            return (
                f"CASE WHEN isnan({x}) THEN NULL WHEN abs({x}) < 1e15 AND {x} = trunc({x}) THEN {whole} "
                f"ELSE CAST({x} AS VARCHAR) END"
            )
        return f"nullif(trim({text}, {literal(WHITE)}), '')" if self.strip else f"nullif({text}, '')"


def literal(text: str) -> str:
    """A text in SQL.

    >>> print(literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name in SQL.

    >>> print(identifier('say "a"'))
    "say ""a""\"
    """
    return '"' + name.replace('"', '""') + '"'


def among(sql: str, values: Iterable[str]) -> str:
    """Whether something is one of some values, given in SQL. The engine would make a join of `IN` and of lists, and a
    join loses the order of the rows.

    >>> among("x", ["1", "2"])
    'CASE x WHEN 1 THEN true WHEN 2 THEN true ELSE false END'
    """
    tests = " ".join(f"WHEN {value} THEN true" for value in values)
    return f"CASE {sql} {tests} ELSE false END" if tests else "false"


def width(size: int) -> str:
    """The smallest type for codes below `size`, and two more that stand for errors.

    >>> width(254), width(255)
    ('UTINYINT', 'USMALLINT')
    """
    return "UTINYINT" if size + 2 <= 2**8 else "USMALLINT" if size + 2 <= 2**16 else "UINTEGER"


def codes(schema: Schema, fields: Mapping[str, Field], relation: str) -> str:
    """The query for the codes of all columns, in order, as c0, c1 and so on; at most k rows of a person."""
    query = rows(schema, fields, relation)
    return query if schema.person == "row" else kept(schema, f"({query})")


def rows(schema: Schema, fields: Mapping[str, Field], relation: str) -> str:
    """The query for the codes of all rows; where a person can have several, with their id as text as `person`.

    Rows without an id are nobody's and are left out. Texts and numbers are read in an inner query, so that each is read
    once.
    """
    inner, outer = [], []
    for i, (name, column) in enumerate(schema.columns.items()):
        read, found = _prepare(column, fields[name], i)
        inner += read
        result = f"CASE WHEN {_missing(column, found, schema)} THEN {column.missing_code} ELSE "
        result += f"coalesce({_value(column, found)}, {column.outside_code}) END"
        outer.append(f"CAST({result} AS {width(len(column.labels))}) AS c{i}")
    if schema.person == "row":
        return f"SELECT {', '.join(outer)} FROM (SELECT {', '.join(inner)} FROM {relation})"
    field = fields[schema.person.id]
    whole = rf"regexp_replace({field.text}, '^([+-]?[0-9]+)\.0+$', '\1')"
    inner.append(f"nullif({whole}, '') AS person")
    somebody = f"person IS NOT NULL AND NOT {among('person', map(literal, schema.missing_tokens))}"
    return f"SELECT {', '.join(outer)}, person FROM (SELECT {', '.join(inner)} FROM {relation}) WHERE {somebody}"


def kept(schema: Schema, relation: str) -> str:
    """The query for the codes that are kept of what `rows` selects: at most k rows of a person.

    Whose rows a person has is told by the id as text. The rows kept are those with the smallest digests of the id and
    their own codes: nobody else's rows, and no order of rows, have a say.
    """
    listing = ", ".join(f"c{i}" for i in range(len(schema.columns)))
    digest = f"md5_number_lower(concat_ws(',', person, {listing}))"
    rank = f"row_number() OVER (PARTITION BY person ORDER BY {digest}, {listing})"
    return f"SELECT {listing} FROM (SELECT * FROM {relation} QUALIFY {rank} <= {schema.rows_per_person})"


def _prepare(column: Column, field: Field, i: int) -> tuple[list[str], Field]:
    """What the inner query reads of a column, and the field it becomes: a text, or a value, or both."""
    text = f"{field.text} AS t{i}"
    if isinstance(column, Categorical | Boolean):
        return [text], Field(f"t{i}", "CLEAN")
    if isinstance(column, Binned):
        typed, value = field.numeric, field.number
    else:
        typed, value = field.temporal, _clock(column, field) if isinstance(column, Time) else _stamp(column, field)
    if typed:
        return [f"{value} AS x{i}"], Field(f"x{i}", field.type, parsed=f"x{i}")
    return [text, f"{value} AS x{i}"], Field(f"t{i}", "CLEAN", parsed=f"x{i}")


def _missing(column: Column, field: Field, schema: Schema) -> str:
    """Whether a cell is missing. A listed value never is, even if it is spelled like a token for missing ones."""
    keys, numbers = (column.keys, column.numbers) if isinstance(column, Categorical | Boolean) else ({}, {})
    tokens = [token for token in schema.missing_tokens if token and token not in keys]
    values = {float(token) for token in tokens if NUMBER.fullmatch(token)} - set(numbers)
    tests = [f"{field.sql} IS NULL"]
    if field.type == "CLEAN":
        tests.append(among(field.sql, map(literal, tokens)))
    if isinstance(column, Binned):
        tests.append(f"isnan({field.parsed})")
    if values and not isinstance(column, Date | Time):
        tests.append(among(field.parsed or field.number, map(_double, sorted(values))))
    return f"coalesce({' OR '.join(tests)}, false)"


def _value(column: Column, field: Field) -> str:
    """The code of a cell that is not missing; NULL where it is outside the domain."""
    match column:
        case Categorical() | Boolean():
            return _listed(column, field)
        case Integer() | Real():
            return _binned(column, f"{field.parsed}")
        case Date():
            return _dated(column, f"{field.parsed}")
        case Time():
            return _timed(column, f"{field.parsed}")
    raise NotImplementedError(type(column).__name__)


def _listed(column: Categorical | Boolean, field: Field) -> str:
    text = f"lower({field.sql})" if isinstance(column, Boolean) else field.sql
    keys = ", ".join(map(literal, column.keys))
    found = [_pick(column.keys, f"CAST(enum_code(TRY_CAST({text} AS ENUM({keys}))) AS INTEGER) + 1")]
    if column.numbers:
        numbers = ", ".join(map(_double, column.numbers))
        found.append(_pick(column.numbers, f"list_position([{numbers}], {field.number})"))
    return ", ".join(found)


def _pick(codes: Mapping[str, int] | Mapping[float, int], place: str) -> str:
    return f"list_extract([{', '.join(map(str, codes.values()))}], {place})"


def _binned(column: Integer | Real, x: str) -> str:
    """Beyond the bounds the first and the last bin go on, so that only single values need to be clamped."""
    low, high = _double(column.min), _double(column.max)
    tests = [f"{x} IS NOT NULL"]
    if isinstance(column, Integer):
        tests.append(f"{x} = floor({x})")
    if column.outside != "clamp":
        tests.append(f"{x} BETWEEN {low} AND {high}")
    edges = column.edges
    code = _step(x, edges[1:-1], 0) if edges else f"CAST(greatest(least({x}, {high}), {low}) - {low} AS BIGINT)"
    return f"CASE WHEN {' AND '.join(tests)} THEN {code} END"


def _step(x: str, cuts: Sequence[float], first: int) -> str:
    """How many cuts are not above x, by halving them."""
    if not cuts:
        return str(first)
    half = len(cuts) // 2
    above, below = _step(x, cuts[half + 1 :], first + half + 1), _step(x, cuts[:half], first)
    return f"CASE WHEN {x} >= {_double(cuts[half])} THEN {above} ELSE {below} END"


def _dated(column: Date, x: str) -> str:
    low, end = f"TIMESTAMP '{column.min} 00:00:00'", f"TIMESTAMP '{column.max} 23:59:59.999999'"
    test = f"{x} IS NOT NULL" if column.outside == "clamp" else f"{x} BETWEEN {low} AND {end}"
    inside, start = f"greatest(least({x}, {end}), {low})", f"TIMESTAMP '{column.starts[0]}'"
    return f"CASE WHEN {test} THEN date_diff('{column.granularity}', {start}, {inside}) END"


def _timed(column: Time, x: str) -> str:
    code = f"(date_part('hour', {x}) * 60 + date_part('minute', {x})) // {column.minutes}"
    return f"CASE WHEN {code} < {len(column.cells)} THEN {code} END"


def _stamp(column: Column, field: Field) -> str:
    """The cell as a time in UTC; NULL where it is none."""
    form = column.format if isinstance(column, Date | Time) else None
    if field.temporal:
        return f"TRY_CAST({field.sql} AS TIMESTAMP)"
    if form is not None:
        return f"try_strptime({field.text}, {literal(form)})"
    return f"TRY_CAST(TRY_CAST({field.text} AS TIMESTAMPTZ) AS TIMESTAMP)"


def _clock(column: Time, field: Field) -> str:
    """The cell as a time of the day; NULL where it is none."""
    stamp = f"TRY_CAST({_stamp(column, field)} AS TIME)"
    return stamp if field.temporal or column.format else f"coalesce(TRY_CAST({field.text} AS TIME), {stamp})"


def _double(number: float) -> str:
    return f"CAST({literal(plain(number) if isfinite(number) else repr(number))} AS DOUBLE)"
