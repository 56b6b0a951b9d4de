"""What an author touches: tools, agents, their loading, and the in-process runtime."""

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

import placet
from placet import (
    Agent,
    ApprovalDecision,
    ApprovalRequest,
    CliApprovalHandler,
    Context,
    HumanInput,
    ScriptedModel,
    ToolError,
    ToolRisk,
    tool,
)
from placet.agents.loading import load_agents
from placet.agents.scripted import calls, says, steps
from placet.errors import DefinitionError
from placet.kernel.journal import ToolFinished
from placet.kernel.turns import ModelReply
from placet.testing.approvals import AutoApprovalHandler

pytestmark = pytest.mark.unit


class Ran(list[tuple[str, Any]]):
    """What tools did."""


def tools(ran: Ran) -> list[placet.Tool]:
    @tool(risk=ToolRisk.CRITICAL)
    async def drop(ctx: Context, name: str) -> str:
        """Drop it."""
        ran.append(("drop", name))
        return "dropped"

    @tool
    def look(at: str = "here") -> str:
        """Look."""
        ran.append(("look", at))
        return f"saw {at}"

    @tool
    async def twice(ctx: Context) -> str:
        """Ask twice."""
        ran.append(("twice", None))
        return f"{await ctx.confirm('one?')} {await ctx.ask_text('two?')}"

    @tool
    async def endless(ctx: Context) -> str:
        """Ask without end."""
        for number in range(20):
            await ctx.confirm(f"{number}?")
        return "?"

    return [drop, look, twice, endless]


def agent(ran: Ran, *replies: Any, **parts: Any) -> Agent:
    return Agent("a", model=ScriptedModel(steps(*replies, says("done"))), tools=tools(ran), **parts)


def told(run: Any) -> list[tuple[str, Any]]:
    return [
        (e.result.outcome, e.result.content) for e in run.journal if isinstance(e, ToolFinished)
    ]


DROP = calls(("drop", {"name": "x"}))


@pytest.mark.parametrize(
    ("answer", "runs"),
    [
        (True, True),
        (ApprovalDecision.APPROVED, True),
        (False, False),
        (None, False),
        ("yes", False),
        (1, False),
        (ApprovalDecision.DENIED, False),
        (ApprovalDecision.SKIPPED, False),
    ],
)
async def test_only_a_yes_runs_a_gated_call(answer: Any, runs: bool) -> None:
    ran = Ran()
    run = await agent(ran, DROP).run("go", approval_handler=lambda request: answer)
    assert run.status == "completed"
    assert ran == ([("drop", "x")] if runs else [])


async def test_no_handler_means_denied_with_the_reason() -> None:
    ran = Ran()
    run = await agent(ran, DROP).run("go")
    assert ran == []
    assert "no approval handler" in told(run)[0][1]


async def test_a_handler_that_raises_ends_the_run_and_no_tool_runs() -> None:
    ran = Ran()

    async def broken(request: ApprovalRequest) -> bool:
        raise RuntimeError("the desk is on fire")

    with pytest.raises(RuntimeError, match="on fire"):
        await agent(ran, calls(("look", {}), ("drop", {"name": "x"}))).run(
            "go", approval_handler=broken
        )
    assert ran == []


async def test_safe_tools_run_and_nobody_is_asked() -> None:
    ran = Ran()
    asked: list[Any] = []
    await agent(ran, calls(("look", {"at": "there"}))).run("go", approval_handler=asked.append)
    assert (ran, asked) == ([("look", "there")], [])


@pytest.mark.parametrize(
    ("threshold", "asks"), [("safe", True), ("high", True), ("critical", True)]
)
async def test_the_threshold_gates_its_tier_and_above(threshold: str, asks: bool) -> None:
    ran = Ran()
    await agent(ran, DROP, approval_required_risk=ToolRisk(threshold)).run("go")
    assert (ran == []) is asks


async def test_the_handler_sees_the_very_call() -> None:
    seen: list[ApprovalRequest] = []

    def see(request: ApprovalRequest) -> bool:
        seen.append(request)
        return False

    await agent(Ran(), DROP).run("please", user="alice", approval_handler=see)
    (request,) = seen
    assert (request.call.tool, request.call.args, request.risk) == (
        "drop",
        {"name": "x"},
        "critical",
    )
    assert request.context["user_message"] == "please"
    assert request.digest.startswith("sha256:")


