"""Who may ask the explorer, and what a browser may do with its answers.

A page of somebody else's, open in the same browser, can make a name of its own point to this machine and ask in that
name (DNS rebinding). So a request must name the very host that is served. Such a page can also ask in the server's own
name: the browser keeps the answers from it, and here it is refused the work of making them. All code and style come
from the package, which the content security policy holds: a text of the data that looks like script is never run.
"""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from ipaddress import ip_address
from typing import Any

from starlette.responses import PlainTextResponse

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""What every answer says."""

PAGES = ("/", "/budget")
"""Where a link of somebody else's may lead; all else is asked for by these pages."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine for itself, as they stand in an address."""


class Guard:
    """Lets through what asks this host, by GET; every answer leaves with the same headers."""

    def __init__(self, app: App, served: Callable[[str], bool]) -> None:
        self._app, self._served = app, served

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                if b"cache-control" not in given:
                    more.append((b"cache-control", b"no-store"))
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await (self._refusal(scope) or self._app)(scope, receive, headed)

    def _refusal(self, scope: Message) -> PlainTextResponse | None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._served(hosts[0].decode("latin-1")):
            return PlainTextResponse("This server does not answer under that host name.\n", 421)
        said = dict(scope["headers"])
        foreign = said.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin")
        if foreign and (said.get(b"sec-fetch-mode") != b"navigate" or scope["path"] not in PAGES):
            return PlainTextResponse("This server does not answer to other pages.\n", 403)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("There is nothing to send here.\n", 405, {"allow": "GET, HEAD"})
        return None


def serves(host: str, port: int) -> Callable[[str], bool]:
    """Whether a request names the host that listens, for a server at this address.

    A server for all addresses of a machine answers to each of them, and to the names of the machine for itself.

    >>> served = serves("127.0.0.1", 8765)
    >>> served("localhost:8765"), served("localhost"), served("evil.example:8765")
    (True, False, False)
    """
    own = {*LOOPBACK, bracketed(host).lower()}
    everywhere = host in ("0.0.0.0", "::")

    def served(asked: str) -> bool:
        found = re.fullmatch(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?", asked.lower())
        if found is None or int(found[2] or 80) != port:
            return False
        return found[1] in own or (everywhere and _is_address(found[1].strip("[]")))

    return served


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server at this address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def bracketed(host: str) -> str:
    """A host as it stands in an address.

    >>> bracketed("::1"), bracketed("127.0.0.1")
    ('[::1]', '127.0.0.1')
    """
    return f"[{host}]" if ":" in host else host


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
