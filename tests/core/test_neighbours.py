from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from residuum import ResiduumError
from residuum.core.neighbours import ADD_REMOVE, Neighbours

REPLACE = Neighbours("replace")
SIZES = [(), (2,), (7,), (2, 2), (2, 5), (3, 4), (2, 2, 2), (3, 2, 4), (5, 3, 3)]


def centred(sizes, row):
    """The centred marginal of one row, as fractions."""
    part = np.array(Fraction(1), dtype=object)
    for n, value in zip(sizes, row, strict=True):
        axis = np.array([Fraction(int(k == value)) - Fraction(1, n) for k in range(n)], dtype=object)
        part = np.multiply.outer(part, axis)
    return part


@pytest.mark.parametrize("sizes", SIZES)
def test_sensitivities_by_enumeration(sizes):
    rows = [centred(sizes, row) for row in product(*map(range, sizes))]
    assert max(np.sum(row**2) for row in rows) == Fraction(*ADD_REMOVE.sensitivity2(sizes))
    furthest = max(np.sum((one - two) ** 2) for one in rows for two in rows)
    assert furthest == Fraction(*REPLACE.sensitivity2(sizes))
    assert REPLACE.cost(sizes) == float(furthest)


def test_a_marginal_moves_by():
    assert (ADD_REMOVE.moved, REPLACE.moved) == (1, 2)


def test_a_relation_nobody_knows():
    with pytest.raises(ResiduumError, match="'add-remove' or 'replace', got 'swap'"):
        Neighbours("swap")
