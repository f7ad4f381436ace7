"""Marginals as CSV, Parquet and JSON."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from residuum.errors import ReleaseError
from residuum.marginal import Marginal
from residuum.release import Release

if TYPE_CHECKING:
    import pyarrow

Format = Literal["csv", "parquet", "json"]


def by_ending(path: Path) -> Format:
    """The format that a file's name asks for.

    >>> by_ending(Path("pairs.parquet"))
    'parquet'
    """
    for form, endings in {"csv": (".csv",), "parquet": (".parquet", ".pq"), "json": (".json",)}.items():
        if path.name.lower().endswith(endings):
            return form  # type: ignore[return-value]
    raise ReleaseError(f"Which format {str(path)!r} should have is not clear from its ending. Say it with --format.")


def save(marginal: Marginal, release: Release, form: Format, file: IO[bytes]) -> None:
    """Write a marginal: a row per cell, with its labels, value and, where they are known, standard error and interval.

    What a row has no room for is in the JSON: the estimate, what was never measured, the caveats of the release.
    """
    table = marginal.to_arrow()
    if form == "csv":
        from pyarrow import csv

        csv.write_csv(table, file)
    elif form == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, file)
    else:
        content: dict[str, Any] = {
            "columns": marginal.attributes,
            "estimate": marginal.estimate,
            "noise_stderr": marginal.noise_stderr,
            "unmeasured": marginal.unmeasured,
            "rho": release.rho,
            "caveats": release.provenance["caveats"],
            "rows": table.to_pylist(),
        }
        file.write(json.dumps(content, default=str, ensure_ascii=False).encode() + b"\n")


def rows_to(tables: "Iterator[pyarrow.Table]", form: Format, file: IO[bytes]) -> int:
    """Write rows that come in parts, of which there is one at least; return how many there were."""
    first = next(tables)
    total = 0
    with _writer(first.schema, form, file) as write:
        for table in chain([first], tables):
            write(table)
            total += table.num_rows
    return total


@contextmanager
def _writer(schema: "pyarrow.Schema", form: Format, file: IO[bytes]) -> "Iterator[Callable[[pyarrow.Table], object]]":
    """A function that writes one part after the other."""
    if form == "json":
        yield lambda table: file.writelines(
            json.dumps(row, default=str, ensure_ascii=False).encode() + b"\n" for row in table.to_pylist()
        )
    elif form == "csv":
        from pyarrow import csv

        with csv.CSVWriter(file, schema) as writer:
            yield writer.write_table
    else:
        from pyarrow import parquet

        with parquet.ParquetWriter(file, schema) as writer:
            yield writer.write_table


def refuse_terminal(form: Format) -> None:
    """Refuse binary data where somebody would read it."""
    if form == "parquet" and sys.stdout.isatty():
        raise ReleaseError("A Parquet file is not for the eye. Name a file with -o, or redirect the output to one.")


def to_stdout(marginal: Marginal, release: Release, form: Format) -> None:
    """The same to standard output, but for binary data to a terminal."""
    refuse_terminal(form)
    sys.stdout.flush()
    save(marginal, release, form, sys.stdout.buffer)
    sys.stdout.buffer.flush()
