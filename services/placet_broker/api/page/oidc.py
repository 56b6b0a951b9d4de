"""Logging in at the issuer: there and back."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from placet.errors import NotAllowed, PlacetError, Unauthenticated
from placet.process.auth import Auth
from placet.process.auth.login import Attempt, Login
from placet.process.problems import status_of
from placet_broker.api.page.login import give_session, is_https
from placet_broker.api.page.pages import moved, page
from placet_broker.api.page.returning import is_own_path

ATTEMPT_SECONDS = 600
_COOKIE = "placet_login"


def router(auth: Auth, at_issuer: Login) -> APIRouter:
    """The routes; none of them is part of the API's description."""
    routes = APIRouter(prefix="/login/oidc", include_in_schema=False)

    @routes.get("")
    async def begin(request: Request, return_to: str = "/inbox") -> Response:
        if not is_own_path(return_to):
            detail = "return_to is a path of this server, with no // and no backslash in it"
            return _failed(400, "That did not work", detail)
        attempt = Attempt.begun(return_to)
        try:
            response = moved(await at_issuer.url(attempt))
        except PlacetError as error:
            return _failed(status_of(error), "That did not work", str(error))
        # Lax: the issuer sends the browser back, and that request must have it.
        secure = is_https(request)
        response.set_cookie(
            _cookie(secure=secure), attempt.cookie, max_age=ATTEMPT_SECONDS,
            httponly=True, samesite="lax", secure=secure,
        )  # fmt: skip
        return response

    @routes.get("/callback")
    async def callback(request: Request) -> Response:
        secure = is_https(request)
        try:
            attempt = Attempt.from_cookie(request.cookies.get(_cookie(secure=secure), ""))
            found = await at_issuer.finish(attempt, dict(request.query_params))
            await auth.admit(found)
            session = await auth.sessions.begin(
                found.namespace, found.id, found.scopes, found.groups
            )
        except PlacetError as error:
            titles: dict[type[PlacetError], str] = {
                Unauthenticated: "Not logged in",
                NotAllowed: "Not allowed",
            }
            title = titles.get(type(error), "That did not work")
            response = _failed(status_of(error), title, str(error))
        else:
            # A page and no redirect: after one from another site the browser would not send the
            # session's cookie along, which is of requests from our own pages.
            place = attempt.return_to if is_own_path(attempt.return_to) else "/inbox"
            response = page("welcome.html", place=place)
            give_session(response, session, request)
        response.delete_cookie(_cookie(secure=secure), secure=secure, httponly=True, samesite="lax")
        return response

    return routes


def _cookie(*, secure: bool) -> str:
    """Over https no other host of the domain can set it."""
    return f"__Host-{_COOKIE}" if secure else _COOKIE


def _failed(status: int, title: str, detail: str) -> Response:
    return page("refusal.html", status=status, title=title, detail=detail, login="/login")
