"""Go on with a run that died."""

from contextlib import closing
from os import PathLike

from residuum.data.counts import Counts
from residuum.data.table import Table
from residuum.errors import ReleaseError
from residuum.mechanism import aim, batch
from residuum.mechanism.journal import Journal
from residuum.mechanism.progress import Listener
from residuum.mechanism.run import Run, origin_of
from residuum.release import Release
from residuum.store import folder_path, load
from residuum.store.folder import JOURNAL, MANIFEST
from residuum.store.manifest import read_workload

_MECHANISMS = {aim.MECHANISM: aim.spend, batch.MECHANISM: batch.batch}


def resume(
    path: str | PathLike[str],
    table: Table | Counts | str | PathLike[str] | None = None,
    *,
    query: str | None = None,
    prior: Release | None = None,
    progress: bool | Listener | None = None,
) -> Release:
    """Go on with a run that was started with `output=path` and died, on the same table.

    What it had measured is kept and not drawn again. What it had charged beyond that, half a percent of the budget or
    one measurement, is lost. Where the table was read from a file or a database, the run finds it there; should it have
    moved, give its path (and `query`). A run that was started upon a `prior` release needs it again. A release that is
    complete is simply loaded; that needs no table.

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
    folder = folder_path(path)
    if (folder / MANIFEST).exists() and not (folder / JOURNAL).exists():
        return load(folder)
    journal, start = Journal.open(folder)
    with closing(journal):
        try:
            if (folder / MANIFEST).exists():
                release = load(folder)
                Run.conclude(journal, start, release)
                return release
            workload, mechanism, origin = read_workload(start), _MECHANISMS[start["mechanism"]], origin_of(start)
            run = Run.resume(journal, start, workload, prior)
        except (KeyError, TypeError):
            raise ReleaseError(f"The run in {str(path)!r} was started by another version of the program.") from None
        with run:
            if not isinstance(table, Table | Counts):
                if origin is None:
                    raise ReleaseError(
                        f"The run in {str(path)!r} is not complete. Give the table, so that it can go on."
                    )
                table = origin.read(table, query)
            return mechanism(run, table, workload, progress=progress, **start["parameters"])
