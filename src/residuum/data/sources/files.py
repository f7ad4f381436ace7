"""CSV, Parquet and JSON lines files as relations."""

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import IO, cast

from residuum.data.columns import WHITE
from residuum.data.encode import identifier, literal
from residuum.data.schema import Csv
from residuum.data.sources.engine import Engine, Relation, ask, describe
from residuum.errors import SourceError

JSON_RECORDS = 1000
"""JSON lines have no header: the keys of so many records stand for one."""


def found(path: Path) -> Path:
    """A path that leads to a file with something in it.

    >>> found(Path("nowhere.csv"))
    Traceback (most recent call last):
    ...
    residuum.errors.SourceError: No file at 'nowhere.csv'.
    """
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except FileNotFoundError:
        raise SourceError(f"No file at {str(path)!r}.") from None
    except IsADirectoryError:
        raise SourceError(f"Expected a file, got the folder {str(path)!r}. Name a file in it.") from None
    except (OSError, ValueError):
        raise SourceError(f"Cannot open {str(path)!r}. Look at its name and its permissions.") from None
    if empty:
        raise SourceError(f"The file {str(path)!r} is empty: not even the names of columns are there.")
    return path


def relation(engine: Engine, path: Path, dialect: Csv) -> Relation:
    """The relation of a file; its ending tells what it is, and anything unknown is CSV."""
    with path.open("rb") as file:
        parquet = file.read(4) == b"PAR1"
    name = path.name.lower().removesuffix(".gz")
    if parquet or name.endswith((".parquet", ".pq")):
        return _parquet(engine, path)
    if name.endswith((".jsonl", ".ndjson", ".json")):
        return _json(engine, path)
    return _csv(path, dialect)


def _parquet(engine: Engine, path: Path) -> Relation:
    problem = f"The file {str(path)!r} is not a Parquet file, or it is damaged."
    sql = f"read_parquet({_pattern(path)})"
    names, types = describe(engine, sql, problem)
    return Relation(sql, names, [identifier(name) for name in names], types, repr(path.name), lambda: problem)


def _json(engine: Engine, path: Path) -> Relation:
    problem = f"The file {str(path)!r} is not JSON lines: one object in each line, in UTF-8."
    records = f"(SELECT json FROM read_ndjson_objects({_pattern(path)}) LIMIT {JSON_RECORDS})"
    rows = ask(engine, f"SELECT DISTINCT unnest(json_keys(json)) AS key FROM {records} ORDER BY key", problem)
    names = [str(row[0]) for row in rows]
    if not names:
        raise SourceError(problem)
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    sql = f"read_json({_pattern(path)}, format = 'newline_delimited', columns = {{{columns}}})"
    types = ["VARCHAR"] * len(names)
    ids = [identifier(name) for name in names]
    return Relation(sql, names, ids, types, repr(path.name), lambda: problem, complete=False)


def _csv(path: Path, dialect: Csv) -> Relation:
    """Nothing is guessed from the rows: one person's row could change how all others are read."""
    try:
        with _lines(path, dialect) as lines:
            first = lines.readline(2**20)
            lines.seek(0)
            names, delimiter = header(first, dialect, str(path), lines)
    except UnicodeError:
        raise SourceError(_encoding(path, dialect)) from None
    except (csv.Error, OSError, EOFError):
        raise SourceError(f"Cannot read a header in the first line of {str(path)!r}.") from None
    ids = [f"f{i}" for i in range(len(names))]
    types = ["VARCHAR"] * len(names)
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in ids)
    options = (
        f"{_pattern(path)}, auto_detect = false, header = true, columns = {{{columns}}}, delim = {literal(delimiter)}, "
        f"quote = {literal(dialect.quote)}, escape = {literal(dialect.quote)}, encoding = {literal(dialect.encoding)}"
    )
    return Relation(
        f"read_csv({options})",
        names,
        ids,
        types,
        repr(path.name),
        lambda: _csv_problem(path, dialect),
        slow=f"read_csv({options}, null_padding = true)",
    )


def header(first: str, dialect: Csv, place: str, lines: Iterable[str] | None = None) -> tuple[list[str], str]:
    """The names of the columns and the delimiter, from the first line of a CSV file, or all where the header goes on.

    >>> header("age; sex;;", Csv(), "people.csv")
    (['age', 'sex', 'Unnamed: 2', 'Unnamed: 3'], ';')
    """
    delimiter = dialect.delimiter or _delimiter(first, dialect.quote)
    rows = csv.reader(lines or [first], delimiter=delimiter, quotechar=dialect.quote, skipinitialspace=True)
    cells = [name.strip(WHITE) for name in next(rows, [])]
    if not any(cells):
        raise SourceError(f"The first line of {place!r} is empty: the names of the columns must be there.")
    return [name or f"Unnamed: {i}" for i, name in enumerate(cells)], delimiter


def _delimiter(header: str, quote: str) -> str:
    bare = re.sub(f"{re.escape(quote)}[^{re.escape(quote)}]*{re.escape(quote)}", "", header)
    return max(",;\t|", key=bare.count)


def _csv_problem(path: Path, dialect: Csv) -> str:
    decoder = codecs.getincrementaldecoder(dialect.encoding)()
    try:
        with _bytes(path) as file:
            while block := file.read(2**20):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeError:
        return _encoding(path, dialect)
    except (OSError, EOFError):
        return f"The file {str(path)!r} is damaged."
    return (
        f"The file {str(path)!r} is not well-formed CSV: a row has more cells than the header (or fewer, beside texts "
        "of several lines), a quote is not closed, or lines end in different ways. Repair it, or name its `delimiter` "
        "and `quote` under `csv` in the schema."
    )


def _encoding(path: Path, dialect: Csv) -> str:
    return (
        f"The file {str(path)!r} is not in {dialect.encoding.upper()}. "
        "Convert it, or name its encoding in the schema: `csv: {encoding: latin-1}`."
    )


def _lines(path: Path, dialect: Csv) -> io.TextIOWrapper:
    encoding = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    return io.TextIOWrapper(_bytes(path), encoding=encoding, newline="")


def _bytes(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path)) if path.name.lower().endswith(".gz") else path.open("rb")


def _pattern(path: Path) -> str:
    """A path in SQL, with nothing in it that the engine would take for a pattern."""
    return literal(re.sub(r"([*?\[])", r"[\1]", str(path.absolute())))
