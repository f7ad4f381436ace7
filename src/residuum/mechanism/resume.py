"""Go on with a run that died."""

from os import PathLike
from pathlib import Path

from residuum.data.table import Table
from residuum.errors import ReleaseError
from residuum.mechanism import aim, batch
from residuum.mechanism.journal import Journal
from residuum.mechanism.progress import Listener
from residuum.mechanism.run import Run, described
from residuum.release import Release

_MECHANISMS = {aim.MECHANISM: aim.adaptive_loop, batch.MECHANISM: batch.batch}


def resume(
    path: str | PathLike[str],
    table: Table,
    *,
    prior: Release | None = None,
    progress: bool | Listener | None = None,
) -> Release:
    """Go on with a run that was started with `output=path` and died, on the same table.

    What it had measured is kept and not drawn again. What it had charged beyond that, half a percent of the budget or
    one measurement, is lost. A run that was started upon a `prior` release needs it again.

    >>> import numpy as np, tempfile
    >>> from residuum import Domain, Table, Workload, aim
    >>> domain = Domain({"age": 4, "sex": 2})
    >>> table = Table.from_codes(np.zeros((9, 2), dtype=int), domain)
    >>> def died(report):
    ...     raise KeyboardInterrupt
    >>> folder = tempfile.mkdtemp()
    >>> try:
    ...     aim(table, Workload.all_kway(domain, 2), rho=1.0, seed=1, output=folder, progress=died)
    ... except KeyboardInterrupt:
    ...     resume(folder, table).provenance["mechanism"]
    'AIM+GReM'
    """
    journal, start = Journal.open(Path(path))
    try:
        workload, mechanism = described(start), _MECHANISMS[start["mechanism"]]
        run = Run.resume(journal, start, workload, prior)
    except KeyError:
        journal.close()
        raise ReleaseError(f"The run in {str(path)!r} was started by another version of the program.") from None
    except BaseException:
        journal.close()
        raise
    with run:
        return mechanism(run, table, workload, progress=progress, **start["parameters"])
