"""The numbers of a release as Arrow files: residuals with their precisions, and charges to the budget.

The table of residuals says, for each, where its values begin in the file of values and what their SHA-256 is. So one
residual can be read, and trusted, without the rest of that file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import inf, prod
from pathlib import Path
from typing import Any

import numpy as np

from residuum.core.checks import Array
from residuum.core.domain import Clique
from residuum.core.grem import Estimates
from residuum.core.workload import Workload
from residuum.core.zcdp import Spend
from residuum.errors import ReleaseError
from residuum.store.folder import RESIDUALS, SPENDS, VALUES, Folder, created

_BATCH = 1 << 17
"""Small residuals are written together, about this many values at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredResiduals(Mapping[Clique, Array]):
    """The residuals in a release's folder: each is read when asked for, and compared with its checksum."""

    folder: Folder
    workload: Workload
    places: Mapping[Clique, tuple[int, bytes]]
    """Where the values of a residual begin, in bytes, and their SHA-256."""

    def __getitem__(self, tau: Clique) -> Array:
        offset, digest = self.places[tau]
        shape = _shape(self.workload, tau)
        part = self.folder.read_part(VALUES, offset, 8 * prod(shape), digest)
        values = np.frombuffer(part, dtype="<f8").astype(np.float64, copy=False).reshape(shape)
        if not np.isfinite(values).all():
            raise self.folder.damaged(f"{VALUES} holds values that are no numbers")
        return values

    def __iter__(self) -> Iterator[Clique]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, tau: object) -> bool:
        return tau in self.places


def write_residuals(place: Path, estimates: Estimates) -> None:
    """Write what is known of each residual, with no more than a few of them in memory at once."""
    import pyarrow as pa

    known = [tau for tau in estimates.workload.closure if estimates.precision(tau) > 0]
    within: list[tuple[int, int]] = []
    digests = []
    with created(place / VALUES) as file, pa.ipc.new_file(file, _schema(value=pa.float64())) as writer:
        for number, batch in enumerate(_batches(estimates, known)):
            start = 0
            for values in batch:
                within.append((number, start))
                digests.append(sha256(values.data).digest())
                start += values.nbytes
            writer.write_batch(pa.record_batch([np.concatenate(batch)], schema=_schema(value=pa.float64())))
    begins = _begins(place / VALUES)
    precisions = [estimates.precision(tau) for tau in known]
    offsets = [begins[number] + start for number, start in within]
    _write_table(place / RESIDUALS, _residuals(), [known, precisions, offsets, digests])


def read_residuals(
    folder: Folder, files: Mapping[str, Any], workload: Workload
) -> tuple[StoredResiduals, dict[Clique, float]]:
    """The residuals, to be read later, and their precisions."""
    taus, precisions, offsets, digests = _read_table(folder, RESIDUALS, files, _residuals())
    taus = [tuple(tau) for tau in taus]
    if len(set(taus)) < len(taus) or not all(tau in workload for tau in taus):
        raise folder.damaged(f"{RESIDUALS} names residuals that the workload does not have")
    if not all(0 < precision < inf for precision in precisions):
        raise folder.damaged(f"{RESIDUALS} holds precisions that make no sense")
    folder.require_size(VALUES, files[VALUES])
    ends = (offset + 8 * prod(_shape(workload, tau)) for tau, offset in zip(taus, offsets, strict=True))
    if min(offsets, default=0) < 0 or max(ends, default=0) > files[VALUES]["bytes"]:
        raise folder.damaged(f"{VALUES} has no room for all residuals")
    places = dict(zip(taus, zip(offsets, digests, strict=True), strict=True))
    return StoredResiduals(folder, workload, places), dict(zip(taus, precisions, strict=True))


def write_spends(place: Path, spends: Sequence[Spend]) -> None:
    """Write every charge, to the unit."""
    rows = [(spend.mechanism, spend.clique, spend.units, spend.budget) for spend in spends]
    _write_table(place / SPENDS, _spends(), [list(column) for column in zip(*rows, strict=True)] or [[]] * 4)


def read_spends(folder: Folder, files: Mapping[str, Any]) -> tuple[Spend, ...]:
    """Every charge, in order."""
    columns = _read_table(folder, SPENDS, files, _spends())
    if not all(0 < budget < inf for budget in columns[3]):
        raise folder.damaged(f"{SPENDS} holds budgets that make no sense")
    return tuple(
        Spend(mechanism, tuple(clique), int(units), budget)
        for mechanism, clique, units, budget in zip(*columns, strict=True)
    )


def _shape(workload: Workload, tau: Clique) -> tuple[int, ...]:
    return tuple(n - 1 for n in workload.domain.shape(tau))


def _batches(estimates: Estimates, taus: Sequence[Clique]) -> Iterator[list[Array]]:
    """The values of the residuals in order, flat, the small ones together."""
    batch: list[Array] = []
    size = 0
    for tau in taus:
        batch.append(np.asarray(estimates.residual(tau), dtype="<f8").reshape(-1))
        size += batch[-1].size
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _begins(path: Path) -> list[int]:
    """Where the values of each batch begin in an Arrow file of one column."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as file:
        whole = file.read_buffer()
        reader = pa.ipc.open_file(whole)
        batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
        return [batch.column(0).buffers()[1].address - whole.address for batch in batches]


def _residuals() -> Any:
    import pyarrow as pa

    return _schema(tau=pa.list_(pa.int32()), precision=pa.float64(), offset=pa.int64(), sha256=pa.binary(32))


def _spends() -> Any:
    """A charge can be the whole budget, 2⁹⁶ units, for which 64 bits are too few."""
    import pyarrow as pa

    return _schema(mechanism=pa.string(), clique=pa.list_(pa.int32()), units=pa.decimal128(38, 0), budget=pa.float64())


def _schema(**columns: Any) -> Any:
    import pyarrow as pa

    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


def _write_table(path: Path, schema: Any, columns: Sequence[list[Any]]) -> None:
    import pyarrow as pa

    try:
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise ReleaseError(f"The release cannot be saved: {path.name} has no room for a value ({error}).") from None
    with created(path) as file, pa.ipc.new_file(file, schema) as writer:
        writer.write_table(pa.table(arrays, schema=schema))


def _read_table(folder: Folder, name: str, files: Mapping[str, Any], schema: Any) -> list[list[Any]]:
    import pyarrow as pa

    data = folder.read_whole(name, files[name])
    try:
        table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
        table.validate(full=True)
        if table.schema.equals(schema) and not any(column.null_count for column in table.columns):
            return [column.to_pylist() for column in table.columns]
    except (pa.ArrowException, OSError, ValueError):
        pass
    raise folder.damaged(f"{name} is not a table that residuum writes")
