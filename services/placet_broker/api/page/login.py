"""Logging in with a one-time link or at the issuer, and out."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from placet.errors import NotAllowed, Unauthenticated
from placet.process.access import SESSION_COOKIE, check_origin
from placet.process.auth import SESSION_LIFE, Auth, check_nonce
from placet.process.auth.login import Login
from placet_broker.api.page.pages import moved, page
from placet_broker.api.page.returning import begin_path, own_path

Token = Annotated[str, Form(max_length=200)]


def router(auth: Auth, at_issuer: Login | None) -> APIRouter:
    """The routes; none of them is part of the API's description."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/login")
    async def offer(token: str = "", return_to: str = "/inbox") -> Response:
        """A GET decides nothing: mail scanners and previews follow links."""
        at = _at_issuer(at_issuer, return_to)
        error = "" if token or at["issuer"] else "Open the link that was printed."
        return page("login.html", token=token, error=error, **at)

    @routes.post("/login")
    async def login(request: Request, token: Token) -> Response:
        try:
            check_origin(request)
            session = await auth.sessions.login(token)
        except (Unauthenticated, NotAllowed) as error:
            at = _at_issuer(at_issuer, "/inbox")
            return page("login.html", status=401, token="", error=str(error), **at)
        response = moved("/inbox")
        give_session(response, session, request)
        return response

    @routes.post("/logout")
    async def logout(request: Request, nonce: Token) -> Response:
        session = request.cookies.get(SESSION_COOKIE, "")
        check_origin(request)
        check_nonce(session, nonce)
        await auth.sessions.logout(session)
        response = moved("/login")
        response.delete_cookie(SESSION_COOKIE)
        return response

    return routes


def _at_issuer(at_issuer: Login | None, return_to: str) -> dict[str, Any]:
    """What the page says of the issuer: its name, and where a login there begins."""
    if at_issuer is None:
        return {"issuer": "", "begin": ""}
    return {"issuer": at_issuer.client.name, "begin": begin_path(own_path(return_to))}


def give_session(response: Response, session: str, request: Request) -> None:
    """Let the browser keep its session, and send it with requests of our own pages alone."""
    response.set_cookie(
        SESSION_COOKIE,
        session,
        max_age=int(SESSION_LIFE.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=is_https(request),
    )


def is_https(request: Request) -> bool:
    """Whether the browser came by https."""
    public = request.app.state.platform.settings.public_url
    return request.url.scheme == "https" or (public or "").startswith("https:")
