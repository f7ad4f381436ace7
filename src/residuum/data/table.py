"""A table as integer codes, column by column."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residuum.core.domain import Domain
from residuum.data.origin import Origin
from residuum.errors import DomainError

MOST_ROWS = 2**31 - 1
"""A count is a whole number of 32 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of people, private: one column per attribute of the domain, with codes from 0 to its size - 1.

    Build one with `Table.from_codes`. `columns` has shape (attributes, rows), in the smallest type that fits.
    """

    domain: Domain
    columns: NDArray[np.unsignedinteger]
    origin: Origin | None = None
    """How the table was read, where that is known."""

    @classmethod
    def from_codes(cls, codes: Any, domain: Domain) -> "Table":
        """A table from codes of shape (rows, attributes); no rows at all are fine.

        >>> table = Table.from_codes([[0, 1], [3, 0]], Domain({"age": 4, "sex": 2}))
        >>> table.columns.dtype, table.columns.shape
        (dtype('uint8'), (2, 2))
        """
        if isinstance(codes, np.ma.MaskedArray):
            raise DomainError("Expected codes without a mask, got a masked array. Give missing values a code first.")
        try:
            array = np.asarray(codes)
        except ValueError:
            raise DomainError("Expected codes of shape (rows, attributes), got rows of different lengths.") from None
        if array.size == 0 and array.ndim <= 2:
            array = np.empty((0, len(domain) if array.ndim < 2 else array.shape[1]), dtype=np.int64)
        if array.ndim != 2 or array.shape[1] != len(domain):
            raise DomainError(
                f"Expected codes with a column for each of the {len(domain)} attributes, "
                f"got {array.ndim} dimensions{f' and {array.shape[1]} columns' if array.ndim == 2 else ''}."
            )
        if array.dtype.kind not in "iub":
            raise DomainError(f"Expected whole numbers as codes, got {array.dtype.name} values.")
        if len(array) > MOST_ROWS:
            raise too_many_rows()
        largest = max(domain.sizes)
        dtype = np.uint8 if largest <= 2**8 else np.uint16 if largest <= 2**16 else np.uint32
        columns = np.empty((len(domain), len(array)), dtype=dtype)
        for i, (name, size) in enumerate(zip(domain.names, domain.sizes, strict=True)):
            column = array[:, i]
            if column.size and not (column.min() >= 0 and column.max() < size):
                raise DomainError(f"Expected codes from 0 to {size - 1} in column {name!r}, got one outside.")
            columns[i] = column
        return cls(domain, columns)

    def __repr__(self) -> str:
        return f"Table({len(self.domain)} attributes)"


def too_many_rows() -> DomainError:
    """What to say of a table with more rows than can be counted."""
    return DomainError(f"A table may have up to {MOST_ROWS:,} rows. Release parts of it, or sample it first.")
