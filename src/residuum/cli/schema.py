"""Draft a schema for a table."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from residuum.cli.common import Force, new_app, shown_path, written
from residuum.errors import ResiduumError

app = new_app()


@app.command()
def schema(
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="A CSV, Parquet or JSON lines file, or a database.", show_default=False),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write it.")] = None,
    query: Annotated[str | None, typer.Option(help="What to select from a database.")] = None,
    encoding: Annotated[
        Literal["utf-8", "latin-1", "utf-16"], typer.Option(help="How a CSV file is encoded.")
    ] = "utf-8",
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Write the JSON Schema of schema files instead, for editors.")
    ] = False,
    force: Force = False,
) -> None:
    """Draft a schema: which columns a table has, and which values they may take.

    The draft is guessed from the rows and tells about them: it is as private as they are, and each line that was read
    off the data says so. Replace those by what is known without the rows, then set `confirmed: true`. Until then no
    release is made with it. docs/schema.md has all there is to say in a schema.

    \b
    Examples:
      residuum schema people.csv -o schema.yaml
      residuum schema hospital.db --query "SELECT * FROM visits" -o schema.yaml
      residuum schema --json-schema -o residuum.schema.json
    """
    if json_schema:
        if data is not None:
            raise ResiduumError("Expected no data beside --json-schema, which is the same for all. Leave one out.")
        from residuum.data import schema as schemas

        text = json.dumps(schemas.json_schema(), indent=2) + "\n"
    elif data is None:
        raise ResiduumError("Expected the path of a table to draft a schema for, such as: residuum schema people.csv")
    else:
        from residuum.data.draft import draft

        text = draft(data, query=query, encoding=encoding)
    if output is None:
        typer.echo(text, nl=False)
        return
    with written(output, force=force) as place:
        place.write_text(text, encoding="utf-8")
    if not json_schema:
        typer.echo(
            f"Wrote a draft to {shown_path(output)}. It tells about the rows: keep it as private as they are.\n"
            'Go through the lines marked "read off the data", then set `confirmed: true` at its top. Next:\n'
            f"  residuum release {shown_path(Path(data or ''))} --schema {shown_path(output)} --epsilon 1 --delta 1e-9"
        )
