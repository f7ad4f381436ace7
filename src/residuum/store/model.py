"""The latent classes of a release, kept in its folder: quicker to read than to fit anew, but no part of the release.

    model.arrow       a row per class: the fit it belongs to, its weight, and how often it has each value

The file says which measurements it was fitted to and by which version of the program, and has a checksum. One that is
of others, or damaged, is as good as none.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residuum.estimate.mixture import Mixture
from residuum.release import Release
from residuum.store.folder import MODEL
from residuum.store.manifest import software


@dataclass(frozen=True, slots=True)
class ModelFile:
    """Where the latent classes of one release are kept."""

    path: Path
    sizes: tuple[int, ...]
    origin: str
    """What tells the measurements and the program from others."""

    @classmethod
    def of(cls, release: Release, folder: Path) -> "ModelFile":
        """That of a release in its folder.

        >>> from residuum import Domain, Estimates, Workload
        >>> estimates = Estimates(Workload.all_kway(Domain({"sex": 2}), 1))
        >>> ModelFile.of(Release(estimates, 0.5, (), {"caveats": ()}, frozenset()), Path("place")).path.name
        'model.arrow'
        """
        known = [software(), *sorted(release.lineage)]
        return cls(folder.absolute() / MODEL, release.domain.sizes, sha256("\n".join(known).encode()).hexdigest())

    def take(self) -> Mixture | None:
        """The latent classes, if they are there and as they were written."""
        import pyarrow as pa

        try:
            table = pa.ipc.open_file(pa.BufferReader(self.path.read_bytes())).read_all()
            said = {key.decode(): text.decode() for key, text in (table.schema.metadata or {}).items()}
            if said.get("origin") != self.origin or not table.schema.equals(_schema(sum(self.sizes))):
                return None
            fits, weights = (table.column(name).to_numpy() for name in ("fit", "weight"))
            shares = table.column("shares").combine_chunks().flatten().to_numpy()
            if said.get("sha256") != _checksum(fits, weights, shares):
                return None
            members = int(fits.max()) + 1
            return Mixture(
                self.sizes,
                float(said["total"]),
                weights.reshape(members, -1),
                shares.reshape(members, -1, sum(self.sizes)),
            )
        except (pa.ArrowException, OSError, KeyError, ValueError):
            return None

    def put(self, model: Mixture) -> None:
        """Keep the latent classes, if the folder can be written to."""
        import pyarrow as pa

        members, classes, values = model.shares.shape
        fits = np.repeat(np.arange(members, dtype=np.int32), classes)
        weights, shares = model.weights.reshape(-1), model.shares.reshape(-1)
        said = {"origin": self.origin, "total": repr(model.total), "sha256": _checksum(fits, weights, shares)}
        columns = [pa.array(fits), pa.array(weights), pa.FixedSizeListArray.from_arrays(pa.array(shares), values)]
        table = pa.table(columns, schema=_schema(values)).replace_schema_metadata(said)
        with suppress(OSError):
            handle, name = mkstemp(prefix=".unfinished-", dir=self.path.parent)
            try:
                with os.fdopen(handle, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)
                os.replace(name, self.path)
            finally:
                Path(name).unlink(missing_ok=True)


def _schema(values: int) -> Any:
    import pyarrow as pa

    columns = {"fit": pa.int32(), "weight": pa.float32(), "shares": pa.list_(pa.float32(), values)}
    return pa.schema([pa.field(name, kind, nullable=name == "shares") for name, kind in columns.items()])


def _checksum(*parts: NDArray[Any]) -> str:
    return sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()
