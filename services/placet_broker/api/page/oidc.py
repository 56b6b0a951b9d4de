"""Logging in at the issuer: there and back."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from placet.errors import Invalid, PlacetError
from placet.process.auth import Auth
from placet.process.auth.login import Attempt, Login
from placet_broker.api.page.login import give_session, is_https
from placet_broker.api.page.pages import moved, page, refused
from placet_broker.api.page.returning import is_own_path, own_path

ATTEMPT_SECONDS = 600
_COOKIE = "placet_login"


def router(auth: Auth, at_issuer: Login) -> APIRouter:
    """The routes; none of them is part of the API's description."""
    routes = APIRouter(prefix="/login/oidc", include_in_schema=False)
    pages = Pages(auth, at_issuer)
    routes.add_api_route("", pages.begin, methods=["GET"])
    routes.add_api_route("/callback", pages.come_back, methods=["GET"])
    return routes


class Pages:
    """There and back."""

    def __init__(self, auth: Auth, at_issuer: Login) -> None:
        self._auth = auth
        self._at_issuer = at_issuer

    async def begin(self, request: Request, return_to: str = "/inbox") -> Response:
        """Send the browser to the issuer, with what it needs to come back."""
        if not is_own_path(return_to):
            return _failed(Invalid("return_to is a path of this server, without // and backslash"))
        attempt = Attempt.begun(return_to)
        try:
            response = moved(await self._at_issuer.url(attempt))
        except PlacetError as error:
            return _failed(error)
        # Lax: the issuer sends the browser back, and that request must have it.
        secure = is_https(request)
        response.set_cookie(
            _cookie(secure=secure), attempt.cookie, max_age=ATTEMPT_SECONDS,
            httponly=True, samesite="lax", secure=secure,
        )  # fmt: skip
        return response

    async def come_back(self, request: Request) -> Response:
        """Log in whom the issuer names, if this browser is the one that began."""
        name = _cookie(secure=is_https(request))
        try:
            attempt = Attempt.from_cookie(request.cookies.get(name, ""))
            found = await self._at_issuer.finish(attempt, dict(request.query_params))
            await self._auth.admit(found)
            session = await self._auth.sessions.begin(
                found.namespace, found.id, found.scopes, found.groups
            )
        except PlacetError as error:
            response = _failed(error)
        else:
            # A page and no redirect: after one from another site the browser would not send the
            # session's cookie along, which is of requests from our own pages.
            response = page("welcome.html", place=own_path(attempt.return_to))
            give_session(response, session, request)
        response.delete_cookie(name, secure=is_https(request), httponly=True, samesite="lax")
        return response


def _cookie(*, secure: bool) -> str:
    """Over https no other host of the domain can set it."""
    return f"__Host-{_COOKIE}" if secure else _COOKIE


def _failed(error: PlacetError) -> Response:
    return refused(error, "/login", "Not logged in")
