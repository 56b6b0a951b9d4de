"""Who calls over HTTP: a key in the header or a session in the cookie, checked at each request."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from starlette.requests import Request

from placet.domain.standing import Standing
from placet.errors import NotAllowed, Unauthenticated
from placet.process.auth import Auth, Caller
from placet.process.edge import host_of, hosts_of

SESSION_COOKIE = "placet_session"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def login_path(link: str) -> str:
    """The path of the page that offers to log in with a one-time link's token."""
    return f"/login?token={link}"


def caller(*scopes: str) -> Callable[[Request], Awaitable[Caller]]:
    """A FastAPI dependency: the caller, who must have all of these scopes.

    Raises Unauthenticated (401) or NotAllowed (403, naming the missing scope).
    """

    async def dependency(request: Request) -> Caller:
        found = await authenticate(request)
        found.need(*scopes)
        return found

    return dependency


async def authenticate_with(request: Request, person: str | None) -> tuple[Caller, Standing | None]:
    """As `authenticate`, and who this person of the caller's namespace is, read at the same time.

    None: it was not read, or they are disabled; whoever needs it looks it up.
    """
    if person is None:
        return await authenticate(request), None
    auth: Auth = request.app.state.platform.auth
    return await auth.with_person(_bearer(request) or "", person)


async def authenticate(request: Request) -> Caller:
    """Who this request comes from; one read of one document. Raises Unauthenticated, NotAllowed."""
    auth: Auth = request.app.state.platform.auth
    key = _bearer(request)
    if key is not None:
        return await auth.by_bearer(key)
    session = request.cookies.get(SESSION_COOKIE)
    if session is None:
        raise Unauthenticated("send an API key: Authorization: Bearer plc_...")
    found = await auth.sessions.by_session(session)
    if request.method not in _SAFE:
        check_origin(request)
    return found


def foreseen(request: Request) -> Caller | None:
    """Whom `authenticate` will find, if this is a key that was used lately; a guess, and no proof."""
    auth: Auth = request.app.state.platform.auth
    return auth.keys.lately(_bearer(request) or "")


def check_origin(request: Request) -> None:
    """Refuse a request that another site's page made a browser send. Raises NotAllowed."""
    origin = request.headers.get("origin")
    own = request.headers.get("host", "")
    public = request.app.state.platform.settings.public_url
    if origin is None or (origin != public and not _is_own(origin, own, request)):
        raise NotAllowed("this request must come from Placet's own page (its Origin is another)")


def _bearer(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def _is_own(origin: str, own: str, request: Request) -> bool:
    known = hosts_of(request.app.state.platform.settings)
    return urlsplit(origin).netloc == own and ("*" in known or host_of(own) in known)
