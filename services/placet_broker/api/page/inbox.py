"""The pages of the inbox: what waits, one question, answering it."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.datastructures import FormData
from starlette.responses import Response

from placet.domain.interaction import (
    FormRequest,
    InteractionRequest,
    QuestionsRequest,
)
from placet.domain.person import Person
from placet.domain.showing import TRUSTING
from placet.errors import (
    Conflict,
    FieldError,
    Invalid,
    NotAllowed,
    PlacetError,
    Unauthenticated,
)
from placet.process.access import SESSION_COOKIE, authenticate
from placet.process.auth import Caller, check_nonce, nonce_of
from placet.process.problems import status_of
from placet_broker import ports
from placet_broker.api.cursors import cursor_after, place_of
from placet_broker.api.page import forms, question, views
from placet_broker.api.page.pages import moved, now_of, page, refusal, stylesheet
from placet_broker.rules.record import Record
from placet_broker.usecases import UseCases
from placet_broker.usecases.submission import Submission

Nonce = Annotated[str, Form(max_length=200)]
Attend = Callable[[str, Caller, Person | None], Awaitable[Record]]
PAGE = 50
VIEWS = ("mine", "pending", "all")


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
    routes.add_api_route("/inbox/{id}/claim", inbox.claim, methods=["POST"])
    routes.add_api_route("/inbox/{id}/release", inbox.release, methods=["POST"])
    return routes


class Inbox:
    """The three pages."""

    def __init__(self, use_cases: UseCases) -> None:
        self._use_cases = use_cases

    async def list(
        self, request: Request, view: str = "mine", cursor: str | None = None
    ) -> Response:
        """What waits for this person, oldest first; `pending`: for anybody; `all`: newest first."""
        view = view if view in VIEWS else VIEWS[0]
        try:
            who = await _person(request)
            state = None if view == "all" else "pending"
            query = ports.Query(who.namespace, state, after=place_of(cursor), limit=PAGE)
            found = await self._use_cases.read_inputs.find(who, query, mine=view == "mine")
        except PlacetError as error:
            return refusal(error, request)
        now = now_of(request)
        return page(
            "list.html",
            **_frame(request, who),
            rows=[views.row(record, now) for record in found],
            view=view,
            more=cursor_after(found[-1]) if len(found) == PAGE else None,
        )

    async def show(self, request: Request, id: str) -> Response:
        """One question, the exact call first."""
        try:
            who = await _person(request)
            record = await self._use_cases.read_inputs.get(who, id)
            await self._use_cases.read_inputs.seen(who, record)
        except PlacetError as error:
            return refusal(error, request)
        return await self._detail(request, who, record)

    async def claim(self, request: Request, id: str, nonce: Nonce = "") -> Response:
        """Say that one is looking at it."""
        return await self._attended(request, id, nonce, self._use_cases.attend_input.claim)

    async def release(self, request: Request, id: str, nonce: Nonce = "") -> Response:
        """Say that one is not any more."""
        return await self._attended(request, id, nonce, self._use_cases.attend_input.release)

    async def _attended(self, request: Request, id: str, nonce: str, act: Attend) -> Response:
        try:
            who = await _person(request)
            check_nonce(request.cookies.get(SESSION_COOKIE, ""), nonce)
            await act(id, who, None)
        except Conflict:
            return moved(f"/inbox/{id}")  # it has settled meanwhile, and the page says how
        except PlacetError as error:
            return refusal(error, request)
        return moved(f"/inbox/{id}")

    async def _detail(
        self,
        request: Request,
        who: Caller,
        record: Record,
        error: PlacetError | None = None,
        form: FormData | None = None,
    ) -> Response:
        barred = await self._use_cases.read_inputs.barred(record, who)
        return await _detail(request, who, record, barred, error=error, form=form)

    async def answer(self, request: Request, id: str) -> Response:
        """Answer by the page's form: nonce, Origin and the digest of what was shown."""
        try:
            who = await _person(request)
            record = await self._use_cases.answer_input.asked(id, who)
            form = await request.form()
            check_nonce(request.cookies.get(SESSION_COOKIE, ""), form.get("nonce"))
        except PlacetError as error:
            return refusal(error, request)
        try:
            await self._use_cases.answer_input(_submission(record, who, form))
        except (Invalid, Conflict, NotAllowed) as error:
            current = await self._use_cases.read_inputs.get(who, id)
            return await self._detail(request, who, current, error, form)
        except PlacetError as error:
            return refusal(error, request)
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
    barred: tuple[str, str],
    *,
    error: PlacetError | None = None,
    form: FormData | None = None,
) -> Response:
    asked = record.request()
    errors = _by_field(error)
    said, problems = views.problems(error) if isinstance(error, Invalid) else (str(error or ""), [])
    typed = forms.kept(asked, form) if form is not None else {}
    return page(
        "detail.html",
        status=status_of(error) if error else 200,
        **_frame(request, who),
        **await question.shown(record, now_of(request)),
        barred=barred[0],
        barred_yes=barred[1],
        error=said,
        errors=errors,
        problems=[found for found in problems if not _stands_at_its_field(asked, found)],
        typed=typed,
        fields=views.fields(asked.form, typed, errors) if isinstance(asked, FormRequest) else [],
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


def _by_field(error: PlacetError | None) -> dict[str, str]:
    if not isinstance(error, Invalid):
        return {}
    return {found.pointer.removeprefix("/"): found.detail for found in error.errors}


async def _person(request: Request) -> Caller:
    """The person whose session this is; the page takes no API keys."""
    if request.cookies.get(SESSION_COOKIE) is None or "authorization" in request.headers:
        raise Unauthenticated("log in with a one-time link")
    return await authenticate(request)


def _frame(request: Request, who: Caller) -> dict[str, Any]:
    nonce = nonce_of(request.cookies.get(SESSION_COOKIE, ""))
    return {"person": who.id, "namespace": who.namespace, "nonce": nonce}
