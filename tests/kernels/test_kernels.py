"""Every compiled kernel against its NumPy twin, at sizes on both sides of every switch in the code."""

import os
import threading
import time

import numpy as np
import pytest
from numba import config
from threadpoolctl import ThreadpoolController

from residuum import ResiduumError, kernels
from residuum.kernels import threads, twins

SHAPES = [
    (),
    (2,),
    (300,),
    (2, 2),
    (3, 9),
    (40, 8),
    (5, 1),
    (2, 2, 2),
    (7, 8, 9),
    (4, 3, 17),
    (3, 2, 4, 10),
    (2, 3, 2, 3, 2),
    (3, 4, 2, 5, 2, 9),
    (2,) * 9,
    (90, 80, 75),  # large enough for threads
    (2, 20, 30, 5, 100),
]


@pytest.fixture(params=["1", "3"])
def number_of_threads(request, monkeypatch):
    monkeypatch.setenv("RESIDUUM_THREADS", request.param)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.usefixtures("number_of_threads")
class TestParity:
    def test_sub_all(self, shape):
        mu = np.random.default_rng(1).normal(size=shape) * 100
        zeta, witness = kernels.sub_all(mu)
        expected, _ = twins.sub_all(mu)
        assert zeta.shape == expected.shape
        np.testing.assert_allclose(zeta, expected, rtol=1e-12, atol=1e-9)
        assert np.isfinite(witness)

    def test_center_all(self, shape):
        z = np.random.default_rng(2).normal(size=tuple(n - 1 for n in shape)) * 100
        out = kernels.center_all(z)
        assert out.shape == shape
        np.testing.assert_allclose(out, twins.center_all(z), rtol=1e-12, atol=1e-9)

    def test_add_component(self, shape):
        rng = np.random.default_rng(3)
        for keep in range(2 ** min(len(shape), 4)):
            axes = tuple(axis for axis in range(len(shape)) if keep >> axis & 1)
            component = rng.normal(size=tuple(shape[axis] for axis in axes))
            target = rng.normal(size=shape)
            expected = target.copy()
            distance = kernels.add_component(target, component, axes)
            np.testing.assert_allclose(distance, twins.add_component(expected, component, axes), rtol=1e-10)
            np.testing.assert_allclose(target, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(), (2,), (3, 9), (3, 4), (4, 3, 17), (3, 2, 4, 2), (90, 80, 75)], ids=str)
@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_one_bad_value_anywhere_shows_in_the_witness(shape, where, bad):
    for make, look in (
        (shape, lambda values: kernels.sub_all(values)[1]),
        (tuple(n - 1 for n in shape), lambda values: kernels.center_all(values).item(0)),
    ):
        values = np.ones(make)
        values.flat[{"first": 0, "middle": values.size // 2, "last": values.size - 1}[where]] = bad
        with np.errstate(invalid="ignore"):
            assert not np.isfinite(look(values))


def test_distance_does_not_depend_on_the_number_of_threads(monkeypatch):
    rng = np.random.default_rng(4)
    start, component = rng.normal(size=(90, 80, 75)), rng.normal(size=(90, 75))
    distances = set()
    for count in ("1", "2", "5"):
        monkeypatch.setenv("RESIDUUM_THREADS", count)
        distances.add(kernels.add_component(start.copy(), component, (0, 2)))
    assert len(distances) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_kernels_work_after_a_fork(monkeypatch):
    monkeypatch.setenv("RESIDUUM_THREADS", "2")
    mu = np.ones((90, 80, 75))
    kernels.sub_all(mu)  # the pool has threads now, which a child does not inherit
    child = os.fork()
    if child == 0:
        os._exit(0 if kernels.sub_all(mu)[1] == 0 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_unknown_kernel():
    with pytest.raises(AttributeError, match="no attribute 'transmogrify'"):
        kernels.transmogrify  # noqa: B018


def test_compiling_says_so_once_when_it_takes_long(monkeypatch, capsys):
    monkeypatch.setattr(kernels, "_once", threading.Lock())
    monkeypatch.setattr(kernels, "_PATIENCE", 0.01)
    monkeypatch.setattr(kernels, "import_module", lambda _: time.sleep(0.1))
    kernels._load("slow")
    kernels._load("slow")
    assert capsys.readouterr().err == kernels._NOTICE + "\n"


def test_number_of_threads_must_be_a_number(monkeypatch):
    for bad in ("two", "0", "²"):
        monkeypatch.setenv("RESIDUUM_THREADS", bad)
        with pytest.raises(ResiduumError, match=f"RESIDUUM_THREADS to be a whole number above 0, got '{bad}'"):
            threads.count()


def test_kernels_load_where_no_cache_can_be_written(monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", "")

    def refuse_until_a_folder_is_given(module):
        if not config.CACHE_DIR:
            raise RuntimeError("cannot cache function: no locator available")
        return module

    monkeypatch.setattr(kernels, "import_module", refuse_until_a_folder_is_given)
    assert kernels._load("kernel") == "kernel"
    assert os.access(config.CACHE_DIR, os.W_OK)


def test_an_interrupted_run_leaves_nothing_for_the_other_threads(monkeypatch):
    monkeypatch.setenv("RESIDUUM_THREADS", "2")
    done = []

    def task(piece):
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.01)
        done.append(piece)

    with pytest.raises(KeyboardInterrupt):
        threads.run(task, range(200))
    time.sleep(0.1)
    assert len(done) <= 3


def test_runs_within_runs_do_not_wait_for_each_other(monkeypatch):
    monkeypatch.setenv("RESIDUUM_THREADS", "2")
    assert threads.run(lambda i: sum(threads.run(lambda j: i * j, range(5))), range(5)) == [0, 10, 20, 30, 40]


def test_limits_that_overlap_leave_none_behind():
    threadpools = ThreadpoolController().select(user_api="blas")

    def limits():
        return {library["num_threads"] for library in threadpools.info()}

    with threadpools.limit(limits=2):
        before, one, other = limits(), threads.one_for_blas(), threads.one_for_blas()
        one.__enter__()
        other.__enter__()
        assert limits() == {1}
        one.__exit__(None, None, None)
        other.__exit__(None, None, None)
        assert limits() == before
