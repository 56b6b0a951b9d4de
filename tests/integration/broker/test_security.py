"""What is refused: no key, another's scope, another namespace, another site's page."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from placet.domain.audience import Audience
from placet.domain.interaction import ConfirmRequest, FormRequest, FreeTextRequest
from placet.ids import new_id
from placet.process.access import SESSION_COOKIE, login_path
from placet.process.auth import ALL_SCOPES, OPERATOR_SCOPES, Scope, nonce_of
from placet.sealing import new_key, public
from tests.integration.broker.desk import (
    ORIGIN,
    Desk,
    answer_message,
    approval,
    past,
    request_message,
)
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

FORM = {"Origin": ORIGIN}


def cookie(session: str) -> dict[str, str]:
    return {"Cookie": f"{SESSION_COOKIE}={session}"}


async def press(desk: Desk, id: str, session: str, **fields: Any) -> Any:
    record = await desk.get(id)
    headers = fields.pop("headers", FORM)
    data = {"nonce": nonce_of(session), "digest": record.digest, "act": "accept", **fields}
    return await desk.http.post(f"/inbox/{id}", data=data, headers={**cookie(session), **headers})


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/inputs"),
        ("GET", "/v1/inputs/inp_1"),
        ("POST", "/v1/inputs/inp_1"),
        ("POST", "/v1/agents/ops/inputs/inp_1"),
        ("POST", "/v1/requests"),
        ("GET", "/v1/audit/inp_1"),
        ("GET", "/v1/keys"),
        ("POST", "/v1/keys"),
        ("DELETE", "/v1/keys/x"),
        ("GET", "/inbox"),
        ("GET", "/inbox/inp_1"),
        ("POST", "/inbox/inp_1"),
    ],
)
async def test_nothing_is_open_without_a_credential(desk: Desk, method: str, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer plc_x_y"}, cookie("nonsense")):
        reply = await desk.http.request(method, path, headers=headers)
        assert reply.status_code == 401


async def test_a_scope_that_is_missing_is_403_and_named(desk: Desk) -> None:
    reader = await desk.key("bob", Scope.INPUTS_READ)
    other = await desk.key("bob", Scope.RUNS_READ)
    assert (await desk.http.get("/v1/inputs", headers=other)).status_code == 403
    reply = await desk.http.get("/v1/keys", headers=reader)
    assert (reply.status_code, "operate" in reply.json()["detail"]) == (403, True)
    asked = await desk.http.post("/v1/requests", content=b"{}", headers=reader)
    assert asked.status_code == 403


async def test_what_belongs_to_another_namespace_is_404(desk: Desk) -> None:
    record = await desk.ask()
    other = await desk.key("alice", namespace="other")
    assert (await desk.http.get(f"/v1/inputs/{record.id}", headers=other)).status_code == 404
    assert (await desk.http.get(f"/v1/audit/{record.id}", headers=other)).status_code == 404
    assert (await desk.answer(record.id, True, other)).status_code == 404
    assert (await desk.get(record.id)).pending


async def test_a_key_is_shown_once_and_worthless_as_soon_as_it_is_revoked(desk: Desk) -> None:
    operator = await desk.key("root", *OPERATOR_SCOPES)
    made = await desk.http.post(
        "/v1/keys",
        json={"name": "ci", "service": "ci", "scopes": ["inputs:read"]},
        headers=operator,
    )
    assert made.status_code == 201
    key, id = made.json()["key"], made.json()["record"]["id"]
    assert re.fullmatch(r"plc_[0-9a-f]+_[A-Za-z0-9_-]{43}", key)
    mine = {"Authorization": f"Bearer {key}"}
    assert (await desk.http.get("/v1/inputs", headers=mine)).status_code == 200
    listed = await desk.http.get("/v1/keys", headers=operator)
    assert id in listed.text
    assert key not in listed.text
    assert "hash" not in listed.text
    assert (await desk.http.delete(f"/v1/keys/{id}", headers=operator)).status_code == 200
    assert (await desk.http.get("/v1/inputs", headers=mine)).status_code == 401
    elsewhere = await desk.key("root", *OPERATOR_SCOPES, namespace="other")
    assert (await desk.http.delete(f"/v1/keys/{id}", headers=elsewhere)).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "x", "scopes": []}, 400),
        ({"name": "x", "person": "a", "service": "b"}, 400),
        ({"name": "x", "person": "service:placet-runner"}, 400),
        ({"name": "x", "service": "placet-runner"}, 403),
        ({"name": "x", "person": "a", "scopes": ["everything"]}, 400),
        ({"name": "placet-broker", "kind": "amqp", "service": "mine"}, 403),
        ({"name": "x", "kind": "amqp"}, 400),
        ({"name": "x", "person": "a", "namespace": "other"}, 400),
    ],
)
async def test_a_key_that_cannot_be_is_refused(
    desk: Desk, body: dict[str, Any], status: int
) -> None:
    reply = await desk.http.post(
        "/v1/keys", json=body, headers=await desk.key("root", *OPERATOR_SCOPES)
    )
    assert reply.status_code == status


async def test_an_amqp_user_of_another_namespace_cannot_be_taken_over(desk: Desk) -> None:
    body = {"name": "app", "kind": "amqp", "service": "app", "scopes": ["runs:write"]}
    here = await desk.key("root", *OPERATOR_SCOPES)
    there = await desk.key("root", *OPERATOR_SCOPES, namespace="other")
    assert (await desk.http.post("/v1/keys", json=body, headers=here)).status_code == 201
    assert (await desk.http.post("/v1/keys", json=body, headers=there)).status_code == 409
    assert (await desk.http.post("/v1/keys", json=body, headers=here)).status_code == 201


GRANTING = (Scope.OPERATE, Scope.RUNS_READ)


@pytest.mark.parametrize("scope", sorted(ALL_SCOPES - set(GRANTING)))
@pytest.mark.parametrize(
    "body",
    [
        {"name": "x", "person": "alice"},
        {"name": "x", "person": "bob"},
        {"name": "x", "service": "ci"},
        {"name": "app", "kind": "amqp", "service": "app"},
    ],
)
async def test_nobody_grants_a_scope_that_they_lack(
    desk: Desk, body: dict[str, Any], scope: str
) -> None:
    alice = await desk.key("alice", *GRANTING)
    wanted = [Scope.RUNS_READ, scope]
    reply = await desk.http.post("/v1/keys", json={**body, "scopes": wanted}, headers=alice)
    assert reply.status_code == 403
    assert scope in reply.json()["detail"]
    listed = (await desk.http.get("/v1/keys", headers=alice)).json()["items"]
    assert [key["name"] for key in listed] == ["test"]


async def test_who_has_a_scope_and_operates_may_grant_it(desk: Desk) -> None:
    root = await desk.key(None, *ALL_SCOPES, service="root")
    body = {"name": "x", "service": "bot", "scopes": sorted(ALL_SCOPES)}
    made = await desk.http.post("/v1/keys", json=body, headers=root)
    assert made.status_code == 201
    again = {"Authorization": f"Bearer {made.json()['key']}"}
    assert (await desk.http.post("/v1/keys", json=body, headers=again)).status_code == 201


async def test_a_persons_usual_key_and_login_make_no_keys(desk: Desk) -> None:
    body = {"name": "x", "person": "alice"}
    key = await desk.key("alice")
    assert (await desk.http.post("/v1/keys", json=body, headers=key)).status_code == 403
    session = {**cookie(await desk.session()), **FORM}
    assert (await desk.http.post("/v1/keys", json=body, headers=session)).status_code == 403


async def test_a_session_that_operates_is_capped_as_a_key_is(desk: Desk) -> None:
    auth = desk.platform.auth
    link = await auth.sessions.create_link(
        namespace="default", person="alice", scopes=OPERATOR_SCOPES
    )
    session = {**cookie(await auth.sessions.login(link)), **FORM}
    mine = {"name": "x", "person": "alice", "scopes": ["inputs:answer"]}
    assert (await desk.http.post("/v1/keys", json=mine, headers=session)).status_code == 201
    more = {**mine, "scopes": ["answer:as"]}
    assert (await desk.http.post("/v1/keys", json=more, headers=session)).status_code == 403


async def test_a_mapping_that_is_refused_leaves_the_one_that_was(desk: Desk) -> None:
    root = await desk.key("root", *GRANTING)
    body = {"name": "app", "kind": "amqp", "service": "app", "scopes": ["runs:read"]}
    assert (await desk.http.post("/v1/keys", json=body, headers=root)).status_code == 201
    for scopes, status in ((["everything"], 400), (["answer:as"], 403)):
        reply = await desk.http.post("/v1/keys", json={**body, "scopes": scopes}, headers=root)
        assert reply.status_code == status
    found = await desk.platform.auth.keys.by_amqp_user("app")
    assert found is not None
    assert found.scopes == {"runs:read"}


@pytest.mark.parametrize("user", ["placet-runner", "placet-broker", "placet-notifier"])
async def test_placets_own_users_are_mapped_by_nobody(desk: Desk, user: str) -> None:
    root = await desk.key(None, *ALL_SCOPES, service="root")
    for name, service in ((user, "mine"), ("mine", user)):
        body = {"name": name, "kind": "amqp", "service": service, "scopes": ["runs:write"]}
        assert (await desk.http.post("/v1/keys", json=body, headers=root)).status_code == 403


async def test_cp_33_a_link_logs_in_once_and_by_post_alone(desk: Desk) -> None:
    link = await desk.platform.auth.sessions.create_link(namespace="default", person="alice")
    for _ in range(10):
        page = await desk.http.get(login_path(link), headers={"User-Agent": "scanner"})
        assert page.status_code == 200
        assert "set-cookie" not in page.headers
    elsewhere = {"Origin": "https://evil.example"}
    reply = await desk.http.post("/login", data={"token": link}, headers=elsewhere)
    assert reply.status_code == 401
    first = await desk.http.post("/login", data={"token": link}, headers=FORM)
    assert first.status_code == 303
    kept = first.headers["set-cookie"]
    assert "HttpOnly" in kept
    assert "samesite=strict" in kept.lower()
    desk.http.cookies.clear()
    second = await desk.http.post("/login", data={"token": link}, headers=FORM)
    assert second.status_code == 401
    assert "used before" in second.text


async def test_a_page_answers_only_with_its_nonce_origin_and_what_was_shown(desk: Desk) -> None:
    record = await desk.ask()
    session = await desk.session()
    yes = {"decision": "approved", "scope": "once"}
    refused: list[dict[str, Any]] = [
        {"nonce": "0" * 64},
        {"nonce": nonce_of("another session")},
        {"headers": {"Origin": "https://evil.example"}},
        {"headers": {"Origin": "null"}},
        {"headers": {}},
    ]
    for fields in refused:
        assert (await press(desk, record.id, session, **yes, **fields)).status_code == 403
    assert (await press(desk, record.id, session, **yes, digest="")).status_code == 400
    stale = await press(desk, record.id, session, **yes, digest="sha256:0")
    assert stale.status_code == 409
    assert (await desk.get(record.id)).pending
    settled = await press(desk, record.id, session, **yes)
    assert (settled.status_code, settled.headers["location"]) == (303, f"/inbox/{record.id}")
    resolution = (await desk.get(record.id)).resolution
    assert resolution is not None
    assert (resolution.by and resolution.by.id, resolution.channel) == ("alice", "web")


async def test_a_session_over_rest_needs_an_origin_of_ours(desk: Desk) -> None:
    record = await desk.ask()
    session = cookie(await desk.session())
    body = {"content": True}
    path = f"/v1/inputs/{record.id}"
    for origin in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        reply = await desk.http.post(path, json=body, headers={**session, **origin})
        assert reply.status_code == 403
    reply = await desk.http.post(path, json=body, headers={**session, **FORM})
    assert reply.status_code == 202


async def test_cp_33_looking_at_a_question_decides_nothing(desk: Desk) -> None:
    record = await desk.ask()
    session = await desk.session()
    for _ in range(10):
        page = await desk.http.get(f"/inbox/{record.id}", headers=cookie(session))
        assert page.status_code == 200
    kept = await desk.get(record.id)
    assert kept.pending
    assert [e["what"] for e in kept.history] == ["opened", "seen"]
    await press(desk, record.id, session, decision="approved", scope="once")
    page = await desk.http.get(f"/inbox/{record.id}", headers=cookie(session))
    assert "approved by alice" in page.text
    again = await press(desk, record.id, session, act="decline")
    assert again.status_code == 409
    assert "approved by alice" in again.text


async def test_ap_60_the_page_shows_the_call_whole_and_the_askers_words_below_it(
    desk: Desk,
) -> None:
    """AP-52, AP-53, AP-59, AP-60, CP-40."""
    hidden = "echo hi" + "\n" * 40 + "curl evil \u202etxt.exe\u200b"
    record = await desk.ask(
        args={"command": hidden, "long": "x" * 5000 + "the end"},
        body="routine clean-up <img src=x onerror=alert(1)> "
        "![p](https://evil.example/p.png) [a](javascript:alert(1))",
    )
    page = await desk.http.get(f"/inbox/{record.id}", headers=cookie(await desk.session()))
    text = page.text
    for shown in ("40 line breaks", "U+202E", "U+200B", "curl evil", "the end", "5,007 characters"):
        assert shown in text
    assert "\u202e" not in text
    assert "<img" not in text
    assert 'href="javascript:' not in text
    assert text.index("drop_database") < text.index("routine clean-up")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "script" not in policy.replace("default-src", "")
    assert "autofocus" not in text


async def test_the_page_keeps_what_was_typed_when_it_does_not_fit(desk: Desk) -> None:
    schema = {
        "type": "object",
        "required": ["email", "count"],
        "properties": {
            "email": {"type": "string", "format": "email"},
            "count": {"type": "integer", "minimum": 1},
            "tags": {"type": "array", "items": {"enum": ["x", "y"]}},
            "dry": {"type": "boolean"},
        },
    }
    form = FormRequest(id=new_id("inp"), requested_at=past(0), message="Deploy", form=schema)
    record = await desk.ask(form)
    session = await desk.session()
    reply = await press(desk, record.id, session, f_count="0", f_tags="x", f_dry="true")
    assert reply.status_code == 400
    assert "minimum of 1" in reply.text
    assert "required" in reply.text
    assert 'value="0"' in reply.text
    data = {"f_email": "a@example.com", "f_count": "3", "f_tags": ["x", "y"], "f_dry": "false"}
    assert (await press(desk, record.id, session, **data)).status_code == 303
    resolution = (await desk.get(record.id)).resolution
    assert resolution is not None
    assert resolution.outcome.content == {
        "email": "a@example.com",
        "count": 3,
        "tags": ["x", "y"],
        "dry": False,
    }


async def test_the_page_says_who_may_answer_before_anybody_else_tries(desk: Desk) -> None:
    asked = FreeTextRequest(
        id=new_id("inp"), requested_at=past(0), message="Name?", audience=Audience(initiator="bob")
    )
    record = await desk.ask(asked)
    session = await desk.session("alice")
    page = await desk.http.get(f"/inbox/{record.id}", headers=cookie(session))
    assert "not among those who may answer" in page.text
    assert "<textarea" not in page.text
    reply = await press(desk, record.id, session, text="Odin")
    assert reply.status_code == 403
    assert (await desk.get(record.id)).refused_count == 1


async def test_logging_out_ends_the_session(desk: Desk) -> None:
    session = await desk.session()
    data = {"nonce": nonce_of(session)}
    reply = await desk.http.post("/logout", data=data, headers={**cookie(session), **FORM})
    assert reply.status_code == 303
    desk.http.cookies.clear()
    assert (await desk.http.get("/inbox", headers=cookie(session))).status_code == 401


async def test_the_metrics_tell_what_waits(desk: Desk) -> None:
    await desk.ask()
    record = await desk.ask(call_id="call_2")
    await desk.answer(record.id, True, await desk.key("alice"))
    await desk.runner.publish(request_message(approval(), body=b"nonsense"))
    await eventually(desk.runner.dead)
    text = (await desk.http.get("/metrics")).text
    assert 'placet_interactions_pending{kind="tool_approval"} 1.0' in text
    assert 'placet_interactions_total{kind="tool_approval",outcome="approved"} 1.0' in text
    assert 'placet_answers_total{channel="rest",outcome="settled"} 1.0' in text
    assert "placet_interaction_oldest_pending_seconds" in text
    dead = 'placet_messages_consumed_total{outcome="dead",queue="placet.broker.requests"} 1.0'
    assert dead in text
    assert "_created" not in text


async def test_a_question_without_a_call_is_not_shown_as_one_about_a_call(desk: Desk) -> None:
    reason = "nothing asks for a person before release"
    fields: dict[str, Any] = {
        "id": new_id("inp"),
        "run_id": "run_1",
        "path": ("releases",),
        "requested_at": past(),
        "message": "Release 1.4?",
        "context": {"reason": reason, "user_message": "Release it"},
    }
    confirm = await desk.ask(ConfirmRequest(**fields))
    session = await desk.session()
    for path in ("/inbox", f"/inbox/{confirm.id}"):
        page = await desk.http.get(path, headers=cookie(session))
        assert page.status_code == 200
        assert "Release 1.4?" in page.text
        assert "Release it" in page.text
        assert reason not in page.text
        assert "the call above" not in page.text
    call = await desk.ask(context={"reason": "risk critical", "user_message": "Delete it"})
    page = await desk.http.get(f"/inbox/{call.id}", headers=cookie(session))
    assert "risk critical" in page.text
    assert "the call above" in page.text


async def test_a_form_names_each_thing_that_does_not_fit_once(desk: Desk) -> None:
    form = {
        "type": "object",
        "properties": {"ticket": {"type": "string", "minLength": 3}},
        "required": ["ticket"],
    }
    asked = FormRequest(
        id=new_id("inp"), run_id="run_1", requested_at=past(), message="Which?", form=form
    )
    record = await desk.ask(asked)
    page = await press(desk, record.id, await desk.session(), f_ticket="a")
    assert page.status_code == 400
    assert page.text.count("shorter than 3") == 1


async def test_a_button_says_what_it_grants_and_there_is_none_for_more(desk: Desk) -> None:
    options = ("Allow once", "Allow drop_database with any arguments for this run", "Deny")
    record = await desk.ask(scopes=("once", "run"), options=options)
    session = await desk.session()
    page = await desk.http.get(f"/inbox/{record.id}", headers=cookie(session))
    assert options[1] in page.text
    assert "for this stage" not in page.text


async def test_what_was_sealed_for_a_tool_is_kept_by_no_queue_however_it_is_refused(
    desk: Desk,
) -> None:
    schema = {"type": "object", "properties": {"pin": {"type": "string", "sealed": True}}}
    form = FormRequest(
        id=new_id("inp"),
        run_id="run_1",
        agent_id="agt_1",
        message="Your PIN?",
        form=schema,
        seal_key=public(new_key()),
        requested_at=datetime.now(UTC),
        audience=Audience(approvers=("service:billing",)),
    )
    record = await desk.ask(form)
    allowed = await desk.map_user("billing-svc")
    stranger = await desk.map_user("other-svc", service="other")
    for bus in (allowed, stranger):
        await bus.publish(answer_message(record.id, {"pin": "1234-very-secret"}))
    plain = await desk.ask(approval())
    await stranger.publish(answer_message(plain.id, "nonsense"))
    kept = await eventually(desk.runner.dead)
    assert [b"very-secret" in letter.delivery.body for letter in kept] == [False]
    assert (await desk.get(record.id)).pending
