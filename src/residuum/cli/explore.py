"""Look through a release in a browser."""

import webbrowser
from importlib.util import find_spec
from threading import Thread
from typing import Annotated

import typer

from residuum import load
from residuum.cli.common import Folder, new_app
from residuum.errors import ReleaseError

app = new_app()


@app.command()
def explore(
    folder: Folder,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 for any free one.")] = 8765,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines in, where --host is an address they reach.")
    ] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
) -> None:
    """Look through a release in a browser: charts and tables with error bars, and how the budget was spent.

    A small web application on this machine, which needs no network and shows the release and nothing else. Other
    machines cannot reach it. Where the latent classes were not fitted yet, it fits them meanwhile. Ctrl-C ends it.

    \b
    Examples:
      residuum explore people-release
      residuum explore people-release --port 0 --no-browser
    """
    require("starlette", "uvicorn", "vl_convert")
    from residuum.present.explorer.app import application
    from residuum.present.explorer.guard import serves
    from residuum.present.explorer.serve import address, listening, serve

    place = listening(host, port, remote=remote)
    with place:
        release = load(folder)
        url = address(host, place)

        def ready() -> None:
            typer.echo(f"Exploring {folder} at {url} (Ctrl-C ends it)")
            if not no_browser:
                Thread(target=webbrowser.open, args=(url,), daemon=True).start()

        try:
            served = serves(host, place.getsockname()[1])
            serve(application(release, folder.resolve().name, served), place, ready)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("Stopped.") from None


def require(*names: str) -> None:
    """Refuse to begin where a library is missing."""
    for name in names:
        if find_spec(name) is None:
            raise ReleaseError(f"This needs {name}, which is not installed. Run: pip install 'residuum[explore]'")
