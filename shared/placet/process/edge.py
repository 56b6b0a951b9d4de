"""What every HTTP request passes first: a request id, a Host we answer to, a bounded body."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from placet.errors import Unavailable
from placet.ids import new_id
from placet.process import logs, problems
from placet.process.settings import Settings

MAX_BODY = 1024 * 1024
"""Bytes of a request's body."""
OPEN_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Answered for any Host and while the process still waits for its servers: probes call these."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LONGEST_ID = 128
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s\[\]:/?#@\\,]+)(:[0-9]{1,5})?", re.IGNORECASE)
"""`host` or `host:port`, and nothing else around it."""

Waiting = Callable[[], list[str]]


class Edge:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, *, settings: Settings, waiting: Waiting) -> None:
        self._app = app
        self._hosts = hosts_of(settings)
        self._waiting = waiting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = _request_id(headers.get("x-request-id", ""))

        async def stamp(message: Message) -> None:
            if message["type"] == "http.response.start":
                stamped = MutableHeaders(scope=message)
                stamped["X-Request-Id"] = request_id
                stamped["X-Content-Type-Options"] = "nosniff"
            await send(message)

        with logs.bound_contextvars(request_id=request_id):
            refusal = self._refusal(scope["path"], headers)
            await (refusal or self._app)(scope, _bounded(receive), stamp)

    def _refusal(self, path: str, headers: Headers) -> ASGIApp | None:
        if path in OPEN_PATHS:
            return None
        hosts = headers.getlist("host")
        if len(hosts) > 1 or (hosts and not host_of(hosts[0])):
            detail = "send one Host header: a name, or a name and a port"
            return problems.problem(400, detail, code="bad_host")
        if host_of(headers.get("host", "")) not in self._hosts and "*" not in self._hosts:
            detail = "this Host is not answered here; add it to PLACET_ALLOWED_HOSTS"
            return problems.problem(421, detail, code="wrong_host")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            return problems.problem(413, f"a body has at most {MAX_BODY} bytes", code="too_large")
        if waiting := self._waiting():
            return problems.of_error(Unavailable("waiting for: " + "; ".join(waiting)))
        return None


def hosts_of(settings: Settings) -> frozenset[str]:
    """The Host names that are answered."""
    public = urlsplit(settings.public_url or "").hostname
    named = {host_of(name) for name in settings.allowed_hosts}
    return frozenset(_LOOPBACK | named | {settings.host} | ({public} if public else set()))


def host_of(header: str) -> str:
    """A Host header without its port, in lower case; empty for one that is no `host[:port]`."""
    found = _HOST.fullmatch(header)
    return found[1].strip("[]").lower() if found else ""


def _request_id(given: str) -> str:
    fits = 0 < len(given) <= _LONGEST_ID and given.isascii() and given.isprintable()
    return given if fits else new_id("req")


def _bounded(receive: Receive) -> Receive:
    taken = 0

    async def bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > MAX_BODY:
            raise HTTPException(413, f"a body has at most {MAX_BODY} bytes")
        return message

    return bounded