async def test_asks_in_a_tool_run_what_is_before_them_again() -> None:
    ran = Ran()

    class Desk:
        async def ask(self, request: Any) -> Any:
            return True if request.kind == "confirm" else "blue"

    run = await agent(ran, calls(("twice", {}))).run("go", interaction_handler=Desk())
    assert told(run) == [("ok", "True blue")]
    assert len(ran) == 3, "n asks are n+1 executions"


async def test_without_a_desk_asks_return_nothing() -> None:
    run = await agent(Ran(), calls(("twice", {}))).run("go")
    assert told(run) == [("ok", "False None")]


async def test_more_than_eight_asks_is_the_tool_s_error() -> None:
    run = await agent(Ran(), calls(("endless", {}))).run("go")
    assert told(run) == [("error", "more than 8 asks in one call")]


async def test_a_question_that_changes_between_runs_is_an_error_that_names_both() -> None:
    words = iter(["first?", "second?"])

    @tool
    async def fickle(ctx: Context) -> str:
        """Change its mind."""
        return str(await ctx.confirm(next(words)))

    model = ScriptedModel(steps(calls(("fickle", {})), says("done")))
    run = await Agent("a", model=model, tools=[fickle]).run("go")
    assert told(run)[0][0] == "error"
    assert "first?" in told(run)[0][1]
    assert "second?" in told(run)[0][1]


@pytest.mark.parametrize(
    ("args", "word"), [({}, "name"), ({"name": 3}, "string"), ({"name": "x", "extra": 1}, "extra")]
)
async def test_bad_arguments_go_back_to_the_model_and_to_nobody_else(
    args: dict[str, Any], word: str
) -> None:
    asked: list[Any] = []
    run = await agent(Ran(), calls(("drop", args))).run("go", approval_handler=asked.append)
    assert asked == []
    assert told(run)[0][0] == "error"
    assert word in told(run)[0][1]


async def test_a_tier_may_be_computed_and_a_failing_one_asks() -> None:
    ran = Ran()

    @tool(risk=lambda args: ToolRisk.CRITICAL if args["n"] > 1 else ToolRisk.SAFE)
    async def pay(ctx: Context, n: int) -> str:
        """Pay."""
        ran.append(("pay", n))
        return "paid"

    @tool(needs_approval=lambda args: args["missing"])
    async def odd(ctx: Context) -> str:
        """Be odd."""
        ran.append(("odd", None))
        return "odd"

    model = ScriptedModel(
        steps(calls(("pay", {"n": 1}), ("pay", {"n": 2}), ("odd", {})), says("done"))
    )
    run = await Agent("a", model=model, tools=[pay, odd]).run("go")
    assert ran == [("pay", 1)]
    assert [outcome for outcome, _ in told(run)] == ["denied", "denied", "ok"]


async def test_an_unknown_tier_is_an_error_and_nothing_runs() -> None:
    ran = Ran()

    @tool(risk=lambda args: "enormous")  # type: ignore[arg-type,return-value]
    async def odd(ctx: Context) -> str:
        """Be odd."""
        ran.append(("odd", None))
        return "odd"

    model = ScriptedModel(steps(calls(("odd", {})), says("done")))
    run = await Agent("a", model=model, tools=[odd]).run("go", approval_handler=lambda r: True)
    assert (ran, told(run)[0][0]) == ([], "error")
    with pytest.raises(DefinitionError, match="safe, high, critical"):
        tool(risk="enormous")(lambda: None)  # type: ignore[call-overload]


async def test_human_time_is_free_of_the_tool_s_limit() -> None:
    @tool(timeout=timedelta(milliseconds=50))
    async def slow(ctx: Context) -> str:
        """Ask."""
        return str(await ctx.confirm("ok?"))

    class Sleeper:
        async def ask(self, request: Any) -> Any:
            await anyio.sleep(0.2)
            return True

    model = ScriptedModel(steps(calls(("slow", {})), says("done")))
    run = await Agent("a", model=model, tools=[slow]).run("go", interaction_handler=Sleeper())
    assert told(run) == [("ok", "True")]


