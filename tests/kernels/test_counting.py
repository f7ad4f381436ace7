"""The kernels that count rows against their NumPy twins."""

import numpy as np
import pytest

from residuum import kernels
from residuum.kernels import twins

ROWS = [0, 1, 63, 64, 65, 1000, 1024]


@pytest.fixture(params=[np.uint8, np.uint16, np.uint32])
def dtype(request):
    return request.param


@pytest.mark.parametrize("rows", ROWS)
def test_extend(rows, dtype):
    rng = np.random.default_rng(rows)
    prefix = rng.integers(0, 2**40, rows, dtype=np.uint64)
    codes = rng.integers(0, 200, rows, dtype=dtype)
    out, expected = np.empty(rows, dtype=np.uint64), np.empty(rows, dtype=np.uint64)
    kernels.extend(prefix, codes, 200, out)
    twins.extend(prefix, codes, 200, expected)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("rows", ROWS)
def test_tally_adds_to_what_is_there(rows, dtype):
    rng = np.random.default_rng(rows)
    prefix = rng.integers(0, 5, rows, dtype=np.uint64)
    codes = rng.integers(0, 7, rows, dtype=dtype)
    out = rng.integers(0, 9, 35, dtype=np.int32)
    expected = out.copy()
    kernels.tally(prefix, codes, 7, out)
    twins.tally(prefix, codes, 7, expected)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("n", [2, 3, 200])
@pytest.mark.parametrize("rows", ROWS)
def test_bitmaps(rows, n, dtype):
    codes = np.random.default_rng(rows).integers(0, n, rows, dtype=dtype)
    out = np.full((n - 1, -(-rows // 64)), 2**64 - 1, dtype=np.uint64)  # what was there must not shine through
    expected = out.copy()
    kernels.bitmaps(codes, n, out)
    twins.bitmaps(codes, n, expected)
    np.testing.assert_array_equal(out, expected)


def prepared(rng, rows, sizes):
    """Maps of all attributes but the last, which a kernel must step over, and where they start."""
    sizes = np.array(sizes, dtype=np.int64)
    codes = rng.integers(0, sizes, size=(rows, len(sizes))).T.astype(np.uint8)
    first = np.concatenate([[0], np.cumsum(sizes - 1)[:-1]])
    maps = np.empty((int((sizes - 1).sum()), -(-rows // 64)), dtype=np.uint64)
    for i, n in enumerate(sizes):
        twins.bitmaps(codes[i], n, maps[first[i] : first[i] + n - 1])
    return codes, sizes, first, maps


def histogram(codes, sizes, gamma):
    shape = tuple(int(sizes[i]) for i in gamma)
    mu = np.zeros(shape, dtype=np.int32)
    np.add.at(mu, tuple(codes[i] for i in gamma), 1)
    return mu.reshape(-1)


def beyond_the_first(mu, shape):
    """The cells where no attribute has its first value, the others zero."""
    kept = np.zeros(shape, dtype=np.int32)
    inside = (slice(1, None),) * len(shape)
    kept[inside] = mu.reshape(shape)[inside]
    return kept.reshape(-1)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 5, 3), (4, 2, 7), (9, 3, 2)], ids=str)
@pytest.mark.parametrize("rows", ROWS)
def test_population_pair_adds_to_what_is_there(rows, sizes):
    codes, sizes, first, maps = prepared(np.random.default_rng(rows), rows, sizes)
    i, j, at = 0, 2, 5
    out = np.full(at + sizes[i] * sizes[j] + 3, -7, dtype=np.int32)
    before, expected = out.copy(), out.copy()
    kernels.population_pair(maps, first, sizes, i, j, out, at)
    twins.population_pair(maps, first, sizes, i, j, expected, at)
    np.testing.assert_array_equal(out, expected)
    counted = beyond_the_first(histogram(codes, sizes, (i, j)), (sizes[i], sizes[j]))
    np.testing.assert_array_equal((out - before)[at:-3], counted)


@pytest.mark.parametrize("sizes", [(2, 2, 2, 2), (2, 5, 3, 4), (4, 3, 7, 2), (9, 2, 2, 5)], ids=str)
@pytest.mark.parametrize("rows", ROWS)
def test_population_triples_add_to_what_is_there(rows, sizes):
    codes, sizes, first, maps = prepared(np.random.default_rng(rows), rows, sizes)
    i, j, others = 0, 1, np.array([2, 3])
    truth = [beyond_the_first(histogram(codes, sizes, (i, j, k)), (sizes[i], sizes[j], sizes[k])) for k in others]
    at = np.array([2, 2 + len(truth[0])])
    out = np.full(2 + sum(map(len, truth)) + 3, 4, dtype=np.int32)
    expected = out.copy()
    kernels.population_triples(maps, first, sizes, i, j, others, out, at)
    twins.population_triples(maps, first, sizes, i, j, others, expected, at)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(out[2:-3] - 4, np.concatenate(truth))


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 5, 3), (4, 2, 7), (9, 3, 2)], ids=str)
@pytest.mark.parametrize("rows", [0, 1, 500])
def test_complete(rows, sizes):
    codes, sizes, _, _ = prepared(np.random.default_rng(rows), rows, sizes)
    cliques = [(0,), (1,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    truth = np.concatenate([histogram(codes, sizes, gamma) for gamma in cliques])
    starts = dict(zip(cliques, np.cumsum([0, *(sizes[list(gamma)].prod() for gamma in cliques)]), strict=False))
    known = truth.copy()
    for gamma in ((0, 1), (0, 1, 2)):
        place = slice(starts[gamma], starts[gamma] + sizes[list(gamma)].prod())
        known[place] = beyond_the_first(truth[place], sizes[list(gamma)])
    shapes = np.array([[sizes[0], sizes[1], 1], sizes])
    at = np.array(
        [
            [starts[(0, 1)], starts[(0, 1)], starts[(0,)], starts[(1,)]],
            [starts[gamma] for gamma in ((0, 1, 2), (0, 1), (0, 2), (1, 2))],
        ]
    )
    for fill_in in (kernels.complete, twins.complete):
        out = known.copy()
        fill_in(out, shapes, at)
        np.testing.assert_array_equal(out, truth)
