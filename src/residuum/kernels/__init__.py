"""All compiled code: arrays in, arrays out. Each kernel has a NumPy twin of the same name in `twins`.

Nothing is compiled, and the compiler not even imported, before a kernel is first used. The compiled code is kept on
disk, so that only the first use on a machine takes seconds, and says so.
"""

import sys
from functools import cache
from importlib import import_module
from threading import Timer
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from residuum.kernels.center import center_all as center_all
    from residuum.kernels.component import add_component as add_component
    from residuum.kernels.sub import sub_all as sub_all

_HOME = {"sub_all": "sub", "center_all": "center", "add_component": "component"}
_PATIENCE = 1.0
_NOTICE = "residuum: compiling kernels for this machine (once per installation)"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kernel = getattr(_load(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = kernel
    return kernel


def _load(module: str) -> ModuleType:
    """Import a module of kernels, which compiles them; say so on standard error if it takes longer than a second."""
    notice = Timer(_PATIENCE, _say)
    notice.daemon = True
    notice.start()
    try:
        return import_module(module)
    finally:
        notice.cancel()


@cache
def _say() -> None:
    print(_NOTICE, file=sys.stderr, flush=True)
