"""The schema of a table: what its owner declares about the columns before anybody looks at the data."""

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from residuum.core.domain import Domain
from residuum.data import yaml
from residuum.data.calendar import Date, Time
from residuum.data.columns import WHITE, Boolean, Categorical, Integer, Name, Part, Real, Text, as_text
from residuum.data.complaints import explain
from residuum.errors import SchemaError

TOKENS = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")
"""Texts that mean a missing value, unless the schema names others."""

Mark = Annotated[str, Field(min_length=1, max_length=1), BeforeValidator(as_text)]
AnyColumn = Annotated[Categorical | Boolean | Integer | Real | Date | Time, Field(discriminator="kind")]


class Person(Part):
    """A person with several rows: the column that tells whose they are, and how many are kept."""

    id: Name = Field(description="The column that says whose row it is. Rows without one are left out.")
    rows: int = Field(ge=1, le=2**31, description="How many rows of one person are kept at most.")


class Csv(Part):
    """How a CSV file is written. Nothing of this is guessed from the rows, which are private."""

    delimiter: Mark | None = Field(
        default=None, description="If not given, read off the header: comma, semicolon, tab or bar."
    )
    quote: Mark = Field(default='"', description="What texts with delimiters are wrapped in.")
    encoding: Literal["utf-8", "latin-1", "utf-16"] = "utf-8"

    @model_validator(mode="after")
    def _check(self) -> "Csv":
        for mark in (self.delimiter or ",", self.quote):
            if not mark.isascii() or mark in "\r\n\0":
                raise ValueError(f"Expected an ASCII character that is no end of a line, got {mark!r}.")
        if self.delimiter == self.quote:
            raise ValueError("Expected a delimiter and a quote that differ.")
        return self


