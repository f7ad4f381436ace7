"""Write the marginals of a release to files."""

import csv
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import typer

from residuum import Marginal, Release, load
from residuum.cli.common import EstimateOption, Folder, Integers, new_app, shown_path
from residuum.cli.page import counted
from residuum.cli.tables import Format, save
from residuum.cli.workload import chosen
from residuum.errors import ReleaseError
from residuum.store.folder import reason

INDEX = "index.csv"

app = new_app()


@app.command()
def export(
    folder: Folder,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="A new folder for the files.")],
    workload: Annotated[
        str | None,
        typer.Option(metavar="K|FILE", help="Which marginals, as in residuum release. [default: those asked for]"),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="The format of the files.")] = "parquet",
    estimate: EstimateOption = "best",
    integers: Integers = False,
) -> None:
    """Write the marginals of a release to files, one for each, and an index of them.

    index.csv says for each file its columns, the standard error of the noise and what was never measured. Files of
    --estimate latent agree about what they share, and those of mle do.

    \b
    Examples:
      residuum export people-release -o tables
      residuum export people-release -o singles --workload 1 --format csv
      residuum export people-release -o some --workload cliques.yaml --estimate latent --integers
    """
    release = load(folder)
    cliques = release.workload.targets if workload is None else chosen(workload, release.domain).targets
    for gamma in cliques:
        release.noise(gamma)  # what the release does not hold is told before anything is written
    if os.path.lexists(output):
        raise ReleaseError(f"There is something at {str(output)!r} already. Name a new folder.")
    try:
        place = Path(mkdtemp(prefix=".unfinished-", dir=output.parent))
        try:
            marginals = (release.marginal(gamma, estimate) for gamma in cliques)
            _write(release, (marginal.to_integers() if integers else marginal for marginal in marginals), form, place)
            place.rename(output)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    except OSError as error:
        raise ReleaseError(f"The files could not be written to {str(output)!r}: {reason(error)}.") from None
    typer.echo(f"Wrote {counted(len(cliques), 'marginal')} to {shown_path(output)}; {INDEX} lists them.")


def _write(release: Release, marginals: Iterable[Marginal], form: Format, place: Path) -> None:
    taken = {INDEX}
    with (place / INDEX).open("w", encoding="utf-8", newline="") as index:
        writer = csv.writer(index, lineterminator="\n")
        writer.writerow(["file", "columns", "cells", "estimate", "noise_stderr", "unmeasured", "caveats"])
        for marginal in marginals:
            name = _file(marginal.attributes, form, taken)
            with (place / name).open("xb") as file:
                save(marginal, release, form, file)
            unmeasured = "; ".join(" x ".join(part) or "total" for part in marginal.unmeasured)
            caveats = "; ".join(map(str, release.provenance["caveats"]))
            columns = " x ".join(marginal.attributes)
            what = [name, columns, marginal.values.size, marginal.estimate]
            writer.writerow([*what, repr(marginal.noise_stderr), unmeasured, caveats])


def _file(attributes: tuple[str, ...], form: Format, taken: set[str]) -> str:
    """A name that every system takes, and that no other file here has in any letters."""
    stem = "_".join(re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-") or "column" for name in attributes)[:120] or "total"
    name, number = f"{stem}.{form}", 1
    while name.casefold() in taken:
        number += 1
        name = f"{stem}-{number}.{form}"
    taken.add(name.casefold())
    return name
