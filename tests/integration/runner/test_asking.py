"""Asking, durably: the run waits in the store, the answer is checked there, the tool runs again with it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from pydantic import BaseModel

from placet import Agent, Context, ScriptedModel, tool
from placet.agents.scripted import calls, says, steps
from placet.agents.tool import Tool
from placet.bus.inprocess import Hub
from placet.client.asynchronous import Run
from placet.clock import SystemClock
from placet.domain.digest import call_digest
from placet.domain.run import RunStatus
from placet.errors import Conflict, Invalid
from placet.process.platform import Buses, Databases
from placet.store.sqlite import SQLiteDatabase
from tests.support.system import System, system

pytestmark = pytest.mark.integration

TYPED = "correct-horse-7391"
FORM = {
    "type": "object",
    "properties": {
        "ticket": {"type": "string", "minLength": 3},
        "notify": {"type": "boolean", "default": True},
    },
    "required": ["ticket"],
}
LOGIN = {
    "type": "object",
    "properties": {
        "user": {"type": "string"},
        "password": {"type": "string", "sealed": True, "minLength": 8},
    },
    "required": ["user", "password"],
}


class Kept(list[Any]):
    """What tools saw, execution by execution."""


def asking(kept: Kept) -> list[Tool]:
    @tool
    async def fill(ctx: Context) -> Any:
        """Ask a form."""
        answer = await ctx.ask("Under which ticket?", FORM)
        kept.append((ctx.attempt, ctx.idempotency_key, answer, str(ctx.outcome)))
        return answer

    @tool
    async def nested(ctx: Context) -> Any:
        """Ask what is no flat form."""
        return await ctx.ask("?", {"type": "object", "properties": {"x": {"type": "object"}}})

    @tool
    async def twice(ctx: Context) -> str:
        """Ask twice, then act."""
        kept.append(("before", ctx.attempt, ctx.idempotency_key))
        first = await ctx.ask_text("First?")
        kept.append(("between", ctx.attempt, ctx.idempotency_key))
        second = await ctx.confirm("Second?")
        kept.append(("acts", ctx.attempt, ctx.idempotency_key))
        return f"{first} {second}"

    @tool
    async def each(ctx: Context) -> list[Any]:
        """Ask three ways, and go on whatever is said."""
        seen: list[Any] = [await ctx.confirm("Sure?"), str(ctx.outcome)]
        seen += [await ctx.ask("Form?", FORM), str(ctx.outcome)]
        return [*seen, await ctx.require_url("https://x.test/a", "Log in"), str(ctx.outcome)]

    @tool
    async def many(ctx: Context) -> str:
        """Ask nine times."""
        for number in range(9):
            await ctx.confirm(f"{number}?")
        return "?"

    @tool
    async def login(ctx: Context) -> str:
        """Ask for a password."""
        answer = await ctx.ask("Log in, please", LOGIN)
        kept.append(answer)
        return f"logged in as {answer['user']}" if answer else "nobody"

    class Order(BaseModel):
        size: Literal["s", "l"]
        count: int = 1

    @tool
    async def order(ctx: Context) -> str:
        """Ask by a model."""
        answer = await ctx.ask("What?", Order)
        kept.append(answer)
        return f"{answer.count} {answer.size}" if answer else "nothing"

    return [fill, nested, twice, each, many, login, order]


def agent(
    kept: Kept, *wanted: tuple[str, dict[str, object]], seen: list[int] | None = None
) -> Agent:
    script = steps(calls(*wanted), says("done"))

    def counted(conversation: Any) -> Any:
        if seen is not None:
            seen.append(1)
        return script(conversation)

    builtins = ["ask_user_text", "ask_user", "present_for_review", "edit_document"]
    return Agent("ops", model=ScriptedModel(counted), tools=asking(kept), builtins=builtins)


async def results(placet: System, run: Run) -> list[Any]:
    journal = (await placet.image(run.id)).document["journal"]
    return [e["result"]["content"] for e in journal if e["type"] == "tool.finished"]


async def start(placet: System) -> Run:
    return await placet.client.agent("ops").run("go", user="alice")


async def test_c1_a_question_ends_the_turn_with_the_call_open_and_one_model_call_made() -> None:
    seen: list[int] = []
    async with system(
        [agent(Kept(), ("ask_user_text", {"question": "Name?"}), seen=seen)]
    ) as placet:
        run = await start(placet)
        assert run.status == RunStatus.INPUT_REQUIRED
        assert (run.inputs[0].kind, run.inputs[0].message) == ("free_text", "Name?")
        assert len(seen) == 1
        assert await results(placet, run) == []


def on_disk(folder: Path) -> tuple[Databases, Buses]:
    """Databases that a second system finds again."""
    clock = SystemClock()
    return lambda name: SQLiteDatabase(folder / f"{name}.db", clock=clock), Hub(clock=clock).bus


async def test_c3_a_question_outlives_its_process_and_its_answer_is_the_call_s_result(
    tmp_path: Path,
) -> None:
    wanted: tuple[str, dict[str, object]] = ("ask_user_text", {"question": "Name?"})
    async with system([agent(Kept(), wanted)], on_disk(tmp_path)) as placet:
        run_id = (await start(placet)).id
        await placet.settled_outboxes(run_id)
    async with system([agent(Kept(), wanted)], on_disk(tmp_path)) as placet:
        (waiting,) = await placet.client.inbox("pending")
        run = await waiting.answer("Ada", from_="alice")
        assert (run.id, run.status) == (run_id, RunStatus.COMPLETED)
        (told,) = await results(placet, run)
        assert told.startswith("alice answered")
        assert told.endswith(": Ada")
        messages = [
            e
            for e in (await placet.image(run.id)).document["journal"]
            if e["type"] == "message.received"
        ]
        assert len(messages) == 1, "an answer is no new message"


async def test_c19_a_form_s_answer_is_checked_where_it_is_kept_and_the_tool_runs_again_with_it() -> (
    None
):
    kept = Kept()
    async with system([agent(kept, ("fill", {}))]) as placet:
        run = await start(placet)
        for wrong, pointer in (({"ticket": 7}, "/ticket"), ({}, ""), ({"ticket": "ab"}, "/ticket")):
            with pytest.raises(Invalid) as refused:
                await run.inputs[0].settle("accept", wrong, from_="alice")
            assert [error.pointer for error in refused.value.errors] == [pointer]
        assert kept == []
        run = await run.inputs[0].answer({"ticket": "OPS-7"}, from_="alice")
        assert run.status == RunStatus.COMPLETED
        (seen,) = kept
        assert seen[2:] == ({"ticket": "OPS-7", "notify": True}, "answered")


async def test_c22_a_form_that_nests_is_the_tool_s_error_and_no_input() -> None:
    async with system([agent(Kept(), ("nested", {}))]) as placet:
        run = await start(placet)
        assert run.status == RunStatus.COMPLETED
        assert await placet.client.inbox(None) == []
        (told,) = await results(placet, run)
        assert "/properties/x/type" in told


async def test_c23_c40_two_asks_are_three_executions_under_one_key() -> None:
    kept = Kept()
    async with system([agent(kept, ("twice", {}))]) as placet:
        run = await start(placet)
        run = await run.inputs[0].answer("one", from_="alice")
        assert [i.message for i in run.inputs if i.state == "pending"] == ["Second?"]
        run = await next(i for i in run.inputs if i.state == "pending").answer(True, from_="alice")
        assert await results(placet, run) == ["one True"]
    assert [(word, attempt) for word, attempt, _ in kept] == [
        ("before", 1),
        ("before", 2),
        ("between", 2),
        ("before", 3),
        ("between", 3),
        ("acts", 3),
    ]
    assert len({key for _, _, key in kept}) == 1


async def test_c24_only_true_is_a_yes_to_a_confirm_and_an_empty_object_fits_nothing() -> None:
    async with system([agent(Kept(), ("each", {}))]) as placet:
        run = await start(placet)
        words: tuple[Any, ...] = ({}, None, "yes", 1)
        for word in words:
            with pytest.raises(Invalid):
                await run.inputs[0].settle("accept", word, from_="alice")
        settled = await run.inputs[0].settle("accept", False, from_="alice")
        assert settled.state == "declined"


async def test_c25_declined_cancelled_and_refused_asks_return_and_the_tool_goes_on() -> None:
    async with system([agent(Kept(), ("each", {}))]) as placet:
        run = await start(placet)
        run = await run.inputs[0].decline(from_="alice")
        run = await _open(run).cancel(from_="alice")
        run = await _open(run).decline(from_="alice")
        assert await results(placet, run) == [
            [False, "declined", None, "cancelled", False, "declined"]
        ]


def _open(run: Run) -> Any:
    return next(each for each in run.inputs if each.state == "pending")


async def test_c36_the_ninth_ask_is_the_tool_s_error_and_reaches_nobody() -> None:
    async with system([agent(Kept(), ("many", {}))]) as placet:
        run = await start(placet)
        for _ in range(8):
            run = await _open(run).answer(True, from_="alice")
        assert run.status == RunStatus.COMPLETED
        assert await results(placet, run) == ["more than 8 asks in one call"]
        assert len(await placet.client.inbox(None)) == 8


def test_c37_the_order_of_keys_does_not_change_what_an_approval_binds() -> None:
    assert call_digest("t", "s", {"a": 1, "b": [2]}) == call_digest("t", "s", {"b": [2], "a": 1})
    assert call_digest("t", "s", {"a": 1}) != call_digest("t", "s", {"a": 2})
    assert call_digest("t", "s", {"a": 1}) != call_digest("u", "s", {"a": 1})


async def test_a_model_asks_a_form_durably_and_gets_an_instance() -> None:
    kept = Kept()
    async with system([agent(kept, ("order", {}))]) as placet:
        run = await start(placet)
        run = await run.inputs[0].answer({"size": "l"}, from_="alice")
        assert await results(placet, run) == ["1 l"]
        assert kept[0].model_dump() == {"size": "l", "count": 1}


@pytest.mark.parametrize(
    ("wanted", "answer", "result"),
    [
        (
            ("present_for_review", {"title": "Plan", "markdown": "# 1"}),
            " ",
            "alice acknowledged it",
        ),
        (("edit_document", {"content": "old"}), "new", "It is now:\nnew"),
        (
            (
                "ask_user",
                {
                    "questions": [
                        {
                            "question": "Where?",
                            "header": "Place",
                            "options": [{"label": "eu"}, {"label": "us"}],
                        }
                    ]
                },
            ),
            1,
            "- Where? us",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
async def test_the_asking_builtins_wait_durably_too(
    wanted: tuple[str, dict[str, object]], answer: Any, result: str
) -> None:
    async with system([agent(Kept(), wanted)]) as placet:
        run = await start(placet)
        run = await run.inputs[0].answer(answer, from_="alice")
        assert result in (await results(placet, run))[0]


async def test_what_is_sealed_reaches_the_tool_and_is_in_no_store_reply_event_or_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Kept()
    async with system([agent(kept, ("login", {}))], on_disk(tmp_path)) as placet:
        run = await start(placet)
        waiting = run.inputs[0]
        answer = {"user": "ada", "password": TYPED}
        replies = [await posted(placet, waiting.id, {**answer, "password": "short"})]
        replies.append(await posted(placet, waiting.id, {**answer, "password": [TYPED]}))
        replies.append(await posted(placet, waiting.id, answer))
        replies.append(await posted(placet, waiting.id, answer))
        replies.append(await posted(placet, waiting.id, {**answer, "password": TYPED + "!"}))
        assert [reply.status_code for reply in replies] == [400, 400, 202, 200, 409]
        run = await run.wait()
        assert run.status == RunStatus.COMPLETED
        assert kept == [answer]
        await placet.settled_outboxes(run.id)
        shown = [reply.text for reply in replies]
        shown += [
            repr(await placet.client.runs.journal(run.id)),
            repr(await placet.client.inbox(None)),
        ]
        assert not [text for text in shown if TYPED in text or '"short"' in text]
        assert '"sealed":' in replies[2].text
    files, rows = on_disk_now(tmp_path)
    assert b"ada" in rows, "the rest of the answer is there"
    assert TYPED.encode() not in rows
    assert TYPED.encode() not in files
    out, err = capsys.readouterr()
    assert TYPED not in out + err


def on_disk_now(folder: Path) -> tuple[bytes, bytes]:
    """Every byte of every file, and every document of every database."""
    rows = b""
    for path in folder.glob("*.db"):
        with closing(sqlite3.connect(path)) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (table,) in tables.fetchall():
                found = database.execute(f'SELECT * FROM "{table}"')  # noqa: S608
                rows += b"".join(
                    value if isinstance(value, bytes) else str(value).encode()
                    for row in found
                    for value in row
                )
    return b"".join(path.read_bytes() for path in folder.iterdir()), rows


async def posted(placet: System, input_id: str, content: Any) -> httpx2.Response:
    """The raw reply of REST to an answer."""
    send: Callable[..., Any] = placet.client.transport._http.request
    reply: httpx2.Response = await send(
        "POST", f"/v1/inputs/{input_id}", json={"content": content, "from": "alice"}
    )
    return reply


async def test_a_sealed_answer_that_was_given_already_is_known_again_by_the_sdk_too() -> None:
    async with system([agent(Kept(), ("login", {}))]) as placet:
        waiting = (await start(placet)).inputs[0]
        answer = {"user": "ada", "password": TYPED}
        first = await waiting.settle("accept", answer, from_="alice")
        again = await waiting.settle("accept", answer, from_="alice")
        assert first.resolution == again.resolution
        with pytest.raises(Conflict):
            await waiting.settle("accept", {**answer, "password": "another-one"}, from_="alice")
