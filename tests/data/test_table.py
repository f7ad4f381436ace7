import numpy as np
import pytest

from residuum import Domain, DomainError, Table

DOMAIN = Domain({"age": 4, "sex": 2})


def test_codes_by_column():
    codes = np.random.default_rng(0).integers(0, DOMAIN.sizes, size=(50, 2))
    for given in (codes, codes.tolist(), codes.astype(np.uint8), np.asfortranarray(codes), codes.astype(">i4")):
        table = Table.from_codes(given, DOMAIN)
        np.testing.assert_array_equal(table.columns, codes.T)
        assert all(column.flags.c_contiguous for column in table.columns)
    np.testing.assert_array_equal(Table.from_codes(codes[::3], DOMAIN).columns, codes[::3].T)


def test_the_table_has_its_own_copy():
    codes = np.zeros((5, 2), dtype=np.uint8)
    table = Table.from_codes(codes, DOMAIN)
    codes[:] = 1
    assert not table.columns.any()


@pytest.mark.parametrize(
    ("size", "dtype"), [(2**8, np.uint8), (2**8 + 1, np.uint16), (2**16, np.uint16), (2**16 + 1, np.uint32)]
)
def test_the_smallest_type_that_fits(size, dtype):
    table = Table.from_codes([[size - 1, 1], [0, 0]], Domain({"wide": size, "sex": 2}))
    assert table.columns.dtype == dtype
    assert table.columns[0].tolist() == [size - 1, 0]


@pytest.mark.parametrize("empty", [[], np.zeros((0, 2), dtype=int), np.zeros(0)], ids=["list", "rows", "numbers"])
def test_no_rows_are_fine(empty):
    assert Table.from_codes(empty, DOMAIN).columns.shape == (2, 0)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([[0, 0], [4, 0]], "from 0 to 3 in column 'age', got one outside"),
        ([[0, 0], [0, -1]], "from 0 to 1 in column 'sex', got one outside"),
        ([[0, 2**40]], "from 0 to 1 in column 'sex'"),
        (np.array([[0, 2**64 - 1]], dtype=np.uint64), "from 0 to 1 in column 'sex'"),
        ([[0.0, 1.0]], "whole numbers as codes, got float64"),
        ([[0, np.nan]], "whole numbers as codes, got float64"),
        ([["0", "1"]], "whole numbers as codes, got str"),
        ([[0, None]], "whole numbers as codes, got object"),
        ([[0, 1], [0]], "rows of different lengths"),
        ([[0, 1, 0]], "each of the 2 attributes, got 2 dimensions and 3 columns"),
        ([0, 1], "got 1 dimensions"),
        (5, "got 0 dimensions"),
        ([[[0, 1]]], "got 3 dimensions"),
    ],
)
def test_bad_codes(codes, message):
    with pytest.raises(DomainError, match=message):
        Table.from_codes(codes, DOMAIN)


def test_errors_and_representations_tell_nothing_private():
    table = Table.from_codes(np.ones((12345, 2), dtype=int), DOMAIN)
    assert "12345" not in repr(table)
    with pytest.raises(DomainError) as error:
        Table.from_codes([[0, 0]] * 777 + [[99, 0]], DOMAIN)
    assert "777" not in str(error.value)
    assert "99" not in str(error.value)


def test_a_mask_is_not_ignored():
    with pytest.raises(DomainError, match="got a masked array"):
        Table.from_codes(np.ma.masked_equal([[0, 1]], 1), Domain({"a": 2, "b": 2}))


def test_nothing_in_three_dimensions():
    with pytest.raises(DomainError, match="got 3 dimensions"):
        Table.from_codes(np.zeros((0, 7, 2), dtype=int), Domain({"a": 2, "b": 2}))
