"""Releases as folders: a manifest that people can read, and Arrow files beside it.

    manifest.json     format, domain, workload, mechanism, budget and caveats; size and SHA-256 of the files below
    residuals.arrow   a row per measured residual: its precision, and where its values lie
    values.arrow      the values of all residuals, one after the other
    spends.arrow      a row per charge to the budget
    model.arrow       the latent classes, once they were fitted: see `model.py`

A folder is a release if it has a manifest, which is written last. Opening one reads the manifest and the two tables;
the values of a residual are read, and compared with their checksum, when a marginal needs them.
"""

import os
from dataclasses import replace
from pathlib import Path

from residuum.core.grem import Estimates
from residuum.errors import ReleaseError
from residuum.release import Release
from residuum.store import arrays, folder, manifest
from residuum.store.model import ModelFile


def save(release: Release, path: str | os.PathLike[str]) -> None:
    """Write a release to a new folder, for the user's own eyes: all of it or nothing.

    A folder that is there already must be empty, or hold no more than the journal of the run.

    >>> import tempfile
    >>> from residuum import Domain, Estimates, NoisyMarginal, Release, Workload
    >>> workload = Workload.all_kway(Domain({"age": 4, "sex": ["f", "m"]}), 1)
    >>> estimates = Estimates(workload, [NoisyMarginal((1,), [48, 53], sigma2=1.0)])
    >>> with tempfile.TemporaryDirectory() as place:
    ...     save(Release(estimates, 0.5, (), {"mechanism": "by hand", "caveats": ()}, frozenset()), f"{place}/release")
    ...     sorted(file.name for file in Path(place, "release").iterdir())
    ['manifest.json', 'residuals.arrow', 'spends.arrow', 'values.arrow']
    """
    if not isinstance(release, Release):
        raise ReleaseError(f"Expected a Release to save, got {type(release).__name__}.")
    content = manifest.describe(release)
    with folder.filled(folder_path(path)) as place:
        arrays.write_residuals(place, release.estimates)
        arrays.write_spends(place, release.spends)
        folder.write(place / folder.MANIFEST, manifest.sealed(content, folder.listing(place)))
    if release.fitted:
        ModelFile.of(release, folder_path(path)).put(release.fitted)


def load(path: str | os.PathLike[str]) -> Release:
    """Open the release in a folder. Its residuals are read from there when they are needed.

    >>> load("nowhere")
    Traceback (most recent call last):
    residuum.errors.ReleaseError: Expected a release in 'nowhere', but there is no such folder.
    """
    place = folder.Folder.existing(folder_path(path))
    described = manifest.opened(place)
    residuals, precisions = arrays.read_residuals(place, described.files, described.workload)
    release = Release(
        Estimates.kept(described.workload, residuals, precisions),
        described.rho,
        arrays.read_spends(place, described.files),
        described.provenance,
        described.lineage,
        described.schema,
    )
    return shelved(release, place.path)


def shelved(release: Release, path: str | os.PathLike[str]) -> Release:
    """The release, with its latent classes kept in its folder.

    >>> from residuum import Domain, Estimates, Release, Workload
    >>> estimates = Estimates(Workload.all_kway(Domain({"age": 4}), 1))
    >>> shelved(Release(estimates, 0.5, (), {"caveats": ()}, frozenset()), "place").fitted
    """
    return replace(release, shelf=ModelFile.of(release, folder_path(path)))


def folder_path(path: str | os.PathLike[str]) -> Path:
    """The path of a folder, if it can be one.

    >>> folder_path(None)
    Traceback (most recent call last):
    residuum.errors.ReleaseError: Expected the path of a folder, got None.
    """
    if not isinstance(path, str | os.PathLike) or "\0" in os.fsdecode(path):
        raise ReleaseError(f"Expected the path of a folder, got {path!r}.")
    return Path(path)
