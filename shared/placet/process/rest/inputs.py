"""/v1/inputs and /v1/requests: what is asked, and answering it."""

from collections.abc import Mapping
from typing import Any

from placet.domain.resolution import Input
from placet.messages.examples import INPUT, answers, approvals, resolutions
from placet.process.rest.answers import (
    AnswerSent,
    AudienceSent,
    BatchSent,
    ExtensionSent,
    Signed,
)
from placet.process.rest.operation import REF, Operation, as_json, page

_ASKER = "service:placet-runner"
REQUEST = {"$ref": REF.format(model="InteractionRequest-Input")}
"""A request as it is sent, where much may be left out."""


def operations() -> dict[str, Operation]:
    """By operation id."""
    waiting, settled = _waiting(), _settled()
    listed = Operation({"200": page(waiting)}, shape=_page_of_inputs())
    return {
        "broker.list_inputs": listed,
        "broker.list_agent_inputs": listed,
        "broker.get_input": Operation({"200": waiting, "304": None}),
        **_answers(settled),
        **_attention(waiting),
        "broker.ask": Operation({"200": settled, "202": waiting}, _asked(), sent=REQUEST),
        "broker.withdraw": Operation({"200": waiting}),
    }


def _answers(settled: Any) -> dict[str, Operation]:
    said = as_json(answers()["approved"])
    answer = {name: said[name] for name in ("action", "content")}
    one = Operation({"200": settled, "202": settled}, answer, sent=AnswerSent)
    several = {"inputs": [settled]}
    both = {"answers": [answer | {"id": INPUT}], "mode": "all"}
    batch = Operation({"200": several, "202": several}, both, _batch(), BatchSent)
    return {
        "broker.answer": one,
        "broker.answer_of_agent": one,
        "broker.answer_several": batch,
        "broker.answer_several_of_agent": batch,
    }


def _attention(waiting: Mapping[str, Any]) -> dict[str, Operation]:
    claim = {"by": "bob", "until": "2026-03-14T09:36:53Z"}
    claimed = {"200": {**waiting, "claimed": claim}}
    later = {"expires_at": "2026-03-28T09:00:00Z"}
    others = {"add": ["group:dba"], "remove": ["bob"]}
    return {
        "broker.extend": Operation({"200": waiting}, later, sent=ExtensionSent),
        "broker.claim": Operation(claimed, {"from": "bob"}, sent=Signed),
        "broker.release": Operation({"200": waiting}, {"from": "bob"}, sent=Signed),
        "broker.edit_audience": Operation({"200": waiting}, others, sent=AudienceSent),
    }


def _waiting() -> Any:
    asked = approvals()["full"]
    return as_json(Input(id=INPUT, request=asked, asked_by=_ASKER))


def _settled() -> Any:
    asked, ended = approvals()["full"], resolutions()["approved"]
    settled = Input(id=INPUT, state=ended.state, request=asked, resolution=ended, asked_by=_ASKER)
    return as_json(settled)


def _asked() -> Any:
    named = {"call", "risk", "agent_id", "run_id", "requested_at"}
    asked = approvals()["service"].model_dump(mode="json", include=named)
    return asked | {"kind": "tool_approval"}


def _page_of_inputs() -> dict[str, Any]:
    items = {"type": "array", "items": {"$ref": REF.format(model="Input")}}
    cursor = {"type": ["string", "null"]}
    return {
        "type": "object",
        "required": ["items", "next_cursor"],
        "properties": {"items": items, "next_cursor": cursor},
    }


def _batch() -> dict[str, Any]:
    """`inputs` where it was all or none; a result for each otherwise."""
    shown = {"$ref": REF.format(model="Input")}
    problem = {"$ref": REF.format(model="ProblemDocument")}
    result = {
        "type": "object",
        "required": ["id", "status"],
        "properties": {
            "id": {"type": "string"},
            "status": {"type": "integer"},
            "input": shown,
            "problem": problem,
        },
    }
    return {
        "type": "object",
        "properties": {
            "inputs": {"type": "array", "items": shown},
            "results": {"type": "array", "items": result},
        },
    }
