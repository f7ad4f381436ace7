"""A generator of made-up people, to try things out with. No real data went into it, and nothing in it is private.

Each attribute is drawn given one to three earlier ones, with chances in proportion to the weights below: a row of
weights for each value of an earlier attribute, multiplied where there are several. The weights are invented so that the
attributes hang together as in life; they describe no country.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from residuum.core.domain import Domain
from residuum.data.table import Table
from residuum.errors import ResiduumError

DOMAIN = Domain(
    {
        "age": ["18-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75+"],
        "sex": ["female", "male"],
        "region": ["capital", "north", "east", "south", "west", "islands"],
        "education": ["basic", "secondary", "vocational", "bachelor", "master"],
        "marital": ["single", "married", "divorced", "widowed"],
        "household": ["1", "2", "3", "4", "5+"],
        "employment": ["employed", "self-employed", "unemployed", "student", "retired", "at home"],
        "occupation": ["none", "manual", "trades", "sales", "care", "office", "technical", "manager"],
        "income": ["under 10k", "10-20k", "20-30k", "30-45k", "45-60k", "60-90k", "over 90k"],
        "housing": ["rents", "mortgage", "owns"],
        "commute": ["none", "car", "transit", "bicycle", "on foot"],
        "insurance": ["public", "private", "both", "none"],
    }
)
"""The twelve attributes of the sample, and their values."""

Weights = Sequence[Sequence[float]]
Codes = NDArray[np.int64]

AGE = [[11, 17, 17, 18, 16, 12, 9]]
SEX_BY_AGE = [[49, 51], [50, 50], [50, 50], [50, 50], [51, 49], [53, 47], [60, 40]]
REGION_BY_AGE = [
    [30, 14, 14, 20, 18, 4],
    [32, 14, 13, 19, 18, 4],
    [25, 16, 15, 20, 19, 5],
    [20, 18, 16, 20, 20, 6],
    [17, 19, 17, 21, 20, 6],
    [14, 20, 18, 22, 19, 7],
    [13, 20, 19, 22, 18, 8],
]
EDUCATION_BY_AGE = [
    [20, 55, 12, 12, 1],
    [8, 26, 22, 27, 17],
    [9, 27, 24, 24, 16],
    [12, 30, 27, 19, 12],
    [18, 32, 28, 14, 8],
    [28, 32, 25, 10, 5],
    [42, 31, 18, 6, 3],
]
EDUCATION_BY_REGION = [  # universities are in the capital
    [0.7, 0.9, 0.7, 1.4, 1.9],
    [1.2, 1.1, 1.1, 0.8, 0.7],
    [1.1, 1.0, 1.3, 0.9, 0.7],
    [1.0, 1.0, 1.0, 1.0, 1.0],
    [1.0, 1.0, 1.1, 1.0, 1.0],
    [1.5, 1.2, 0.8, 0.6, 0.5],
]
MARITAL_BY_AGE = [
    [95, 4, 1, 0],
    [63, 33, 4, 0],
    [28, 60, 11, 1],
    [16, 64, 18, 2],
    [10, 66, 19, 5],
    [6, 64, 14, 16],
    [5, 47, 8, 40],
]
MARITAL_BY_SEX = [[1.0, 1.0, 1.1, 1.6], [1.0, 1.0, 0.9, 0.4]]  # women outlive men
HOUSEHOLD_BY_MARITAL = [[42, 22, 18, 12, 6], [1, 38, 24, 26, 11], [48, 27, 15, 7, 3], [72, 18, 6, 3, 1]]
HOUSEHOLD_BY_AGE = [  # children come, and leave
    [0.5, 0.8, 1.4, 1.4, 1.3],
    [1.1, 1.1, 1.1, 0.8, 0.7],
    [0.7, 0.5, 1.2, 1.9, 2.0],
    [0.8, 0.7, 1.2, 1.5, 1.5],
    [1.1, 1.4, 0.9, 0.5, 0.5],
    [1.3, 1.9, 0.4, 0.1, 0.2],
    [1.6, 1.8, 0.3, 0.1, 0.2],
]
EMPLOYMENT_BY_AGE = [
    [42, 2, 9, 44, 0, 3],
    [75, 7, 7, 5, 0, 6],
    [77, 10, 5, 1, 0, 7],
    [75, 12, 5, 0, 1, 7],
    [57, 12, 5, 0, 17, 9],
    [7, 4, 0, 0, 84, 5],
    [1, 1, 0, 0, 95, 3],
]
EMPLOYMENT_BY_SEX = [[0.95, 0.7, 1.0, 1.0, 1.0, 2.2], [1.05, 1.3, 1.0, 1.0, 1.0, 0.4]]
EMPLOYMENT_BY_EDUCATION = [
    [0.8, 0.8, 2.4, 0.5, 1.0, 2.0],
    [0.9, 0.8, 1.2, 1.6, 1.0, 1.1],
    [1.1, 1.2, 0.8, 0.3, 1.0, 0.8],
    [1.1, 1.0, 0.7, 1.0, 1.0, 0.6],
    [1.1, 1.3, 0.5, 1.0, 0.9, 0.5],
]
OCCUPATION_BY_EMPLOYMENT = [  # only those who work have one
    [0, 17, 12, 15, 14, 19, 14, 9],
    [0, 6, 26, 20, 6, 8, 16, 18],
    [1, 0, 0, 0, 0, 0, 0, 0],
    [1, 0, 0, 0, 0, 0, 0, 0],
    [1, 0, 0, 0, 0, 0, 0, 0],
    [1, 0, 0, 0, 0, 0, 0, 0],
]
OCCUPATION_BY_EDUCATION = [
    [1, 3.2, 1.0, 1.4, 0.6, 0.3, 0.05, 0.1],
    [1, 1.3, 0.9, 1.7, 0.8, 1.2, 0.3, 0.5],
    [1, 0.6, 2.4, 0.7, 1.4, 0.9, 0.8, 0.6],
    [1, 0.1, 0.2, 0.6, 1.3, 1.5, 2.2, 1.7],
    [1, 0.05, 0.1, 0.2, 0.9, 0.9, 3.2, 3.0],
]
OCCUPATION_BY_SEX = [[1, 0.6, 0.2, 1.2, 1.8, 1.4, 0.6, 0.7], [1, 1.4, 1.8, 0.8, 0.3, 0.6, 1.4, 1.3]]
INCOME_BY_OCCUPATION = [
    [42, 30, 17, 8, 2, 1, 0],
    [6, 24, 42, 22, 5, 1, 0],
    [3, 10, 30, 36, 15, 5, 1],
    [9, 28, 34, 20, 6, 2, 1],
    [4, 14, 34, 34, 10, 3, 1],
    [3, 9, 28, 38, 16, 5, 1],
    [1, 3, 8, 27, 32, 22, 7],
    [1, 2, 5, 15, 25, 31, 21],
]
INCOME_BY_AGE = [  # it rises with the years, and pensions differ from the income of the young
    [3.0, 1.6, 1.0, 0.5, 0.2, 0.1, 0.03],
    [1.0, 1.1, 1.2, 1.1, 0.8, 0.5, 0.3],
    [0.8, 0.9, 1.0, 1.1, 1.2, 1.1, 1.0],
    [0.7, 0.8, 1.0, 1.1, 1.2, 1.4, 1.5],
    [0.6, 0.9, 1.1, 1.1, 1.2, 1.4, 1.7],
    [0.2, 1.2, 1.6, 1.5, 1.0, 0.8, 1.0],
    [0.3, 1.5, 1.5, 1.1, 0.7, 0.5, 0.6],
]
INCOME_BY_SEX = [[1.2, 1.2, 1.1, 1.0, 0.9, 0.7, 0.5], [0.8, 0.8, 0.9, 1.0, 1.1, 1.3, 1.5]]
HOUSING_BY_INCOME = [[72, 6, 22], [62, 12, 26], [52, 24, 24], [38, 38, 24], [26, 50, 24], [17, 55, 28], [9, 52, 39]]
HOUSING_BY_AGE = [  # loans are paid back by the time of retirement
    [2.6, 0.3, 0.2],
    [1.6, 1.0, 0.3],
    [0.9, 1.6, 0.5],
    [0.7, 1.5, 1.0],
    [0.6, 0.8, 1.9],
    [0.6, 0.2, 2.9],
    [0.6, 0.05, 3.1],
]
HOUSING_BY_REGION = [[2.2, 0.7, 0.5], [0.8, 1.1, 1.2], [0.9, 1.0, 1.2], [1, 1, 1], [0.9, 1.1, 1], [0.6, 0.9, 1.6]]
COMMUTE_BY_EMPLOYMENT = [
    [8, 52, 22, 9, 9],
    [38, 44, 8, 4, 6],
    [96, 1, 1, 1, 1],
    [6, 12, 46, 22, 14],
    [98, 1, 1, 0, 0],
    [98, 1, 1, 0, 0],
]
COMMUTE_BY_REGION = [  # the underground
    [1.1, 0.25, 2.8, 1.3, 1.2],
    [0.9, 1.3, 0.6, 0.7, 0.8],
    [0.9, 1.3, 0.6, 0.9, 0.9],
    [1.0, 1.1, 0.9, 1.1, 1.0],
    [1.0, 1.1, 0.9, 1.2, 1.0],
    [1.0, 1.2, 0.2, 0.6, 1.7],
]
INSURANCE_BY_INCOME = [
    [84, 1, 2, 13],
    [84, 2, 5, 9],
    [79, 5, 11, 5],
    [69, 9, 19, 3],
    [55, 17, 26, 2],
    [38, 31, 30, 1],
    [18, 50, 31, 1],
]
INSURANCE_BY_EMPLOYMENT = [
    [1.0, 0.8, 1.1, 0.5],
    [0.4, 2.6, 0.8, 3.2],
    [1.1, 0.3, 0.4, 2.5],
    [1.2, 0.5, 0.6, 0.6],
    [1.2, 0.8, 1.2, 0.1],
    [1.1, 0.9, 0.8, 1.2],
]


def people(rows: int = 50_000, seed: int = 0) -> Table:
    """A table of made-up people with the twelve attributes of `DOMAIN`: nobody's data, nothing private.

    The people are drawn with NumPy's random numbers; the same seed gives the same people. The strongest ties are those
    of employment with age, occupation and commute, of marital status with age and household, of income with occupation.

    >>> table = people(rows=1000)
    >>> table.columns.shape
    (12, 1000)
    >>> bool((table.columns == people(rows=1000).columns).all())
    True
    """
    if isinstance(rows, bool) or not hasattr(rows, "__index__") or rows < 0:
        raise ResiduumError(f"Expected `rows` to be a whole number from 0, got {rows!r}.")
    rng = np.random.default_rng(seed)

    def draw(*rules: tuple[Weights, Codes]) -> Codes:
        """A value for each person, with chances in proportion to the product of the weights for what they are."""
        weights = np.prod([np.asarray(rule, dtype=np.float64)[given] for rule, given in rules], axis=0)
        edges = np.cumsum(weights, axis=1)
        return np.sum(rng.random((rows, 1)) * edges[:, -1:] >= edges, axis=1)

    age = draw((AGE, np.zeros(rows, dtype=np.int64)))
    sex = draw((SEX_BY_AGE, age))
    region = draw((REGION_BY_AGE, age))
    education = draw((EDUCATION_BY_AGE, age), (EDUCATION_BY_REGION, region))
    marital = draw((MARITAL_BY_AGE, age), (MARITAL_BY_SEX, sex))
    household = draw((HOUSEHOLD_BY_MARITAL, marital), (HOUSEHOLD_BY_AGE, age))
    employment = draw((EMPLOYMENT_BY_AGE, age), (EMPLOYMENT_BY_SEX, sex), (EMPLOYMENT_BY_EDUCATION, education))
    occupation = draw(
        (OCCUPATION_BY_EMPLOYMENT, employment), (OCCUPATION_BY_EDUCATION, education), (OCCUPATION_BY_SEX, sex)
    )
    income = draw((INCOME_BY_OCCUPATION, occupation), (INCOME_BY_AGE, age), (INCOME_BY_SEX, sex))
    housing = draw((HOUSING_BY_INCOME, income), (HOUSING_BY_AGE, age), (HOUSING_BY_REGION, region))
    commute = draw((COMMUTE_BY_EMPLOYMENT, employment), (COMMUTE_BY_REGION, region))
    insurance = draw((INSURANCE_BY_INCOME, income), (INSURANCE_BY_EMPLOYMENT, employment))
    columns = [
        age, sex, region, education, marital, household, employment, occupation, income, housing, commute, insurance,
    ]  # fmt: skip
    return Table.from_codes(np.stack(columns, axis=1), DOMAIN)
