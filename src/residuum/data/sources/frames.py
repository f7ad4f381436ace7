"""Frames in memory as relations."""

from typing import Any

import narwhals as nw

from residuum.data.sources.engine import Engine, Relation, describe
from residuum.errors import SourceError

_PLACE = "the frame"


def relation(engine: Engine, source: Any) -> Relation:
    """The relation of a frame that narwhals knows. It is scanned where it lies."""
    problem = "The frame cannot be read: a column may have a type that has no place in a table."
    try:
        frame = nw.from_native(source)
    except TypeError:
        raise SourceError(
            f"Expected a path or a frame, got {type(source).__name__}. Frames of pandas, Polars and PyArrow will do."
        ) from None
    except Exception:
        raise SourceError(_twice(source)) from None
    try:
        table = _arrow(frame.collect("pyarrow") if isinstance(frame, nw.LazyFrame) else frame)
        names = [str(name) for name in table.column_names]
        columns = [f"f{i}" for i in range(len(names))]
        engine.register("frame", table.rename_columns(columns))
    except ModuleNotFoundError:
        raise SourceError("Reading a frame needs PyArrow. Install it: pip install pyarrow.") from None
    except Exception:
        raise SourceError(problem) from None
    _, types = describe(engine, "frame", problem)
    return Relation("frame", names, columns, types, _PLACE, lambda: problem)


def _arrow(frame: nw.DataFrame[Any]) -> Any:
    """The frame as Arrow; columns of Python's objects as texts, because they can be of any types."""
    for name, dtype in frame.schema.items():
        if dtype in (nw.Object, nw.Unknown):
            texts = [_text(cell) for cell in frame[name].to_list()]
            frame = frame.with_columns(nw.new_series(name, texts, nw.String, backend=frame.implementation))
    return frame.to_arrow()


def _text(cell: Any) -> str | None:
    """An object as text; None where it is missing, as None, NaN, NaT and NA are."""
    try:
        missing = cell is None or not bool(cell == cell)
    except (TypeError, ValueError):
        missing = True
    return None if missing else cell if isinstance(cell, str) else str(cell)


def _twice(source: Any) -> str:
    names = [str(name) for name in getattr(source, "columns", [])]
    twice = [name for name in names if names.count(name) > 1]
    return f"Column {twice[0]!r} occurs twice in the frame. Rename one of the two." if twice else "Not a frame."
