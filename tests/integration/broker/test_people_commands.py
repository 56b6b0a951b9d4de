"""`placet claim`, `release`, `audience`, `audit`, and a quorum in `show` and `respond`."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson
import pytest

from placet.domain.audience import AnswerPolicy, Audience, Priority
from placet.process.auth import PERSON_SCOPES, Scope
from placet_broker.rules.record import Record
from tests.integration.broker.test_terminal import Terminal
from tests.integration.broker.test_terminal import terminal as terminal  # noqa: PLC0414 - a fixture

pytestmark = pytest.mark.integration

As = Callable[[str], Awaitable[None]]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}


@pytest.fixture
def become(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> As:
    async def become(who: str) -> None:
        headers = await terminal.desk.key(who, *PERSON_SCOPES, Scope.OPERATE)
        monkeypatch.setenv("PLACET_KEY", headers["Authorization"].removeprefix("Bearer "))

    return become


async def asked(terminal: Terminal) -> Record:
    return await terminal.desk.ask(
        audience=Audience(initiator="zoe", approvers=("ann", "bob", "alice")),
        policy=AnswerPolicy(quorum=2, exclude_initiator=True),
        priority=Priority.URGENT,
        labels=("billing",),
        args_schema=SCHEMA,
    )


async def test_people_see_how_many_it_takes_and_who_has_said_yes(
    terminal: Terminal, become: As
) -> None:
    record = await asked(terminal)
    await become("ann")
    code, _, err = await terminal.type("respond", record.id, "--approve")
    assert (code, "is pending" in err) == (0, True)
    code, out, _ = await terminal.type("show", record.id)
    assert "takes 2 people: 1 said yes (ann)" in out
    assert "zoe can't approve it" in out
    assert "urgent (billing)" in out
    edit = '{"decision": "approved", "args": {"name": "copy"}}'
    await become("bob")
    await terminal.type("respond", record.id, "--content", edit)
    _, out, _ = await terminal.type("show", record.id)
    assert "bob changed the arguments; these would run:" in out
    assert "copy" in out
    await become("alice")
    code, _, err = await terminal.type("respond", record.id, "--approve")
    assert (code, "is answered" in err) == (0, True), "what was shown is what is answered"
    _, out, _ = await terminal.type("show", record.id)
    assert "by bob, alice" in out


async def test_a_claim_and_an_audience(terminal: Terminal, become: As) -> None:
    record = await asked(terminal)
    code, _, err = await terminal.type("claim", record.id[:12])
    assert (code, "for ten minutes" in err) == (0, True)
    _, out, _ = await terminal.type("show", record.id)
    assert "alice is looking at it" in out
    code, _, err = await terminal.type("release", record.id)
    assert (code, "is free" in err) == (0, True)
    assert (await terminal.type("audience", record.id, "--add", "eve"))[0] == 4, "no operator"
    await become("root")
    code, out, _ = await terminal.type(
        "audience", record.id, "--add", "eve", "--remove", "ann", "--json"
    )
    assert code == 0
    assert orjson.loads(out)["request"]["audience"]["approvers"] == ["bob", "alice", "eve"]
    assert (await terminal.type("audience", record.id))[0] == 1


async def test_an_audit_is_shown_exported_and_verified(
    terminal: Terminal, become: As, tmp_path: Path
) -> None:
    record = await asked(terminal)
    await terminal.desk.answer(record.id, True, await terminal.desk.key("zoe"))
    await become("root")
    code, out, err = await terminal.type("audit", "show", record.id)
    assert (code, "the chain is whole" in err) == (0, True)
    assert "opened" in out
    assert "zoe: zoe started this and can't approve it" in out
    file = tmp_path / "audit.jsonl"
    assert (await terminal.type("audit", "export", str(file)))[0] == 0
    assert (await terminal.type("audit", "verify", str(file)))[0] == 0
    key = (await terminal.type("audit", "key"))[1].strip()
    assert (await terminal.type("audit", "verify", str(file), "--key", key))[0] == 0
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"zoe", b"eve", 1))
    code, _, err = await terminal.type("audit", "verify", str(file), "--key", key)
    assert (code, "was changed" in err) == (1, True)
    file.write_bytes(whole.splitlines(keepends=True)[-1])
    assert (await terminal.type("audit", "verify", str(file), "--key", key))[0] == 1
    assert (await terminal.type("audit", "verify", record.id))[0] == 0
    assert (await terminal.type("audit", "verify", str(tmp_path / "none"), "--key", key))[0] == 1
    code, out, _ = await terminal.type("audit", "export")
    assert (code, len(out.splitlines())) == (0, 2)


async def test_many_answers_each_for_itself(terminal: Terminal, tmp_path: Path) -> None:
    mine, other = (
        await terminal.desk.ask(),
        await terminal.desk.ask(call_id="c2", audience=Audience(initiator="zoe")),
    )
    file = tmp_path / "answers.jsonl"
    lines = [{"id": each.id, "content": True} for each in (mine, other)]
    file.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    code, out, err = await terminal.type("respond", "--batch", str(file), "--each", "--json")
    assert (code, "not taken" in err) == (4, True)
    first, second = orjson.loads(out)["results"]
    assert (first["input"]["state"], second["problem"]["code"]) == ("answered", "not_allowed")
    assert await terminal.states(mine.id, other.id) == ["answered", "pending"]
