"""Logging in with a one-time link, and out."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from placet.errors import NotAllowed, Unauthenticated
from placet.process.access import SESSION_COOKIE, check_origin
from placet.process.auth import SESSION_LIFE, Auth, check_nonce
from placet_broker.api.page.pages import moved, page

Token = Annotated[str, Form(max_length=200)]


def router(auth: Auth) -> APIRouter:
    """The routes; none of them is part of the API's description."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/login")
    async def offer(token: str = "") -> Response:
        """A GET decides nothing: mail scanners and previews follow links."""
        return page(
            "login.html", token=token, error="" if token else "Open the link that was printed."
        )

    @routes.post("/login")
    async def login(request: Request, token: Token) -> Response:
        try:
            check_origin(request)
            session = await auth.login(token)
        except (Unauthenticated, NotAllowed) as error:
            return page("login.html", status=401, token="", error=str(error))
        response = moved("/inbox")
        response.set_cookie(
            SESSION_COOKIE,
            session,
            max_age=int(SESSION_LIFE.total_seconds()),
            httponly=True,
            samesite="strict",
            secure=_is_https(request),
        )
        return response

    @routes.post("/logout")
    async def logout(request: Request, nonce: Token) -> Response:
        session = request.cookies.get(SESSION_COOKIE, "")
        check_origin(request)
        check_nonce(session, nonce)
        await auth.logout(session)
        response = moved("/login")
        response.delete_cookie(SESSION_COOKIE)
        return response

    return routes


def _is_https(request: Request) -> bool:
    public = request.app.state.platform.settings.public_url
    return request.url.scheme == "https" or (public or "").startswith("https:")
