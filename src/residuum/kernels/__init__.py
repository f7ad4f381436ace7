"""All compiled code: arrays in, arrays out. Each kernel has a NumPy twin of the same name in `twins`.

Nothing is compiled, and the compiler not even imported, before a kernel is first used. The compiled code is kept on
disk, so that only the first use on a machine takes seconds, and says so.
"""

import atexit
import sys
from functools import cache
from importlib import import_module
from tempfile import TemporaryDirectory
from threading import Lock, Timer
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from residuum.kernels.center import center_all as center_all
    from residuum.kernels.choice import choose as choose
    from residuum.kernels.choice import weigh as weigh
    from residuum.kernels.component import add_above as add_above
    from residuum.kernels.component import add_component as add_component
    from residuum.kernels.counting import bitmaps as bitmaps
    from residuum.kernels.counting import complete as complete
    from residuum.kernels.counting import extend as extend
    from residuum.kernels.counting import population_pair as population_pair
    from residuum.kernels.counting import population_triples as population_triples
    from residuum.kernels.counting import tally as tally
    from residuum.kernels.differences import subtract_component as subtract_component
    from residuum.kernels.gaussian import difference as difference
    from residuum.kernels.gaussian import draw as draw
    from residuum.kernels.sub import sub_all as sub_all

BLOCK = 256
"""How many weights of the exponential mechanism are added up together, so that a choice looks at few of them."""

_HOME = {
    "sub_all": "sub",
    "center_all": "center",
    "add_component": "component",
    "add_above": "component",
    "extend": "counting",
    "tally": "counting",
    "bitmaps": "counting",
    "population_pair": "counting",
    "population_triples": "counting",
    "complete": "counting",
    "subtract_component": "differences",
    "weigh": "choice",
    "choose": "choice",
    "draw": "gaussian",
    "difference": "gaussian",
}
_PATIENCE = 1.0
_once = Lock()  # taken by the first notice and never let go
_NOTICE = "residuum: loading the compiled kernels; the first time on a machine, compiling takes some seconds"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kernel = getattr(_load(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = kernel
    return kernel


def _load(module: str) -> ModuleType:
    """Import a module of kernels, which compiles them; say so on standard error if that takes longer than a second."""
    notice = Timer(_PATIENCE, _say)
    notice.daemon = True
    notice.start()
    try:
        return _import(module)
    finally:
        notice.cancel()


def _import(module: str) -> ModuleType:
    try:
        return import_module(module)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        from numba import config

        # Neither the package's folder nor the user's can be written: keep the compiled code for this process only.
        setattr(config, "CACHE_DIR", _temporary_folder())  # noqa: B010 (the name is made at run time)
        return import_module(module)


@cache
def _temporary_folder() -> str:
    folder = TemporaryDirectory(prefix="residuum-")
    atexit.register(folder.cleanup)
    return folder.name


def _say() -> None:
    if _once.acquire(blocking=False):
        print(_NOTICE, file=sys.stderr, flush=True)