async def test_a_tool_over_its_time_is_an_error_for_the_model() -> None:
    @tool(timeout=timedelta(milliseconds=20))
    async def slow(ctx: Context) -> str:
        """Sleep."""
        await anyio.sleep(5)
        return "never"

    model = ScriptedModel(steps(calls(("slow", {})), says("done")))
    run = await Agent("a", model=model, tools=[slow]).run("go")
    assert told(run)[0] == ("error", "slow took longer than 0.02 s")


@pytest.mark.parametrize("result", ["x" * 2_000_000, object(), float("nan")])
async def test_a_result_that_can_not_be_kept_is_an_error_and_not_a_crash(result: Any) -> None:
    @tool
    async def huge(ctx: Context) -> Any:
        """Return it."""
        return result

    model = ScriptedModel(steps(calls(("huge", {})), says("done")))
    run = await Agent("a", model=model, tools=[huge]).run("go")
    assert run.status == "completed"
    assert len(str(told(run)[0][1])) < 1000


async def test_what_a_tool_raises_is_what_the_model_reads() -> None:
    @tool
    async def fails(ctx: Context) -> str:
        """Fail."""
        raise ToolError("the row is locked")

    model = ScriptedModel(steps(calls(("fails", {})), says("done")))
    assert told(await Agent("a", model=model, tools=[fails]).run("go")) == [
        ("error", "the row is locked")
    ]


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("y\n", "approved"),
        ("YES\n", "approved"),
        ("\n", "denied"),
        ("s\n", "skipped"),
        ("yes!\n", "denied"),
        ("", "denied"),
    ],
)
async def test_the_terminal_takes_a_clear_yes_and_shows_the_call_unobeyed(
    line: str, decision: str
) -> None:
    sink = io.StringIO()
    handler = CliApprovalHandler(source=io.StringIO(line), sink=sink)
    decided: list[ApprovalDecision] = []

    async def ask(request: ApprovalRequest) -> ApprovalDecision:
        decided.append(await handler.request(request))
        return decided[0]

    await agent(Ran(), calls(("drop", {"name": "x\u202e\x1b[2J"}))).run("go", approval_handler=ask)
    assert decided == [decision]
    assert "\x1b" not in sink.getvalue()
    assert "\u202e" not in sink.getvalue()
    assert "drop" in sink.getvalue()


async def test_the_automatic_handler_warns_each_time() -> None:
    with pytest.warns(UserWarning, match="without a person"):
        await agent(Ran(), DROP).run("go", approval_handler=AutoApprovalHandler())


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Agent("a", model="nobody"), "provider:name"),
        (lambda: Agent("", model="x:y"), "agent name"),
        (lambda: Agent("agt_1", model="x:y"), "agt_"),
        (lambda: Agent("a", model="x:y", builtins=["ask_nobody"]), "ask_nobody"),
        (lambda: Agent("a", model="x:y", tools=[tools(Ran())[0], tools(Ran())[0]]), "two tools"),
        (lambda: Agent("a", model="x:y", tools=[print]), "no tool"),  # type: ignore[list-item]
        (lambda: Agent("a", model="x:y", approval_required_risk="big"), "none of"),  # type: ignore[arg-type]
        (lambda: HumanInput(expires_in_seconds=59), "60"),
        (lambda: tool(lambda x: x), "annotation"),
    ],
)
def test_a_definition_that_can_not_be_used_says_why(make: Any, word: str) -> None:
    with pytest.raises(DefinitionError, match=word):
        make()


@pytest.mark.parametrize(
    "settings",
    [
        *({"expires_in_seconds": n} for n in (59, 2_592_001, 60.0, "60", True)),
        *({"approvers": a} for a in ("carol", [""], ["  "], ["x" * 201], ["x"] * 101, [7])),
        {"on_expiry": "approve"},
    ],
    ids=lambda settings: str(settings)[:40],
)
def test_c31_what_human_input_can_not_be_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="human_input"):
        HumanInput(**settings)


def test_c31_what_human_input_can_be() -> None:
    for seconds in (60, 2_592_000):
        HumanInput(expires_in_seconds=seconds, approvers=("x" * 200,) * 100)


