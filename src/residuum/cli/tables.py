"""Marginals as CSV, Parquet and JSON."""

import json
import sys
from pathlib import Path
from typing import IO, Any, Literal

from residuum.errors import ReleaseError
from residuum.release import Marginal, Release

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
    """Write a marginal: a row per cell, with its labels, value, standard error and, where all was measured, interval.

    What a row has no room for is in the JSON: what was never measured, and the caveats of the release.
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
            "noise_stderr": marginal.noise_stderr,
            "unmeasured": marginal.unmeasured,
            "rho": release.rho,
            "caveats": release.provenance["caveats"],
            "rows": table.to_pylist(),
        }
        file.write(json.dumps(content, default=str, ensure_ascii=False).encode() + b"\n")


def to_stdout(marginal: Marginal, release: Release, form: Format) -> None:
    """The same to standard output, but for binary data to a terminal."""
    if form == "parquet" and sys.stdout.isatty():
        raise ReleaseError("A Parquet file is not for the eye. Name a file with -o, or redirect the output to one.")
    sys.stdout.flush()
    save(marginal, release, form, sys.stdout.buffer)
    sys.stdout.buffer.flush()
