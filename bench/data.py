"""Tables to measure on: real ones from files and from packages, and stand-ins shaped like the paper's data sets.

The domains of the real ones are read off their rows, which only a benchmark may do. A stand-in takes the place of a
file that is not there, and is called "adult-shaped", "acs-shaped" or "loans-shaped" wherever it is named.
"""

import json
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bench import public
from residuum import Domain, Table

if TYPE_CHECKING:
    import pandas

SHARED = Path(os.environ.get("RESIDUUM_SHARED", "../shared"))
"""Where `data/adult.csv` and `data/titanic-raw.csv` are."""

FILES = {
    "adult": os.environ.get("ADULT") or str(SHARED / "data" / "adult.csv"),
    "acs": os.environ.get("ACS", ""),
    "loans": os.environ.get("LOANS", ""),
}
"""The files of the paper's data sets, as the user names them in the environment."""

SHAPES = json.loads(Path(__file__).with_name("shapes.json").read_text())
"""Rows and sizes of the paper's data sets; those of ACS and Loans are made up to agree with what the paper says."""

BINS = 8
"""Into how many quantiles the numbers of a column go, if so many different ones are not enough."""

_SHAPED = "-shaped"


def adult() -> Table:
    """The paper's Adult: each column coded by its sorted unique values, a domain that only a benchmark may use."""
    return public.adult(FILES["adult"])


def acs() -> Table:
    """The paper's ACS, where its file is named."""
    return public.acs(FILES["acs"])


def loans() -> Table:
    """The paper's Loans, where its file is named."""
    return public.loans(FILES["loans"])


def titanic() -> Table:
    """Passengers of the Titanic, with whether they survived: 1,306 rows, 9 columns, empty cells."""
    import pandas

    return binned(pandas.read_csv(SHARED / "data" / "titanic-raw.csv", index_col=0))


def fair() -> Table:
    """A survey about marriages (statsmodels): 6,366 rows, 9 columns."""
    return binned(_statsmodels("fair"))


def randhie() -> Table:
    """The RAND health insurance experiment (statsmodels): 20,190 rows, 10 columns."""
    return binned(_statsmodels("randhie"))


def anes96() -> Table:
    """The American election study of 1996 (statsmodels): 944 rows, 10 columns."""
    return binned(_statsmodels("anes96").drop(columns="logpopul"))  # the population is there already


def digits() -> Table:
    """Hand-written digits (scikit-learn): 1,797 rows, the digit and 16 of its pixels with four levels each."""
    import pandas
    from sklearn.datasets import load_digits

    pictures: Any = load_digits()
    pixels = pictures.images[:, 1::2, 2:6].reshape(len(pictures.images), 16)
    frame = binned(pandas.DataFrame(pixels, columns=[f"pixel{k}" for k in range(16)]), bins=4)
    codes = np.vstack([frame.columns, pictures.target.astype(frame.columns.dtype)])
    return _coded([*frame.domain.names, "digit"], codes)


PAPER: dict[str, Callable[[], Table]] = {"adult": adult, "acs": acs, "loans": loans}
"""The data sets of the paper."""

REAL: dict[str, Callable[[], Table]] = {
    "adult": adult,
    "titanic": titanic,
    "fair": fair,
    "randhie": randhie,
    "anes96": anes96,
    "digits": digits,
}


def load(name: str) -> Table:
    """A real table or a stand-in, by its name."""
    known = PAPER | REAL
    return known[name]() if name in known else stand_in(name.removesuffix(_SHAPED))


def at_hand(name: str) -> str:
    """A data set of the paper by its name, or that of its stand-in where no file is named or expected in its place."""
    return name if os.environ.get(name.upper()) or Path(FILES[name]).is_file() else name + _SHAPED


def is_stand_in(name: str) -> bool:
    """Whether a table is made up."""
    return name.endswith(_SHAPED)


def binned(frame: "pandas.DataFrame", bins: int = BINS) -> Table:
    """A table of a frame: few values keep their place in order, numbers go into quantiles, empty cells are a value."""
    return _coded(list(frame.columns), np.vstack([_column(column, bins) for _, column in frame.items()]))


def _statsmodels(name: str) -> Any:
    """The frame of a data set that comes with statsmodels."""
    return import_module(f"statsmodels.datasets.{name}").load_pandas().data


def _column(values: "pandas.Series", bins: int) -> NDArray[np.int64]:
    """The codes of a column; a bin is open to the left, and equal quantiles make one bin."""
    import pandas

    if values.dtype.kind in "iuf" and values.nunique() > bins:
        edges = np.unique(values.quantile(np.arange(1, bins) / bins))
        values = pandas.Series(np.searchsorted(edges, values)).where(values.notna().to_numpy())
    codes = pandas.factorize(values, sort=True)[0].astype(np.int64)
    return np.where(codes < 0, codes.max() + 1, codes)


def some_attributes(table: Table, number: int) -> Table:
    """So many attributes of a table, at regular distances, where all are too many."""
    kept = np.linspace(0, len(table.domain) - 1, number).round().astype(int)
    domain = Domain({table.domain.names[i]: table.domain.sizes[i] for i in kept})
    return Table.from_codes(table.columns[kept].T, domain)


def stand_in(name: str, seed: int = 0) -> Table:
    """A made-up table with the rows and sizes of a data set of the paper ("adult", "acs" or "loans")."""
    return tree(SHAPES[name]["sizes"], SHAPES[name]["rows"], seed)


def tree(sizes: list[int], rows: int, seed: int = 0) -> Table:
    """Rows drawn from a random tree: each attribute follows a random conditional table given one before it."""
    rng = np.random.default_rng(seed)
    codes = np.empty((rows, len(sizes)), dtype=np.uint8 if max(sizes) <= 256 else np.uint32)
    for i, n in enumerate(sizes):
        if i == 0:
            codes[:, i] = rng.choice(n, size=rows, p=rng.dirichlet(np.full(n, 0.7)))
            continue
        parent = int(rng.integers(i))
        cumulative = rng.dirichlet(np.full(n, 0.5), size=sizes[parent]).cumsum(axis=1)
        thresholds = cumulative[:, :-1][codes[:, parent]]
        codes[:, i] = (rng.random(rows)[:, None] > thresholds).sum(axis=1)
    return Table.from_codes(codes, _domain(sizes))


def _domain(sizes: list[int]) -> Domain:
    return Domain({f"x{i}": n for i, n in enumerate(sizes)})


def _coded(names: list[str], columns: NDArray[np.integer]) -> Table:
    """A table of codes whose sizes are what the rows happen to have."""
    sizes = [int(column.max()) + 1 for column in columns]
    return Table.from_codes(columns.T, Domain(dict(zip(names, sizes, strict=True))))
