"""The paper's public data sets, from files that the user has; nothing is fetched. Paper: app. G, "Datasets".

ACS is the person file of California in the one-year survey of 2018, `psam_p06.csv`, as folktables leaves it. Loans is
Lending Club's `LoanStats3a.csv`, the loans of 2007 to 2011. The paper drops attributes with fewer than two values, rows
with missing values and attributes with more than 100 values, and takes the domain from what is left. Nobody answers
every question of these files, and yet its numbers of records are those of whole files: so the attributes that somebody
left empty must have gone before the rows.
"""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from residuum import Domain, Table

if TYPE_CHECKING:
    import pandas

MOST_VALUES = 100


class UnreadableError(ValueError):
    """A file that is not what it is said to be."""


def adult(path: str | PathLike[str]) -> Table:
    """The paper's Adult: whole numbers in 15 columns, each coded by its sorted unique values."""
    frame = _read(path)
    if len(frame.columns) != 15:
        raise UnreadableError(f"Expected the 15 columns of the paper's Adult in {path}, got {len(frame.columns)}.")
    try:
        return coded(frame.astype("int64"))
    except ValueError:
        raise UnreadableError(f"Expected a whole number in every cell of {path}, got another.") from None


def acs(path: str | PathLike[str]) -> Table:
    """The people of California in the American Community Survey of 2018."""
    frame = _read(path)
    if missing := {"SERIALNO", "AGEP", "SEX", "PINCP"} - set(frame.columns):
        raise UnreadableError(f"Expected a person file of the ACS in {path}. It has no column {min(missing)!r}.")
    return prepared(frame)


def loans(path: str | PathLike[str]) -> Table:
    """Lending Club's loans of 2007 to 2011: a line of notes may stand above the names, other lines among the loans."""
    with open(_there(path), encoding="utf-8", errors="replace") as lines:
        notes = "loan_amnt" not in next(lines, "")
    frame = _read(path, skiprows=1 if notes else 0)
    if missing := {"loan_amnt", "term", "grade", "purpose"} - set(frame.columns):
        raise UnreadableError(f"Expected Lending Club's loans in {path}. It has no column {min(missing)!r}.")
    return prepared(frame.dropna(subset="loan_amnt"))  # headings and totals name no amount


def prepared(frame: "pandas.DataFrame") -> Table:
    """A table of the attributes that the paper keeps."""
    values = frame.nunique()
    kept = frame.loc[:, frame.notna().all() & (values >= 2) & (values <= MOST_VALUES)]
    if kept.empty:
        raise UnreadableError("Nothing is left of the file once attributes are dropped as in the paper.")
    return coded(kept)


def coded(frame: "pandas.DataFrame") -> Table:
    """A table of codes, by the sorted unique values of each column: a domain that only a benchmark may use."""
    import pandas

    found = {str(name): pandas.factorize(column, sort=True) for name, column in frame.items()}
    domain = Domain({name: len(values) for name, (_, values) in found.items()})
    return Table.from_codes(np.column_stack([codes for codes, _ in found.values()]), domain)


def _read(path: str | PathLike[str], skiprows: int = 0) -> "pandas.DataFrame":
    """The cells as texts; a column holds each text once, so that a large file fits."""
    import pandas

    try:
        frame = pandas.read_csv(
            _there(path),
            dtype="category",
            skiprows=skiprows,
            skipinitialspace=True,
            encoding_errors="replace",
            keep_default_na=False,
            na_values=[""],  # "n/a" is what somebody answered
        )
    except (pandas.errors.ParserError, pandas.errors.EmptyDataError) as reason:
        raise UnreadableError(f"{path} cannot be read as CSV: {str(reason).strip()}") from None
    if frame.empty:
        raise UnreadableError(f"There are no rows in {path}.")
    return frame


def _there(path: str | PathLike[str]) -> Path:
    if not Path(path).is_file():
        raise UnreadableError(f"There is no file {path}.")
    return Path(path)
