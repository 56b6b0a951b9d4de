"""A tool that asks by itself, in one process: what it gets back, and what ends the call."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic import BaseModel

from placet import Agent, Context, Option, Question, ScriptedModel, ToolError, tool
from placet.agents.context import Asked
from placet.agents.scripted import calls, says, steps
from placet.agents.tool import Tool
from placet.domain.interaction import InputState, InteractionRequest
from tests.support.desk import Desk, told

pytestmark = pytest.mark.unit


async def tool_told(made: Tool, desk: Desk | None = None) -> list[tuple[str, Any]]:
    """What the model is told of one call of this tool."""
    model = ScriptedModel(steps(calls((made.name, {})), says("done")))
    run = await Agent("a", model=model, tools=[made]).run("go", interaction_handler=desk)
    return told(run)


async def test_c29_a_tool_that_is_called_outside_of_a_run_is_told_that_nobody_can_be_asked() -> (
    None
):
    ways: list[Callable[[Context], Awaitable[Any]]] = [
        lambda ctx: ctx.confirm("?"),
        lambda ctx: ctx.ask_text("?"),
        lambda ctx: ctx.choose("?", ["a", "b"]),
        lambda ctx: ctx.ask("?", {"type": "object", "properties": {"x": {}}}),
        lambda ctx: ctx.require_url("https://x.test", "?"),
        lambda ctx: ctx.edit_text("?", "x"),
        lambda ctx: ctx.review_text("?", "x"),
        lambda ctx: ctx.questions("?", []),
    ]
    for wanted in ways:
        with pytest.raises(ToolError, match=r"called directly.*let an agent call the tool"):
            await wanted(Context())


async def test_c36_the_ninth_ask_of_a_call_is_the_tool_s_error_and_eight_are_fine() -> None:
    async def asks(ctx: Context, count: int) -> str:
        for number in range(count):
            await ctx.confirm(f"{number}?")
        return "fine"

    @tool
    async def eight(ctx: Context) -> str:
        """Ask eight times."""
        return await asks(ctx, 8)

    @tool
    async def nine(ctx: Context) -> str:
        """Ask nine times."""
        return await asks(ctx, 9)

    desk = Desk(*[True] * 20)
    assert await tool_told(eight, desk) == [("ok", "fine")]
    assert await tool_told(nine, desk) == [("error", "more than 8 asks in one call")]
    assert len(desk.asked) == 16, "the ninth reaches nobody"


async def test_c23_two_asks_are_three_executions_and_one_effect_under_its_key() -> None:
    before, effects = [], {}

    @tool
    async def two(ctx: Context) -> str:
        """Ask twice, then act."""
        before.append(ctx.attempt)
        first = await ctx.ask_text("First?")
        second = await ctx.ask_text("Second?")
        effects[ctx.idempotency_key] = f"{first} {second}"
        return effects[ctx.idempotency_key]

    assert await tool_told(two, Desk("a", "b")) == [("ok", "a b")]
    assert before == [1, 2, 3]
    assert list(effects.values()) == ["a b"]


async def test_c25_a_tool_goes_on_after_a_no_and_learns_what_kind_of_no() -> None:
    @tool
    async def goes_on(ctx: Context) -> list[Any]:
        """Ask three ways."""
        form = {"type": "object", "properties": {"x": {"type": "string"}}}
        seen: list[Any] = [await ctx.confirm("Sure?"), ctx.outcome]
        seen += [await ctx.ask("Form?", form), ctx.outcome]
        return [*seen, await ctx.require_url("https://x.test", "Log in"), ctx.outcome]

    assert await tool_told(goes_on, Desk(False, None, None)) == [
        ("ok", [False, "declined", None, "cancelled", False, "cancelled"])
    ]


async def test_unattended_an_ask_returns_at_once_and_nobody_is_asked() -> None:
    ctx = Context(_in_run=True, _attended=False)
    assert await ctx.confirm("?") is False
    assert await ctx.ask_text("?") is None
    assert ctx.outcome is InputState.CANCELLED
    assert ctx.raised is None


async def test_l2_a_confirm_is_yes_or_no_and_an_empty_object_is_neither() -> None:
    @tool
    async def sure(ctx: Context) -> str:
        """Ask."""
        return str(await ctx.confirm("Sure?"))

    words: tuple[Any, ...] = ({}, "yes", 1, [], "true")
    for word in words:
        with pytest.raises(Exception, match="true or false"):
            await tool_told(sure, Desk(word))
    assert await tool_told(sure, Desk(True)) == [("ok", "True")]


async def test_a_tool_may_have_a_text_edited_and_reviewed_and_ask_several_questions() -> None:
    @tool
    async def writes(ctx: Context) -> list[Any]:
        """Write together."""
        where = Question(
            question="Where?", header="Place", options=(Option(label="eu"), Option(label="us"))
        )
        return [
            await ctx.edit_text("Better words?", "old"),
            await ctx.review_text("The text", "new"),
            await ctx.questions("First", [where]),
        ]

    assert await tool_told(writes, Desk("new", "", {"Where?": 0})) == [
        ("ok", ["new", "", {"Where?": "eu"}])
    ]


async def test_ap_108_a_page_that_can_not_be_asked_for_is_the_tool_s_error() -> None:
    @tool
    async def login(ctx: Context) -> str:
        """Log in."""
        return str(await ctx.require_url("http://x.test", "Log in"))

    ((outcome, content),) = await tool_told(login, Desk(True))
    assert outcome == "error"
    assert "it can't be asked: url" in content


async def test_ap_111_that_it_was_done_is_only_the_persons_word_and_the_tool_looks_itself() -> None:
    logged_in: list[str] = []

    @tool
    async def fetch(ctx: Context) -> str:
        """Fetch the mail, once somebody has logged in."""
        said = logged_in or await ctx.require_url("https://x.test/login", "Log in")
        return f"said {said}, logged in: {bool(logged_in)}"

    assert await tool_told(fetch, Desk(True)) == [("ok", "said True, logged in: False")]


# --- an answer for when nobody gives one


async def drafted(ask: Any) -> Any:
    """The question that a tool puts."""
    ctx = Context(_in_run=True)
    try:
        await ask(ctx)
    except (Asked, ToolError) as raised:
        return ctx.raised or raised
    raise AssertionError("it did not ask")


class Order(BaseModel):
    size: str = "s"
    count: int = 1


FORM = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
WHERE = Question(question="Where?", header="Where", options=(Option(label="a"), Option(label="b")))


@pytest.mark.parametrize(
    ("ask", "default"),
    [
        (lambda ctx: ctx.ask_text("?", default="eu"), "eu"),
        (lambda ctx: ctx.choose("?", ["eu", "us"], default="us"), "us"),
        (lambda ctx: ctx.questions("?", [WHERE], default={"Where?": "b"}), {"Where?": "b"}),
        (lambda ctx: ctx.ask("?", FORM, default={"x": "y"}), {"x": "y"}),
        (lambda ctx: ctx.ask("?", Order, default=Order(count=3)), {"size": "s", "count": 3}),
    ],
)
async def test_a_tool_declares_the_answer_that_is_taken_if_nobody_gives_one(
    ask: Any, default: Any
) -> None:
    request = await drafted(ask)
    assert (request.on_expiry, request.default) == ("default", default)


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda ctx: ctx.choose("?", ["eu", "us"], default="mars"), "/default.*one of eu, us"),
        (lambda ctx: ctx.ask("?", FORM, default={"x": 1}), "/default/x"),
        (lambda ctx: ctx.questions("?", [WHERE], default={}), "/default/Where"),
        (lambda ctx: ctx.ask_text("?", default=3), "/default.*a string"),
        (
            lambda ctx: ctx.ask(
                "?",
                {"type": "object", "properties": {"pin": {"type": "string", "sealed": True}}},
                default={"pin": "1234"},
            ),
            "/default/pin: a sealed field can't be declared",
        ),
    ],
)
async def test_a_declared_answer_that_does_not_fit_is_an_error_and_nobody_is_asked(
    ask: Any, why: str
) -> None:
    refused = await drafted(ask)
    assert isinstance(refused, ToolError)
    assert re.search(why, str(refused))
    assert "1234" not in str(refused)


async def test_cancelled_is_not_expired_so_the_declared_answer_is_not_taken_in_this_process() -> (
    None
):
    @tool
    async def where(ctx: Context) -> list[Any]:
        """Ask."""
        return [await ctx.ask_text("Where?", default="eu"), str(ctx.outcome)]

    assert await tool_told(where, Desk(None)) == [("ok", [None, "cancelled"])]
    assert await tool_told(where, Desk("us")) == [("ok", ["us", "answered"])]


async def test_a_handler_that_raises_ends_the_calls_beside_it_as_well() -> None:
    done: list[str] = []
    begun = asyncio.Event()

    @tool
    async def sure(ctx: Context) -> bool:
        """Ask, once the other one runs."""
        await begun.wait()
        return await ctx.confirm("Sure?")

    @tool
    async def slow() -> None:
        """Do something, after a while."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            done.append("ended")

    class Broken:
        async def ask(self, request: InteractionRequest) -> Any:
            raise RuntimeError("no terminal")

    model = ScriptedModel(steps(calls(("sure", {}), ("slow", {})), says("done")))
    agent = Agent("a", model=model, tools=[sure, slow])
    with pytest.raises(RuntimeError, match="no terminal"):
        await agent.run("go", interaction_handler=Broken())
    assert done == ["ended"], "nothing of the run is left behind"
