"""`/l/TOKEN`: what a one-time link shows, and answers once somebody has shown who they are."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from placet.errors import Conflict, NotAllowed, NotFound, PlacetError, Unauthenticated
from placet.process.access import SESSION_COOKIE, check_origin
from placet.process.auth import Auth
from placet.process.problems import status_of
from placet_broker.api.page import question
from placet_broker.api.page.pages import moved, now_of, page, refusal
from placet_broker.api.page.returning import login_page
from placet_broker.rules import linking
from placet_broker.rules.record import Link, Record
from placet_broker.usecases import UseCases

Code = Annotated[str, Form(max_length=20)]


def router(use_cases: UseCases, auth: Auth) -> APIRouter:
    """The routes; none of them is part of the API's description."""
    routes = APIRouter(prefix="/l", include_in_schema=False)
    shown = Links(use_cases, auth)
    # HEAD as well: mail scanners send it, and it decides as little as GET does.
    routes.add_api_route("/{token}", shown.show, methods=["GET", "HEAD"])
    routes.add_api_route("/{token}", shown.answer, methods=["POST"])
    routes.add_api_route("/{token}/code", shown.want_code, methods=["POST"])
    return routes


class Links:
    """The page of a link. Its token is known to whoever sends its forms, so they need no nonce."""

    def __init__(self, use_cases: UseCases, auth: Auth) -> None:
        self._use_cases = use_cases
        self._auth = auth

    async def show(self, request: Request, token: str, sent: bool = False) -> Response:
        """The question and the answer that the link is for; looking changes nothing."""
        return await self._page(request, token, sent=sent)

    async def answer(self, request: Request, token: str, code: Code = "") -> Response:
        """Answer, with the code that was sent to the person or with their own session."""
        try:
            check_origin(request)
            if code.strip():
                await self._use_cases.link_input.by_code(token, code.strip())
            else:
                await self._by_session(request, token)
        except (NotAllowed, Conflict, Unauthenticated) as error:
            return await self._page(request, token, error=error)
        except PlacetError as error:
            return refusal(error, request)
        return moved(f"/l/{token}")

    async def want_code(self, request: Request, token: str) -> Response:
        """Have a code sent to the person whom the link names."""
        try:
            check_origin(request)
            await self._use_cases.link_input.want_code(token)
        except (NotAllowed, Conflict) as error:
            return await self._page(request, token, error=error)
        except PlacetError as error:
            return refusal(error, request)
        return moved(f"/l/{token}?sent=true")

    async def _by_session(self, request: Request, token: str) -> None:
        session = request.cookies.get(SESSION_COOKIE)
        if session is None:
            raise Unauthenticated("log in, or type the code that was sent to you")
        await self._use_cases.link_input.by_session(
            token, await self._auth.sessions.by_session(session)
        )

    async def _page(
        self,
        request: Request,
        token: str,
        *,
        error: PlacetError | None = None,
        sent: bool = False,
    ) -> Response:
        try:
            record, link = await self._use_cases.link_input.shown(token)
        except NotFound as unknown:
            return refusal(unknown, request)
        now = now_of(request)
        return page(
            "link.html",
            status=status_of(error) if error else 200,
            **await question.shown(record, now),
            token=token,
            login=login_page(f"/l/{token}"),
            link=link,
            dead=linking.why_dead(record, link, now),
            answers=_answers(record, link),
            error=str(error or ""),
            sent=sent,
        )


def _answers(record: Record, link: Link) -> str:
    """What a click on the page's button does, in words."""
    match link.action, link.content:
        case "decline", _:
            return "Deny" if record.kind == "tool_approval" else "Decline"
        case "cancel", _:
            return "Cancel"
        case _, True:
            return {"tool_approval": "Approve", "confirm": "Yes"}.get(record.kind, "Done")
        case _, False:
            return "Deny" if record.kind == "tool_approval" else "No"
        case _, dict() as content if "decision" in content:
            return _decided(content)
        case _:
            return "Send this answer"


def _decided(content: dict[str, Any]) -> str:
    words = {"approved": "Approve", "denied": "Deny", "skipped": "Skip"}
    scope = content.get("scope", "once")
    return words.get(str(content["decision"]), "Send this answer") + (
        f" for this {scope}" if scope != "once" else ""
    )
