"""`placet respond` and `placet extend` against a broker: what they list, take and refuse."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from placet.cli.__main__ import main
from placet.clock import SystemClock
from placet.domain.audience import Audience
from placet.ids import new_id
from placet.process.auth import Scope
from placet.store.sqlite import SQLiteDatabase
from tests.integration.broker.desk import Desk, approval, opened
from tests.support.kinds import KINDS
from tests.support.listening import listening

pytestmark = pytest.mark.integration

SCOPES = (Scope.INPUTS_READ, Scope.INPUTS_ANSWER, Scope.REVIEWS_ANSWER)


def in_a_week() -> datetime:
    return SystemClock().now() + timedelta(days=7)


@dataclass
class Terminal:
    """A broker, and the command as alice types it."""

    desk: Desk
    capsys: pytest.CaptureFixture[str]

    async def type(self, *words: str) -> tuple[int, str, str]:
        """The exit code, what it printed, and what it said beside."""
        code = await anyio.to_thread.run_sync(main, list(words))
        printed = self.capsys.readouterr()
        return code, printed.out, printed.err

    async def asks(self, kind: str) -> str:
        asked = KINDS[kind].request(new_id("inp"))
        return (await self.desk.ask(asked.model_copy(update={"expires_at": in_a_week()}))).id

    async def states(self, *ids: str) -> list[str]:
        return [str((await self.desk.get(id)).state) for id in ids]


@pytest.fixture
async def terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> AsyncIterator[Terminal]:
    clock = SystemClock()
    async with opened(lambda _: SQLiteDatabase(":memory:", clock=clock)) as desk:
        key, _ = await desk.platform.auth.keys.create(
            namespace="default", name="test", person="alice", scopes=SCOPES
        )
        async with listening(desk.app) as url:
            monkeypatch.setenv("PLACET_URL", url)
            monkeypatch.setenv("PLACET_KEY", key)
            yield Terminal(desk, capsys)


HOW = {
    "tool_approval": "--approve   (or --deny)",
    "confirm": "--approve   (or --deny)",
    "free_text": '"text"',
    "multiple_choice": "--choice N",
    "questions": "--field Colour=... --field Days=...",
    "form": "--field ticket=... --field count=...",
    "url": "--approve   (once it is done)",
    "edit_text": '"text"',
}


@pytest.mark.parametrize("kind", KINDS)
async def test_the_list_says_what_is_asked_and_how_it_is_answered(
    terminal: Terminal, kind: str
) -> None:
    id = await terminal.asks(kind)
    code, out, err = await terminal.type("respond")
    assert code == 0
    assert id in out
    assert ("deploy" if kind in ("tool_approval", "review") else "Well?") in out
    how = f"review {id}" if kind == "review" else f"respond {id} {HOW[kind]}"
    assert f"placet {how}" in err


async def test_nothing_typed_says_how_this_kind_is_answered(terminal: Terminal) -> None:
    id = await terminal.asks("form")
    code, _, err = await terminal.type("respond", id)
    assert code == 1
    assert HOW["form"] in err


@pytest.mark.parametrize(
    ("kind", "words", "said"),
    [
        ("form", ["--field", "colour=red"], "/colour"),
        ("form", ["--field", "ticket"], "write it as name=value"),
        ("questions", ["--field", "Why=x"], "/Why"),
        ("confirm", ["--field", "a=b"], "--field does not answer a confirm"),
        ("free_text", ["--approve"], "--approve does not answer a free_text"),
        ("confirm", ["--approve", "--trust"], "--trust does not answer a confirm"),
        ("tool_approval", ["--deny", "--trust"], "--trust goes with --approve"),
    ],
)
async def test_what_cannot_be_meant_is_refused_with_the_reason(
    terminal: Terminal, kind: str, words: list[str], said: str
) -> None:
    id = await terminal.asks(kind)
    code, _, err = await terminal.type("respond", id, *words)
    assert code == 1
    assert said in err
    assert await terminal.states(id) == ["pending"]


@pytest.mark.parametrize(
    "words",
    [
        ["--approve", "--deny"],
        ["--approve", "--choice", "0"],
        ["--approve", "--stage", "--session"],
        ["--deny", "--field", "a=b"],
    ],
)
async def test_l17_two_answers_at_once_are_no_answer(terminal: Terminal, words: list[str]) -> None:
    id = await terminal.asks("tool_approval")
    code, _, _ = await terminal.type("respond", id, *words)
    assert code == 2
    assert await terminal.states(id) == ["pending"]


ARRAY: Callable[[list[Any]], str] = json.dumps


def lines(answers: list[Any]) -> str:
    return "".join(json.dumps(answer) + "\n" for answer in answers)


@pytest.mark.parametrize("written", [ARRAY, lines], ids=["array", "lines"])
async def test_a_batch_from_a_file_settles_all_of_it(
    terminal: Terminal, tmp_path: Path, written: Callable[[list[Any]], str]
) -> None:
    ids = [await terminal.asks(kind) for kind in ("tool_approval", "confirm", "free_text")]
    answers = [
        {"id": ids[0], "content": True},
        {"id": ids[1], "action": "decline"},
        {"id": ids[2], "content": "é"},
    ]
    file = tmp_path / "answers"
    file.write_text(written(answers), "utf-8")
    code, _, err = await terminal.type("respond", "--batch", str(file))
    assert code == 0
    assert [f"{id} is " in err for id in ids] == [True] * 3
    assert await terminal.states(*ids) == ["answered", "declined", "answered"]
    code, out, _ = await terminal.type("respond", "--batch", str(file), "--json")
    assert (code, len(json.loads(out)["inputs"])) == (0, 3)


async def test_a_batch_with_one_answer_that_does_not_fit_settles_none(
    terminal: Terminal, tmp_path: Path
) -> None:
    ids = [await terminal.asks("confirm"), await terminal.asks("confirm")]
    file = tmp_path / "answers"
    for bad, said in (
        ({"id": ids[1], "content": "yes"}, "/answers/1/content"),
        ({"content": True}, "/answers/1/id"),
        ({"id": ids[1], "contents": True}, "/answers/1/contents"),
    ):
        file.write_text(lines([{"id": ids[0], "content": True}, bad]))
        code, _, err = await terminal.type("respond", "--batch", str(file))
        assert code == 1
        assert said in err
    file.write_text("[{")
    assert (await terminal.type("respond", "--batch", str(file)))[0] == 1
    assert (await terminal.type("respond", "--batch", str(tmp_path / "none")))[0] == 1
    assert await terminal.states(*ids) == ["pending", "pending"]


async def test_a_batch_that_comes_too_late_exits_with_5(terminal: Terminal, tmp_path: Path) -> None:
    ids = [await terminal.asks("confirm"), await terminal.asks("confirm")]
    await terminal.type("respond", ids[1], "--deny")
    file = tmp_path / "answers"
    file.write_text(lines([{"id": id, "content": True} for id in ids]))
    code, _, err = await terminal.type("respond", "--batch", str(file))
    assert code == 5
    assert "/answers/1" in err
    assert await terminal.states(*ids) == ["pending", "declined"]


async def test_more_time_is_given_in_hours_from_the_deadline(terminal: Terminal) -> None:
    id = await terminal.asks("confirm")
    before = (await terminal.desk.get(id)).expires_at
    assert before is not None
    code, _, err = await terminal.type("extend", id, "--hours", "36")
    after = (await terminal.desk.get(id)).expires_at
    assert after == before + timedelta(hours=36)
    assert (code, f"{after:%Y-%m-%d %H:%M} UTC" in err) == (0, True)
    code, out, _ = await terminal.type("extend", id, "--hours", "1", "--json")
    assert (code, json.loads(out)["id"]) == (0, id)
    for hours in ("0", "-1", "800", "nan"):
        assert (await terminal.type("extend", id, "--hours", hours))[0] == 1
    assert (await terminal.type("extend", id, "--hours", "700"))[0] == 1, "beyond thirty days"


async def test_who_may_not_answer_gives_no_more_time(terminal: Terminal) -> None:
    asked = approval(audience=Audience(initiator="bob"), expires_at=in_a_week())
    record = await terminal.desk.ask(asked)
    assert (await terminal.type("extend", record.id, "--hours", "1"))[0] == 4
    assert (await terminal.type("extend", new_id("inp"), "--hours", "1"))[0] == 3
    done = await terminal.asks("confirm")
    await terminal.type("respond", done, "--deny")
    assert (await terminal.type("extend", done, "--hours", "1"))[0] == 5


async def test_what_happens_if_nobody_answers_is_shown_where_the_asker_said_so(
    terminal: Terminal,
) -> None:
    request = KINDS["free_text"].request(new_id("inp"))
    more = {"on_expiry": "default", "default": "carry on"}
    record = await terminal.desk.ask(request.model_copy(update=more))
    _, out, _ = await terminal.type("show", record.id)
    assert "if nobody answers: carry on" in out


@pytest.mark.parametrize("kind", list(KINDS))
async def test_every_kind_can_be_declined_and_cancelled(terminal: Terminal, kind: str) -> None:
    declined, cancelled = await terminal.asks(kind), await terminal.asks(kind)
    assert (await terminal.type("respond", declined, "--deny"))[0] == 0
    assert (await terminal.type("respond", cancelled, "--cancel"))[0] == 0
    assert await terminal.states(declined, cancelled) == ["declined", "cancelled"]
