"""The pages of the inbox: what waits, one question, answering it."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.datastructures import FormData
from starlette.responses import Response

from placet.clock import Clock
from placet.domain.interaction import (
    FormRequest,
    InteractionRequest,
    QuestionsRequest,
    UrlRequest,
)
from placet.domain.showing import TRUSTING
from placet.errors import (
    Conflict,
    FieldError,
    Invalid,
    NotAllowed,
    NotFound,
    PlacetError,
    Unauthenticated,
)
from placet.process.access import SESSION_COOKIE, authenticate
from placet.process.auth import Caller, check_nonce, nonce_of
from placet.process.problems import status_of
from placet_broker import ports
from placet_broker.api.cursors import cursor_after, place_of
from placet_broker.api.page import appearance, forms, markdown, views
from placet_broker.api.page.pages import moved, page, stylesheet
from placet_broker.api.page.returning import login_page
from placet_broker.rules import answering
from placet_broker.rules.record import Record
from placet_broker.usecases import UseCases
from placet_broker.usecases.submission import Submission

PAGE = 50


def router(use_cases: UseCases) -> APIRouter:
    """The routes; none of them is part of the API's description."""
    routes = APIRouter(include_in_schema=False)
    inbox = Inbox(use_cases)

    @routes.get("/")
    async def root() -> Response:
        return moved("/inbox")

    @routes.get("/inbox.css")
    async def style() -> Response:
        return stylesheet()

    routes.add_api_route("/inbox", inbox.list, methods=["GET"])
    routes.add_api_route("/inbox/{id}", inbox.show, methods=["GET"])
    routes.add_api_route("/inbox/{id}", inbox.answer, methods=["POST"])
    return routes


class Inbox:
    """The three pages."""

    def __init__(self, use_cases: UseCases) -> None:
        self._use_cases = use_cases

    async def list(
        self, request: Request, view: str = "pending", cursor: str | None = None
    ) -> Response:
        """What waits, oldest first; with `view=all`, everything, newest first."""
        try:
            who = await _person(request)
            query = ports.Query(
                who.namespace,
                "pending" if view != "all" else None,
                after=place_of(cursor),
                limit=PAGE,
            )
            found = await self._use_cases.read_inputs.find(who, query)
        except PlacetError as error:
            return _refusal(error, request)
        now = _clock(request).now()
        return page(
            "list.html",
            **_frame(request, who),
            rows=[views.row(record, now) for record in found],
            view="all" if view == "all" else "pending",
            more=cursor_after(found[-1]) if len(found) == PAGE else None,
        )

    async def show(self, request: Request, id: str) -> Response:
        """One question, the exact call first."""
        try:
            who = await _person(request)
            record = await self._use_cases.read_inputs.get(who, id)
            await self._use_cases.read_inputs.seen(who, record)
        except PlacetError as error:
            return _refusal(error, request)
        return await _detail(request, who, record)

    async def answer(self, request: Request, id: str) -> Response:
        """Answer by the page's form: nonce, Origin and the digest of what was shown."""
        try:
            who = await _person(request)
            record = await self._use_cases.read_inputs.get(who, id)
            form = await request.form()
            check_nonce(request.cookies.get(SESSION_COOKIE, ""), form.get("nonce"))
        except PlacetError as error:
            return _refusal(error, request)
        try:
            await self._use_cases.answer_input(_submission(record, who, form))
        except (Invalid, Conflict, NotAllowed) as error:
            current = await self._use_cases.read_inputs.get(who, id)
            return await _detail(request, who, current, error=error, form=form)
        except PlacetError as error:
            return _refusal(error, request)
        return moved(f"/inbox/{record.id}")


def _submission(record: Record, who: Caller, form: FormData) -> Submission:
    action, content = forms.submitted(record.request(), form)
    digest = form.get("digest")
    if not isinstance(digest, str) or not digest:
        raise Invalid("the form does not say what was shown; load the page again")
    return Submission(
        input_id=record.id,
        caller=who,
        channel="web",
        action=action,
        content=content,
        digest=digest,
    )


async def _detail(
    request: Request,
    who: Caller,
    record: Record,
    *,
    error: PlacetError | None = None,
    form: FormData | None = None,
) -> Response:
    asked = record.request()
    now = _clock(request).now()
    errors = _by_field(error)
    said, problems = views.problems(error) if isinstance(error, Invalid) else (str(error or ""), [])
    typed = forms.kept(asked, form) if form is not None else {}
    return page(
        "detail.html",
        status=status_of(error) if error else 200,
        **_frame(request, who),
        record=record,
        asked=asked,
        row=views.row(record, now),
        arguments=views.arguments(asked),
        body=await markdown.rendered(asked.body) if asked.body else None,
        context=views.context(record, asked),
        why=views.why(record, asked),
        host=appearance.host_note(asked.url) if isinstance(asked, UrlRequest) else "",
        barred=_barred(record, who),
        error=said,
        errors=errors,
        problems=[found for found in problems if not _stands_at_its_field(asked, found)],
        typed=typed,
        fields=views.fields(asked.form, typed, errors) if isinstance(asked, FormRequest) else [],
        outcome=_outcome(record),
        trusting=TRUSTING,
        unanswered=views.unanswered(asked),
    )


def _stands_at_its_field(asked: InteractionRequest, found: FieldError) -> bool:
    name = found.pointer.removeprefix("/")
    match asked:
        case FormRequest():
            return name in asked.form["properties"]
        case QuestionsRequest():
            return any(question.question == name for question in asked.questions)
        case _:
            return False


def _barred(record: Record, who: Caller) -> str:
    """Why this person may not answer, known before they try; empty if they may."""
    try:
        answering.answerer(record, who, None)
    except PlacetError as error:
        return str(error)
    return ""


def _outcome(record: Record) -> Any:
    resolution = record.resolution
    if resolution is None:
        return None
    content = resolution.outcome.content
    return {
        "how": views.how(record),
        "at": f"{resolution.at:%Y-%m-%d %H:%M:%S} UTC",
        "channel": resolution.channel,
        "reason": resolution.outcome.reason,
        "scope": resolution.outcome.scope,
        "content": None if isinstance(content, bool) or content is None else content,
    }


def _by_field(error: PlacetError | None) -> dict[str, str]:
    if not isinstance(error, Invalid):
        return {}
    return {found.pointer.removeprefix("/"): found.detail for found in error.errors}


async def _person(request: Request) -> Caller:
    """The person whose session this is; the page takes no API keys."""
    if request.cookies.get(SESSION_COOKIE) is None or "authorization" in request.headers:
        raise Unauthenticated("log in with a one-time link")
    return await authenticate(request)


def _refusal(error: PlacetError, request: Request) -> Response:
    titles: dict[type[PlacetError], str] = {
        Unauthenticated: "Please log in",
        NotFound: "Not here",
        NotAllowed: "Not allowed",
    }
    title = titles.get(type(error), "That did not work")
    login = login_page(request.url.path) if isinstance(error, Unauthenticated) else ""
    status = status_of(error)
    return page("refusal.html", status=status, title=title, detail=str(error), login=login)


def _frame(request: Request, who: Caller) -> dict[str, Any]:
    nonce = nonce_of(request.cookies.get(SESSION_COOKIE, ""))
    return {"person": who.id, "namespace": who.namespace, "nonce": nonce}


def _clock(request: Request) -> Clock:
    clock: Clock = request.app.state.platform.clock
    return clock
