"""Where a table came from, so that its release can say how it was read, and a run that died can read it again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from residuum.errors import ReleaseError

if TYPE_CHECKING:
    from residuum.data.table import Table


@dataclass(frozen=True, slots=True)
class Origin:
    """A schema as plain entries, and the file and query it was applied to, if it was a file. None of it is private.

    >>> Origin({"columns": {}, "person": {"id": "patient", "rows": 3}}).rows_per_person
    3
    """

    schema: Mapping[str, Any]
    path: str | None = None
    query: str | None = None

    @property
    def rows_per_person(self) -> int:
        """How many rows of one person the table can have."""
        person = self.schema.get("person")
        return person["rows"] if isinstance(person, Mapping) else 1

    def read(self, source: Any = None, query: str | None = None) -> "Table":
        """The table once more, from where it was or from another source of the same rows."""
        from residuum.data.schema import Schema
        from residuum.data.sources import read

        if source is None:
            source, query = self.path, self.query if query is None else query
        if source is None:
            raise ReleaseError("The run did not read a file. Give the same table again, so that it can go on.")
        return read(source, Schema.from_dict(self.schema), query=query)
