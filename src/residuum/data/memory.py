"""Ask whether something fits in memory before it is taken."""

import os

from residuum.core.workload import Workload
from residuum.errors import WorkloadError

_MEASURING = 6 * 8


def measuring(workload: Workload) -> int:
    """How many bytes it takes to measure the largest marginal: its noise, its residual, and how the estimates move.

    >>> from residuum import Domain
    >>> measuring(Workload.all_kway(Domain({"age": 4, "sex": 2}), 2))
    384
    """
    return _MEASURING * max(workload.domain.size(gamma) for gamma in workload.targets)


def cells_of(workload: Workload) -> int:
    """How many cells the marginals of the closure have together: an exact number, however large.

    >>> from residuum import Domain
    >>> cells_of(Workload.all_kway(Domain({"age": 4, "sex": 2}), 2))
    15
    """
    return sum(workload.domain.size(gamma) for gamma in workload.closure)


def check_memory(workload: Workload, needed: int, beside: str = "") -> None:
    """Refuse a workload that needs more bytes than are free, before anything is allocated.

    What is needed must follow from public quantities: the error shows it.

    >>> from residuum import Domain
    >>> check_memory(Workload.all_kway(Domain({"age": 4, "sex": 2}), 2), needed=60)
    """
    available = _available_memory()
    if needed > available:
        raise WorkloadError(
            f"The marginals of this workload have {cells_of(workload):,} cells and need {needed / 2**30:,.2f} GiB of "
            f"memory ({needed:,} bytes){beside}, but only {available / 2**30:,.2f} GiB are free. Ask for marginals "
            "over fewer attributes, name the cliques that matter, or give large attributes coarser bins."
        )


def _available_memory() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
