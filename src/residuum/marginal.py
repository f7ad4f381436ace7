"""A released table of counts, with what is known of its errors, as tables of other libraries, and as a plot."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from residuum.errors import ReleaseError
from residuum.estimate.decode import labelled
from residuum.estimate.intervals import REACH
from residuum.estimate.nonnegative import to_integers

if TYPE_CHECKING:
    import altair
    import pandas
    import polars
    import pyarrow

Estimate = Literal["best", "mle", "nonnegative", "latent"]


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """A released table of counts over some attributes."""

    attributes: tuple[str, ...]
    values: NDArray[np.float64] | NDArray[np.int64]
    """Estimated counts, with one axis per attribute, in the order asked for."""
    noise_stderr: float
    """The standard error that the noise gives each cell of the most likely estimate, if nothing is done about it."""
    unmeasured: tuple[tuple[str, ...], ...]
    """The components that nobody measured."""
    labels: tuple[tuple[Hashable, ...] | None, ...] = field(repr=False)
    """What the values of each attribute are called, or None where they only have codes, 0, 1, 2 and so on."""
    estimate: Estimate = "mle"
    """Which estimate the values are."""
    stderr: NDArray[np.float64] | None = field(default=None, repr=False)
    """The standard error of each cell, with all that is uncertain; None where that is not known."""

    @property
    def lower(self) -> NDArray[np.float64] | None:
        """Where the 95% interval of each cell begins; None where its standard error is not known.

        >>> Marginal(("sex",), np.array([8.0, 53.0]), 1.0, (), (("f", "m"),), "mle", np.full(2, 5.0)).lower.round(1)
        array([-1.8, 43.2])
        """
        if self.stderr is None:
            return None
        lower = self.values - REACH * self.stderr
        return lower if self.estimate == "mle" else np.maximum(lower, 0.0)

    @property
    def upper(self) -> NDArray[np.float64] | None:
        """Where the 95% interval of each cell ends; None where its standard error is not known.

        >>> Marginal(("sex",), np.array([8.0, 53.0]), 1.0, (), (("f", "m"),), "mle", np.full(2, 5.0)).upper.round(1)
        array([17.8, 62.8])
        """
        return None if self.stderr is None else self.values + REACH * self.stderr

    def to_integers(self) -> "Marginal":
        """The same in whole numbers from 0, which add up to the rounded total.

        >>> Marginal(("sex",), np.array([48.4, 53.3]), 1.0, (), (("f", "m"),)).to_integers().values
        array([49, 53])
        """
        return replace(self, values=to_integers(self.values))

    def to_arrow(self) -> "pyarrow.Table":
        """A row per cell: a column per attribute, `value`, `stderr`, and a 95% interval, `lower` to `upper`.

        The last three are empty where they are not known. Labels of one kind keep their type, and those of several
        kinds become text; None is an empty cell. Attributes keep their names: beside one called "value", the column of
        values is `value_`, and so for the others.

        >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),))
        >>> marginal.to_arrow().to_pydict()["sex"]
        ['f', 'm']
        """
        pa = library_of("pyarrow", "residuum")
        codes = np.indices(self.values.shape).reshape(self.values.ndim, self.values.size)
        columns: dict[str, Any] = {
            name: labelled(pa, labels, code)
            for name, labels, code in zip(self.attributes, self.labels, codes, strict=True)
        }
        for name, numbers in {
            "value": self.values,
            "stderr": self.stderr,
            "lower": self.lower,
            "upper": self.upper,
        }.items():
            while name in columns:
                name += "_"
            columns[name] = (
                pa.nulls(self.values.size, pa.float64()) if numbers is None else pa.array(numbers.reshape(-1))
            )
        return pa.table(columns)

    def to_pandas(self) -> "pandas.DataFrame":
        """The same as `to_arrow`, for pandas.

        >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),))
        >>> marginal.to_pandas().set_index("sex").loc["m", "value"].item()
        53.0
        """
        library_of("pandas", "residuum[pandas]")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """The same as `to_arrow`, for Polars.

        >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),))
        >>> marginal.to_polars().shape
        (2, 5)
        """
        frame: Any = library_of("polars", "residuum[polars]").from_arrow(self.to_arrow())
        return frame

    def plot(self, *, grouped: bool = False, **settings: Any) -> "altair.LayerChart | altair.FacetChart | altair.Chart":
        """A plot of it, for a notebook or to be saved, that shows how far the counts may be off and needs no network.

        One attribute makes bars with 95% intervals; two make a heat map, or with `grouped` bars with intervals; three
        make a panel for each value of the last. `settings` are those of `residuum.present.plots.spec`. Save it with
        `residuum.present.plots.save(chart, "sex.html")`, or `.svg`, or `.png`.

        >>> marginal = Marginal(("sex",), np.array([48.0, 53.0]), 1.0, (), (("f", "m"),))
        >>> marginal.plot().to_dict()["title"]["text"]
        'sex'
        """
        from residuum.present import plots

        return plots.chart(self, grouped=grouped, **settings)


def library_of(name: str, requirement: str) -> Any:
    """A library that only those need who ask for its tables or pictures.

    >>> library_of("json", "residuum").dumps([])
    '[]'
    """
    try:
        return import_module(name)
    except ImportError:
        raise ReleaseError(f"This needs {name}, which is not installed. Run: pip install '{requirement}'") from None
