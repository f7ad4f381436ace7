"""Listening on this machine, and answering until Ctrl-C."""

import signal
import socket
from collections.abc import Callable

import uvicorn

from residuum.errors import ReleaseError
from residuum.present.explorer.guard import App, bracketed, is_loopback


def listening(host: str, port: int, *, remote: bool = False) -> socket.socket:
    """A socket that listens at this address; port 0 is any free one. Other machines reach it only with `remote`.

    >>> with listening("127.0.0.1", 0) as place: place.getsockname()[0]
    '127.0.0.1'
    >>> listening("0.0.0.0", 0)
    Traceback (most recent call last):
    residuum.errors.ReleaseError: At '0.0.0.0' other machines reach the explorer. Say --allow-remote if they may.
    """
    if not remote and not is_loopback(host):
        raise ReleaseError(f"At {host!r} other machines reach the explorer. Say --allow-remote if they may.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except PermissionError:
        raise ReleaseError(f"The system does not allow port {port}. Name one above 1023 with --port.") from None
    except (OSError, UnicodeError) as error:
        if isinstance(error, socket.gaierror | UnicodeError):
            raise ReleaseError(f"This machine has no address {host!r}. Leave out --host.") from None
        raise ReleaseError(
            f"Cannot listen at {bracketed(host)}:{port}: {(error.strerror or 'refused').lower()}. "
            "Name another port with --port, or any free one with --port 0."
        ) from None


def address(host: str, place: socket.socket) -> str:
    """What to type into a browser.

    >>> with listening("localhost", 0) as place: address("localhost", place).startswith("http://localhost:")
    True
    """
    return f"http://{bracketed('127.0.0.1' if host == '0.0.0.0' else host)}:{place.getsockname()[1]}/"


class _Server(uvicorn.Server):
    """A server that says when it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def serve(app: App, place: socket.socket, ready: Callable[[], None]) -> None:
    """Answer until somebody ends it, which raises KeyboardInterrupt; `ready` is called once it answers."""
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        access_log=False,
        log_config=None,
        log_level="critical",
        server_header=False,
        timeout_graceful_shutdown=1,
        ws="none",
    )

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        _Server(config, ready).run(sockets=[place])
    finally:
        signal.signal(signal.SIGTERM, before)
        place.close()
