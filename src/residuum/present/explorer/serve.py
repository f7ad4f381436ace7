"""Listening on this machine, and answering until Ctrl-C."""

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from threading import Thread
from threading import enumerate as enumerate_threads

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
            f"Cannot listen at {bracketed(host)}:{port}: {os.strerror(error.errno or 0).lower()}. "
            "Name another port with --port, or any free one with --port 0."
        ) from None


def address(host: str, place: socket.socket) -> str:
    """What to type into a browser on this machine.

    >>> with listening("localhost", 0) as place: address("localhost", place).startswith("http://localhost:")
    True
    """
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{bracketed(here)}:{place.getsockname()[1]}/"


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

    before, earlier = signal.signal(signal.SIGTERM, stop), enumerate_threads()
    try:
        _Server(config, ready).run(sockets=[place])
    finally:
        signal.signal(signal.SIGTERM, before)
        place.close()
        _end_if_busy(earlier)


def _end_if_busy(earlier: Iterable[Thread]) -> None:
    """End the process where a large marginal is still being computed: it could wait for that, and not stop it."""
    threads = [thread for thread in enumerate_threads() if thread not in earlier and not thread.daemon]
    for thread in threads:
        thread.join(0.5)
    if any(thread.is_alive() for thread in threads):
        print("Stopped.", file=sys.stderr, flush=True)
        os._exit(130)
