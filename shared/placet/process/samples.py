"""One example of each request and reply of REST, by operation; the golden examples are their parts.

`placet.messages.examples` has what travels; here it is put into bodies and pages. A test holds each
against the schema that the OpenAPI document gives it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from placet.domain.grant import GivenGrant
from placet.domain.person import Person
from placet.domain.resolution import Input
from placet.domain.run import Run, RunStatus, WaitReason
from placet.errors import (
    Changed,
    Conflict,
    FieldError,
    Invalid,
    NotAllowed,
    NotFound,
    PlacetError,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unconditional,
)
from placet.messages.examples import AT, INPUT, RUN, UNTIL, answers, approvals, events, resolutions

AGENT = RUN.replace("run_", "agt_")
_KEY = "0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Sample:
    """What is sent to an operation, and what it replies with, by status; None for one without a body."""

    replies: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None


def samples() -> dict[str, Sample]:
    """By operation id."""
    return {**_runs(), **_definitions(), **_grants(), **_inputs(), **_keys(), **_webhooks()}


def problems() -> dict[int, PlacetError]:
    """By status, what is refused with it."""
    fields = [FieldError("/email", '"no address" is not a "email"')]
    settled = {"input": {"id": INPUT, "state": "answered"}}
    return {
        400: Invalid("the form's fields do not fit", fields),
        401: Unauthenticated("the API key is unknown or revoked"),
        403: NotAllowed("this credential lacks the scope runs:write"),
        404: NotFound(f"no run {RUN!r}"),
        409: Conflict(f"{INPUT} is answered", code="settled", body=settled),
        412: Changed('it is "3.0f1e2d3c4b5a6978" by now, not "2.8a7b6c5d4e3f2a1b"; read it again'),
        413: TooLarge("a body has at most 1048576 bytes"),
        428: Unconditional("send If-Match with the ETag that a GET of it replied with"),
        503: Unavailable("MongoDB at db:27017 cannot be reached"),
    }


def _page(*items: Any, **more: Any) -> dict[str, Any]:
    return {"items": list(items), "next_cursor": None, **more}


def _json(value: Any) -> Any:
    return value.model_dump(mode="json")


def _waiting() -> Any:
    asked = approvals()["full"]
    return _json(Input(id=INPUT, request=asked, asked_by="service:placet-runner"))


def _settled() -> Any:
    asked, ended = approvals()["full"], resolutions()["approved"]
    by = "service:placet-runner"
    return _json(Input(id=INPUT, state=ended.state, request=asked, resolution=ended, asked_by=by))


def _run(status: RunStatus) -> Any:
    waits = status is RunStatus.INPUT_REQUIRED
    asked = Input(id=INPUT, request=approvals()["full"])
    return _json(
        Run(
            id=RUN,
            agent_id=AGENT,
            agent="ops",
            status=status,
            wait_reasons=(WaitReason.TOOL_APPROVAL,) if waits else (),
            wait_reason=WaitReason.TOOL_APPROVAL if waits else None,
            inputs=(asked,) if waits else (),
            initiator="alice",
            root_run_id=RUN,
            path=("ops",),
            steps=1 if waits else 0,
            created_at=AT,
        )
    )


def _runs() -> dict[str, Sample]:
    queued, waiting = _run(RunStatus.QUEUED), _run(RunStatus.INPUT_REQUIRED)
    ended = _run(RunStatus.CANCELLED)
    told = {"text": "Use the replica instead", "mode": "queue"}
    return {
        "runner.start": Sample({"202": queued}, {"input": "Delete the staging database"}),
        "runner.runs": Sample({"200": _page(waiting)}),
        "runner.run": Sample({"200": waiting}),
        "runner.tell": Sample({"202": waiting}, told),
        "runner.tell_run": Sample({"202": waiting}, told),
        "runner.abort": Sample({"200": ended}),
        "runner.abort_run": Sample({"200": ended}),
    }


def _definitions() -> dict[str, Sample]:
    sent = {
        "model": "openai:gpt-5",
        "instructions": "Find out what the customer wants, then hand it over.",
        "builtins": ["ask_user_text", "ask_user_choice"],
        "delegates": ["ops"],
        "human_input": {"expires_in_seconds": 86_400, "approvers": ["group:support"]},
    }
    when = AT.isoformat().replace("+00:00", "Z")
    made = {
        "name": "intake",
        "source": "api",
        "tools": ["ask_user_choice", "ask_user_text", "delegate"],
        "model": "openai:gpt-5",
        "version": 1,
        "created_at": when,
        "created_by": "alice",
        "updated_at": when,
        "updated_by": "alice",
        "problem": None,
    }
    shown = made | {"definition": sent}
    return {
        "runner.agents": Sample({"200": _page({"name": "intake"}, {"name": "ops"})}),
        "runner.definitions": Sample({"200": _page(made, problems=[])}),
        "runner.definition": Sample({"200": shown}),
        "runner.put_definition": Sample({"200": shown | {"version": 2}, "201": shown}, sent),
        "runner.delete_definition": Sample(),
    }


def _grants() -> dict[str, Sample]:
    given = GivenGrant(
        id="grt_" + _KEY * 2,
        tool="bash",
        keys=("git status",),
        scope="run",
        by=Person(id="bob"),
        at=AT,
        input_id=INPUT,
        uses=2,
    )
    taken = given.model_copy(update={"revoked_at": UNTIL, "revoked_by": "alice"})
    return {
        "runner.list_grants": Sample({"200": _page(_json(given))}),
        "runner.revoke": Sample({"200": _json(taken)}),
        "runner.list_trust": Sample({"200": _page("search", "translate")}),
        "runner.end_trust": Sample({"200": _page("search")}),
    }


def _inputs() -> dict[str, Sample]:
    waiting, settled = _waiting(), _settled()
    said = _json(answers()["approved"])
    answer = {name: said[name] for name in ("action", "content")}
    both = {"answers": [answer | {"id": INPUT}], "mode": "all"}
    one, several = {"200": settled, "202": settled}, {"inputs": [settled]}
    asked = approvals()["service"].model_dump(
        mode="json", include={"call", "risk", "agent_id", "run_id", "requested_at"}
    )
    audit = {
        "input_id": INPUT,
        "history": [
            {"what": "opened", "by": "service:placet-runner", "at": "2026-03-14T09:26:53Z"}
        ],
        "intact": True,
        "flaws": [],
        "refused": [],
        "refused_count": 0,
    }
    return {
        "broker.list_inputs": Sample({"200": _page(waiting)}),
        "broker.list_agent_inputs": Sample({"200": _page(waiting)}),
        "broker.get_input": Sample({"200": waiting}),
        "broker.answer": Sample(one, answer),
        "broker.answer_of_agent": Sample(one, answer),
        "broker.answer_several": Sample({"200": several, "202": several}, both),
        "broker.answer_several_of_agent": Sample({"200": several, "202": several}, both),
        "broker.extend": Sample({"200": waiting}, {"expires_at": "2026-03-28T09:00:00Z"}),
        "broker.audit": Sample({"200": audit}),
        "broker.ask": Sample({"200": settled, "202": waiting}, asked | {"kind": "tool_approval"}),
        "broker.withdraw": Sample({"200": waiting}),
    }


def _keys() -> dict[str, Sample]:
    record = {
        "id": _KEY,
        "kind": "key",
        "name": "ci",
        "namespace": "default",
        "person": None,
        "service": "ci",
        "scopes": ["runs:read", "runs:write"],
        "created_at": "2026-03-14T09:26:53Z",
        "revoked_at": None,
    }
    sent = {"name": "ci", "service": "ci", "scopes": ["runs:read", "runs:write"]}
    own = {"id": "service:ci", "namespace": "default", "person": False, "scopes": ["runs:read"]}
    return {
        "broker.create": Sample(
            {
                "200": {"key": None, "record": record},
                "201": {"key": f"plc_{_KEY}_...", "record": record},
            },
            sent,
        ),
        "broker.list_keys": Sample({"200": _page(record)}),
        "broker.own": Sample({"200": own}),
        "broker.revoke": Sample(
            {"200": {"record": record | {"revoked_at": "2026-04-01T08:00:00Z"}}}
        ),
    }


def _webhooks() -> dict[str, Sample]:
    id, event = "whk_" + _KEY * 2, events()["input_requested"]
    sent = {"url": "https://example.com/placet", "types": [event.type], "description": "ops"}
    made = {
        "id": id,
        **sent,
        "created_at": "2026-03-14T09:26:53Z",
        "created_by": "alice",
        "disabled_at": None,
        "disabled_reason": None,
        "old_secret_until": None,
    }
    delivery = {
        "id": "dlv_" + _KEY * 2,
        "webhook_id": id,
        "event_id": event.id,
        "type": event.type,
        "state": "delivered",
        "attempts": 1,
        "created_at": "2026-03-14T09:26:53Z",
        "next_at": None,
        "last_at": "2026-03-14T09:26:54Z",
        "last_status": 204,
        "last_error": None,
    }
    fresh = {"webhook": made, "secret": "whsec_..."}
    stream = f"id: 7\nevent: {event.type}\ndata: {event.model_dump_json()}\n\n"
    return {
        "notifier.create": Sample({"200": {"webhook": made, "secret": None}, "201": fresh}, sent),
        "notifier.list_all": Sample({"200": _page(made)}),
        "notifier.get": Sample({"200": {"webhook": made}}),
        "notifier.delete": Sample(),
        "notifier.rotate": Sample({"200": fresh}),
        "notifier.deliveries": Sample({"200": _page(delivery)}),
        "notifier.redeliver": Sample({"202": {"delivery": delivery | {"state": "pending"}}}),
        "notifier.events": Sample({"200": stream}),
        "notifier.agent_events": Sample({"200": stream.replace(".requested", "_required", 1)}),
    }