class Schema(Part):
    """What a table's owner declares: its columns, what they may hold, and what one person is.

    Read one from a file with `Schema.load`, or from text with `Schema.parse`. Nothing in it may come from the private
    rows; a draft that does says so, and is refused by `require_confirmed` until its owner has checked it.

    >>> schema = Schema.parse('''
    ... confirmed: true
    ... columns:
    ...   age: {kind: integer, min: 0, max: 99, bins: 5}
    ...   sex: {kind: categorical, values: [female, male]}
    ... ''')
    >>> schema.domain.sizes
    (6, 3)
    >>> schema.domain.labels[0]
    ('[0, 20)', '[20, 40)', '[40, 60)', '[60, 80)', '[80, 99]', '(missing)')
    """

    version: Literal["1"] = Field(default="1", description="The version of this format.")
    confirmed: bool = Field(default=False, description="That the owner has checked that nothing below is private.")
    person: Literal["row"] | Person = Field(default="row", description="One row each, or an id and at most k rows.")
    columns: dict[Name, AnyColumn] = Field(min_length=1, description="The columns to release, in order.")
    leave_out: tuple[Text, ...] = Field(default=(), description="Columns of the source that are not released.")
    missing_tokens: tuple[Text, ...] = Field(default=TOKENS, description="Texts that mean a missing value.")
    strip: bool = Field(default=True, description="Whether white space around texts is dropped.")
    csv: Csv = Field(default=Csv(), description="How a CSV file is written.")

    @model_validator(mode="before")
    @classmethod
    def _version(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("version", "1") not in ("1", 1):
            raise ValueError(f"Expected version 1, got {given['version']!r}. Use a later residuum.")
        return {**given, "version": "1"} if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _check(self) -> "Schema":
        for name, column in self.columns.items():
            for text in column.keys if self.strip and isinstance(column, Categorical) else ():
                if text != text.strip(WHITE):
                    raise ValueError(f"The value {text!r} of column {name!r} has spaces around it, which are stripped.")
            if len(column.labels) < 2:
                raise ValueError(
                    f"Column {name!r} can take one value only and tells nothing. Put it under `leave_out`."
                )
        for name in self.leave_out:
            if name in self.columns:
                raise ValueError(f"Column {name!r} is both under `columns` and `leave_out`. Take it out of either.")
        if isinstance(self.person, Person) and self.person.id in self.columns:
            raise ValueError(f"Column {self.person.id!r} tells whose a row is. Take it out of `columns`.")
        return self

    @classmethod
    def load(cls, path: str | Path) -> "Schema":
        """The schema in a file.

        >>> Schema.load("nowhere.yaml")
        Traceback (most recent call last):
        ...
        residuum.errors.SchemaError: No schema file at 'nowhere.yaml'.
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise SchemaError(f"No schema file at {str(path)!r}.") from None
        except (OSError, ValueError):
            raise SchemaError(f"Cannot read the schema file {str(path)!r}: it must be a text file in UTF-8.") from None
        return cls.parse(text)

    @classmethod
    def parse(cls, text: str) -> "Schema":
        """The schema in a text of YAML (or JSON, which is YAML too).

        >>> Schema.parse("columns: {sex: {kind: boolean, bin: 3}}")
        Traceback (most recent call last):
        ...
        residuum.errors.SchemaError: Unknown key 'bin' in columns.sex. It may have 'kind', 'missing', 'outside'.
        """
        return cls.from_dict(yaml.parse(text))

    @classmethod
    def from_dict(cls, given: Any) -> "Schema":
        """The schema that `to_dict` wrote.

        >>> schema = Schema.from_dict({"columns": {"sex": {"kind": "boolean"}}})
        >>> schema == Schema.from_dict(schema.to_dict())
        True
        """
        if not isinstance(given, dict):
            raise SchemaError("Expected a schema with the key 'columns'. `residuum schema DATA` drafts one.")
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise SchemaError(explain(error, given)) from None
        except RecursionError:
            raise SchemaError("The schema is nested too deeply.") from None

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain values that JSON can hold.

        >>> Schema.from_dict({"columns": {"sex": {"kind": "boolean"}}}).to_dict()["columns"]
        {'sex': {'kind': 'boolean', 'missing': 'own', 'outside': 'missing'}}
        """
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @cached_property
    def domain(self) -> Domain:
        """The names of the columns, the labels of their codes and what these stand for."""
        units = {name: column.unit(self.missing_tokens) for name, column in self.columns.items()}
        return Domain({name: column.labels for name, column in self.columns.items()}, units)

    @property
    def rows_per_person(self) -> int:
        """How many rows of one person there can be in a table read with this schema."""
        return self.person.rows if isinstance(self.person, Person) else 1

    @property
    def edges(self) -> dict[str, tuple[Any, ...] | None]:
        """For each column the edges of its bins, which have the first codes; None where a code is one value.

        >>> Schema.from_dict({"columns": {"age": {"kind": "integer", "min": 0, "max": 99, "bins": 5}}}).edges
        {'age': (0, 20, 40, 60, 80, 99)}
        """
        return {name: column.edges for name, column in self.columns.items()}

    def require_confirmed(self) -> None:
        """Refuse a draft.

        >>> Schema.from_dict({"columns": {"sex": {"kind": "boolean"}}}).require_confirmed()
        Traceback (most recent call last):
        ...
        residuum.errors.SchemaError: The schema is a draft. Values, bounds and bins that are read off the private rows \
tell about them, outside of every privacy budget. Replace those marked so by what is known without the rows, then set \
`confirmed: true` at its top.
        """
        if not self.confirmed:
            raise SchemaError(
                "The schema is a draft. Values, bounds and bins that are read off the private rows tell about them, "
                "outside of every privacy budget. Replace those marked so by what is known without the rows, then set "
                "`confirmed: true` at its top."
            )


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the schema file, for editors.

    >>> json_schema()["required"]
    ['columns']
    """
    schema = Schema.model_json_schema(by_alias=True)
    schema["properties"]["version"] = {"enum": [1, "1"], "default": 1, "description": "The version of this format."}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
