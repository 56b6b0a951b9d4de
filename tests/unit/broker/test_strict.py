"""What others write is read in one way only, and nothing in it is dropped in silence."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from placet.domain.interaction import ApprovalRequest, ReviewRequest, ToolCall
from placet.domain.naming import names
from placet.errors import Invalid, NotAllowed
from placet.messages import AnswerMessage, Close, decode, decode_strict
from placet.messages.examples import answers, approvals, closes, requests
from placet.messages.strict import decode_request_strict
from placet.messages.wire import decode_request, encode
from placet_broker.rules import opening
from placet_broker.rules.opening import Asker
from placet_broker.rules.record import RUNNER

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BILLING = Asker("service:billing", "default")
QUESTION = {
    "question": "Which?",
    "header": "Which",
    "options": [{"label": "a"}, {"label": "b", "descripton": "typo"}],
}
ASKED = {
    "agent_id": "billing",
    "run_id": "inv-1",
    "requested_at": "2026-11-30T12:00:00Z",
    "call": {"id": "1", "tool": "refund", "args": {}},
}
SEVERAL = {"kind": "questions", "requested_at": ASKED["requested_at"], "questions": [QUESTION]}


@pytest.mark.parametrize(
    "body",
    [
        b'{"input_id":"inp_1","action":"decline","action":"accept","content":true}',
        b'{"input_id":"inp_1","content":false,"content":true}',
        b'{"input_id":"inp_1","content":{"decision":"denied","decision":"approved"}}',
        b'{"input_id":"inp_1","content":NaN}',
        b'{"input_id":"inp_1","content":-Infinity}',
        b'{"input_id":"inp_1","content":[1e999]}',
        b'{"input_id":"inp_1","content":true,"digets":"sha256:00"}',
        b"[]",
        b"",
    ],
)
def test_an_answer_that_two_readers_could_read_differently_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid):
        decode_strict(AnswerMessage, body)


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"approvers": ["bob"]}, "/approvers"),
        ({"Audience": {"approvers": ["bob"]}}, "/Audience"),
        ({"audience": {"aprovers": ["bob"]}}, "/audience/aprovers"),
        ({"expires_in_seconds": 60}, "/expires_in_seconds"),
        ({"call": {"id": "1", "tool": "refund", "arguments": {}}}, "/call/arguments"),
        ({"a/b~": 1}, "/a~1b~0"),
        (SEVERAL, "/questions/0/options/1/descripton"),
    ],
)
def test_a_field_that_nobody_knows_is_refused_at_its_place_with_those_that_are_known(
    more: dict[str, Any], pointer: str
) -> None:
    given = more if "kind" in more else {**ASKED, **more}
    with pytest.raises(Invalid) as refused:
        decode_request_strict(orjson.dumps(given))
    assert [error.pointer for error in refused.value.errors] == [pointer]
    assert "the fields here are" in refused.value.errors[0].detail


def test_what_a_field_of_free_form_holds_is_the_askers_own() -> None:
    given = {**ASKED, "context": {"approvers": 1}}
    given["call"] = {"id": "1", "tool": "refund", "args": {"audience": {"x": 1}}}
    assert decode_request_strict(orjson.dumps(given)).context == {"approvers": 1}


@pytest.mark.parametrize("kind", ["nope", 1, None, ["confirm"], {}])
def test_a_kind_that_does_not_exist_is_refused_as_such(kind: Any) -> None:
    with pytest.raises(Invalid) as refused:
        decode_request_strict(orjson.dumps({**ASKED, "kind": kind}))
    assert refused.value.errors[0].pointer == "/kind"


def test_every_example_of_a_message_is_read_as_strictly_as_freely() -> None:
    for request in (*approvals().values(), *requests().values()):
        assert decode_request_strict(encode(request)) == decode_request(encode(request))
    for answer in answers().values():
        assert decode_strict(AnswerMessage, encode(answer)) == answer
    for close in closes().values():
        assert decode_strict(Close, encode(close)) == close


def test_placets_own_messages_stay_open_to_fields_of_a_newer_writer() -> None:
    close = b'{"input_id":"inp_1","run_id":"run_1","reason":"withdrawn","newer":1}'
    assert decode(Close, close).input_id == "inp_1"
    assert decode_request(orjson.dumps({**ASKED, "newer": 1})).run_id == "inv-1"


@pytest.mark.parametrize(
    "named",
    [
        {"agent_id": "agt_1"},
        {"root_agent_id": "agt_1"},
        {"agent_id": "run_1"},
        {"path": ["ops", "agt_1"]},
        {"path": ["run_1"]},
        {"run_id": "agt_1"},
        {"root_run_id": "run_1"},
    ],
)
def test_no_service_asks_under_an_id_that_placet_gives(named: dict[str, Any]) -> None:
    asked = ApprovalRequest.model_validate({**ASKED, **named})
    with pytest.raises(NotAllowed):
        opening.prepared(asked, BILLING, now=NOW, default_life=None)
    asked = asked.model_copy(update={"id": "inp_" + "0" * 32})
    assert (
        opening.prepared(asked, Asker(RUNNER, None), now=NOW, default_life=None).run_id
        == asked.run_id
    )


def test_no_service_raises_a_review() -> None:
    call = ToolCall(id="1", tool="refund")
    asked = ReviewRequest(requested_at=NOW, run_id="inv-1", call=call)
    with pytest.raises(NotAllowed, match="review"):
        opening.prepared(asked, BILLING, now=NOW, default_life=None)


@pytest.mark.parametrize("name", ["a", "Боб", "é" * 100, "group:dba", "O'Neil Jr."])
def test_names_of_people_are_taken_as_they_are(name: str) -> None:
    assert names(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "é" * 101,
        "a\nb",
        "a\x00",
        "bob\u200b",
        "\u202ebob",
        "b\u2800ob",
        "\u3164",
        "\ud800",
    ],
)
def test_a_name_that_could_hide_another_is_none(name: str) -> None:
    assert not names(name)
