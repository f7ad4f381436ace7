"""The engine that reads and encodes, and what is said when it fails."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb

from residuum.errors import SourceError

Engine = duckdb.DuckDBPyConnection

_CONFIG = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""Nothing is fetched from the network."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A source as the engine sees it: what to select from, and the names, identifiers and types of its columns.

    `place` names it in messages, and `problem` says what is wrong when it cannot be read to the end. `slow` is another
    way to select the same, for what the fast one cannot take. Where the names are not `complete`, there may be more.
    """

    sql: str
    names: Sequence[str]
    columns: Sequence[str]
    types: Sequence[str]
    place: str
    problem: Callable[[], str]
    slow: str | None = None
    complete: bool = True


@contextmanager
def started(threads: int | None = None) -> Iterator[Engine]:
    """An engine of its own, on all cores or as many threads as told.

    Its scratch files, which only this user can read, are gone afterwards.
    """
    with tempfile.TemporaryDirectory(prefix="residuum-", ignore_cleanup_errors=True) as scratch:
        config: dict[str, Any] = {**_CONFIG, "temp_directory": scratch} | (
            {} if threads is None else {"threads": threads}
        )
        engine = duckdb.connect(":memory:", config=config)
        try:
            engine.execute("SET TimeZone = 'UTC'").fetchall()
            yield engine
        finally:
            engine.close()


def ask(engine: Engine, sql: str, problem: str) -> list[tuple[Any, ...]]:
    """The rows of a small answer; a SourceError that says `problem` where there is none."""
    return _fetch(engine, sql, problem, lambda answer: answer.fetchall())


def arrays(engine: Engine, relation: Relation, build: Callable[[str], str]) -> dict[str, Any]:
    """An answer as arrays, to the query that `build` makes from what to select from."""
    return _read(engine, relation, build, lambda answer: answer.fetchnumpy())


def rows(engine: Engine, relation: Relation, build: Callable[[str], str]) -> list[tuple[Any, ...]]:
    """An answer as rows, to the query that `build` makes from what to select from."""
    return _read(engine, relation, build, lambda answer: answer.fetchall())


def describe(engine: Engine, sql: str, problem: str) -> tuple[list[str], list[str]]:
    """The names and types of the columns of what `sql` selects from."""
    rows = ask(engine, f"DESCRIBE SELECT * FROM {sql}", problem)
    return [str(row[0]) for row in rows], [str(row[1]) for row in rows]


def _read(engine: Engine, relation: Relation, build: Callable[[str], str], how: Callable[[Engine], Any]) -> Any:
    if relation.slow is None:
        return _fetch(engine, build(relation.sql), relation.problem, how)
    try:
        return _fetch(engine, build(relation.sql), "", how)
    except SourceError:
        return _fetch(engine, build(relation.slow), relation.problem, how)


def _fetch(engine: Engine, sql: str, problem: str | Callable[[], str], how: Callable[[Engine], Any]) -> Any:
    """What the engine answers. Its own words when it fails can quote a row, so they are not passed on."""
    try:
        return how(engine.execute(sql))
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.OutOfMemoryException:
        _let_go(engine)
        raise SourceError("There is too little memory, or room for scratch files, to read the source.") from None
    except (duckdb.Error, RuntimeError, UnicodeError, ValueError):
        _let_go(engine)
        raise SourceError(problem if isinstance(problem, str) else problem()) from None


def _let_go(engine: Engine) -> None:
    """Drop what is left of a failed answer, where the engine waits for that before it takes another query."""
    abort = getattr(engine, "abort", None)
    if abort is not None:
        abort()
