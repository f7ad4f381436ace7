import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from residuum import DomainError, ResiduumError
from residuum.core import axis

values = st.floats(-1e6, 1e6)
arrays = hnp.arrays(float, hnp.array_shapes(min_dims=1, max_dims=5, max_side=5), elements=values)


def along(array, position, operation):
    return np.apply_along_axis(operation, position, array)


@given(arrays, st.data())
def test_each_operation_is_the_one_of_table_1_along_every_vector(array, data):
    position = data.draw(st.integers(-array.ndim, array.ndim - 1))
    padded = lambda v: np.concatenate([[0.0], v])  # noqa: E731
    for operation, by_hand in (
        (axis.sum, lambda v: np.array([v.sum()])),
        (axis.sub, lambda v: v[1:] - v[0]),
        (axis.center, lambda v: padded(v) - padded(v).mean()),
    ):
        np.testing.assert_allclose(operation(array, position), along(array, position, by_hand), rtol=1e-9, atol=1e-6)
    total = axis.sum(array, position)
    np.testing.assert_allclose(axis.smear(total, position, 3), along(total, position, lambda v: v / 3 * np.ones(3)))


@given(arrays, st.data())
def test_sub_undoes_center_and_sum_undoes_smear(array, data):
    position = data.draw(st.integers(0, array.ndim - 1))
    np.testing.assert_allclose(axis.sub(axis.center(array, position), position), array, rtol=1e-9, atol=1e-6)
    total = axis.sum(array, position)
    np.testing.assert_allclose(axis.sum(axis.smear(total, position, 7), position), total, rtol=1e-9, atol=1e-6)


def test_whole_numbers_and_lists_are_fine():
    assert axis.sub(np.array([1, 5, 250], dtype=np.uint8), 0).tolist() == [4.0, 249.0]
    assert axis.sub(np.array([5, 1], dtype=np.uint8), 0).tolist() == [-4.0]


@pytest.mark.parametrize("operation", [axis.sum, axis.sub, axis.center, lambda a, i: axis.smear(a, i, 2)])
class TestBadInput:
    @pytest.mark.parametrize("position", [2, -3, 0.5, None, True])
    def test_axis(self, operation, position):
        with pytest.raises(DomainError, match=f"Expected an axis of an array with 2 axes, got {position}"):
            operation(np.ones((1, 1)), position)

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            ([[1.0, float("nan")]], r"got nan at index \(0, 1\)"),
            ([[float("-inf")]], r"got -inf at index \(0, 0\)"),
            ([[1j]], "Expected real numbers in `array`, got complex128"),
            ([["a"]], "Expected real numbers"),
            ([[1, 2], [3]], "rows of different lengths"),
        ],
    )
    def test_values(self, operation, array, message):
        with pytest.raises(ResiduumError, match=message):
            operation(array, 0)


def test_shapes_that_do_not_fit_the_operation():
    with pytest.raises(DomainError, match="at least one slice along axis 0"):
        axis.sub(np.ones((0, 2)), 0)
    with pytest.raises(DomainError, match="Expected length 1 along axis 0 to smear, got 2"):
        axis.smear([1, 2], 0, 3)
    for k in (0, -1, 1.5, True):
        with pytest.raises(DomainError, match=f"Expected `k` to be a whole number above 0, got {k}"):
            axis.smear([1], 0, k)