def test_a_file_that_does_not_import_is_named_with_its_line_and_the_rest_loads(
    tmp_path: Path,
) -> None:
    good = tmp_path / "good.py"
    good.write_text("from placet import Agent\nok = Agent('ok', model='x:y')\n")
    bad = tmp_path / "bad.py"
    bad.write_text("import os\n\nraise KeyError('x')\n")
    syntax = tmp_path / "syntax.py"
    syntax.write_text("a = 1\nb = (\n")
    empty = tmp_path / "empty.py"
    empty.write_text("")
    loaded = load_agents(
        [str(good), str(bad), str(syntax), str(empty), str(tmp_path / "no.py"), "no.such.module"]
    )
    assert list(loaded.agents) == ["ok"]
    assert f"{bad}:3: KeyError" in loaded.problems[0]
    assert f"{syntax}:2" in loaded.problems[1]
    assert "no Agent" in loaded.problems[2]
    assert "no such file" in loaded.problems[3]
    assert "no.such.module" in loaded.problems[4]


def test_the_public_api_is_what_it_says() -> None:
    assert placet.__all__ == sorted(placet.__all__)
    assert all(hasattr(placet, name) for name in placet.__all__)


async def test_an_ask_that_a_tool_swallows_is_its_error_and_not_an_answer() -> None:
    acted: list[str] = []

    @tool
    async def sly(ctx: Context) -> str:
        """Swallow the question and act."""
        try:
            yes = await ctx.confirm("really?")
        except BaseException:  # noqa: BLE001 - what an author might write
            yes = True
        acted.append(str(yes))
        return "did it"

    model = ScriptedModel(steps(calls(("sly", {})), says("done")))
    run = await Agent("a", model=model, tools=[sly]).run("go")
    assert told(run)[0][0] == "error"
    assert "must not be caught" in told(run)[0][1]


async def test_what_an_author_s_code_raises_never_ends_the_process() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise SystemExit(3)

    @tool(risk=lambda args: (_ for _ in ()).throw(SystemExit(2)))
    async def exits(ctx: Context) -> str:
        """Never runs: its own condition failed, so it asks."""
        return "ran"

    @tool
    async def unspeakable(ctx: Context) -> str:
        """Raise what can't be printed."""
        raise Unspeakable

    @tool
    async def halves(ctx: Context) -> str:
        """Raise half a character."""
        raise ValueError("\ud800 is half")

    model = ScriptedModel(
        steps(calls(("exits", {}), ("unspeakable", {}), ("halves", {})), says("done"))
    )
    run = await Agent("a", model=model, tools=[exits, unspeakable, halves]).run("go")
    assert run.status == "completed"
    outcomes = dict(told(run))
    assert sorted(outcome for outcome, _ in told(run)) == ["denied", "error", "error"]
    assert {text for outcome, text in told(run) if outcome == "error"} == {
        "Unspeakable",
        "? is half",
    }
    assert "no approval handler" in outcomes["denied"]


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "text",
        ModelReply(text="\ud800"),
        ModelReply(raw={"deep": 2**70}),
        ModelReply(raw={"a\x00b": 1}),
        SystemExit(2),
        KeyError("x"),
    ],
)
async def test_a_model_that_misbehaves_fails_its_run_at_once_and_says_how(reply: Any) -> None:
    class Odd:
        name = "odd:model"

        async def reply(self, conversation: Any) -> Any:
            if isinstance(reply, BaseException):
                raise reply
            return reply

    run = await Agent("a", model=Odd()).run("go")
    assert run.status == "failed"
    assert run.error is not None
    assert run.error.startswith("model_failed: "), "a code first, like any other failure"


async def test_a_sync_tool_that_runs_out_of_items_fails_and_does_not_hang() -> None:
    @tool
    def first() -> str:
        """Take the first of none."""
        return str(next(iter(())))

    model = ScriptedModel(steps(calls(("first", {})), says("done")))
    with anyio.fail_after(5):
        run = await Agent("a", model=model, tools=[first]).run("go")
    assert told(run) == [("error", "StopIteration: StopIteration")]
