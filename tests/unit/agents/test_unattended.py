"""Runs that nobody watches, in this process: what is offered, what asks, and what becomes of the rest."""

from typing import Any

import pytest

from placet import Agent, ApprovalRequest, Context, HumanInput, Stage, ToolRisk, tool
from placet.agents import asking
from placet.agents.inprocess import RunResult
from placet.agents.operator import Operator, Tables, TaintTable
from placet.agents.scripted import calls, says
from placet.domain.consent import ConsentRule, ConsentRules
from placet.domain.label import Label
from placet.gate import Decision, Facts, Layer, Level, Policy, gate
from placet.kernel.turns import ModelReply
from tests.support.desk import Desk, told
from tests.support.watched import Watched

pytestmark = pytest.mark.unit

ASKING = sorted(asking.TOOLS)
ARGS: dict[str, dict[str, Any]] = {
    "ask_user": {
        "questions": [
            {"question": "Q?", "header": "Q", "options": [{"label": "a"}, {"label": "b"}]}
        ]
    },
    "ask_user_choice": {"question": "Q?", "options": ["a", "b"]},
    "ask_user_confirm": {"question": "Q?"},
    "ask_user_text": {"question": "Q?"},
    "edit_document": {"content": "text"},
    "present_for_review": {"title": "T", "markdown": "text"},
}
YES: dict[str, Any] = {
    "ask_user": "a",
    "ask_user_choice": "a",
    "ask_user_confirm": True,
    "ask_user_text": "a",
    "edit_document": "a",
    "present_for_review": "a",
}
WORDS = ["deny", "ask", "allow"]


@tool(risk=ToolRisk.HIGH)
async def drop(name: str) -> str:
    """Drop a database."""
    return f"dropped {name}"


@tool(needs_approval=True)
async def wire(amount: int) -> str:
    """Wire money."""
    return f"wired {amount}"


@tool
async def sure(ctx: Context) -> list[Any]:
    """Ask in every way before acting."""
    form = {"type": "object", "properties": {"x": {"type": "string"}}}
    return [
        await ctx.confirm("Sure?"),
        await ctx.ask("Form?", form),
        await ctx.ask_text("Text?", default="declared"),
        await ctx.require_url("https://x.test", "Log in"),
        str(ctx.outcome),
    ]


class People:
    """Approves whatever it is asked."""

    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> bool:
        self.asked.append(request)
        return True


async def went(
    *wanted: tuple[str, dict[str, Any]],
    unattended: Any,
    desk: Desk | None = None,
    people: People | None = None,
    replies: tuple[ModelReply, ...] = (),
    **parts: Any,
) -> RunResult:
    model = Watched(*(replies or (calls(*wanted), says("done"))))
    agent = Agent("ops", model=model, **{"tools": [drop, wire, sure], **parts})
    return await agent.run(
        "go",
        approval_handler=people or People(),
        interaction_handler=desk or Desk(),
        user="alice",
        unattended=unattended,
    )


# --- the tools that ask


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("name", ASKING)
async def test_l90_the_tools_that_ask_are_not_offered_and_a_stray_call_is_refused(
    name: str, word: str
) -> None:
    desk, model = Desk(YES[name]), Watched(calls((name, ARGS[name])), says("done"))
    agent = Agent("ops", model=model, builtins=ASKING)
    run = await agent.run("go", interaction_handler=desk, unattended=word)  # type: ignore[arg-type]
    assert model.seen[0].tools == ()
    assert told(run) == [("refused", f"The tool {name!r} is not offered here.")]
    assert desk.asked == []


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("name", ASKING)
async def test_l91_what_a_stage_requires_is_kept_and_really_asks(name: str, word: str) -> None:
    desk = Desk(YES[name])
    model = Watched(calls((name, ARGS[name])), says("done"))
    stage = Stage(name="plan", available_tools=ASKING, required_tools=[name])
    agent = Agent("ops", model=model, builtins=ASKING, stages=[stage])
    run = await agent.run("go", interaction_handler=desk, user="alice", unattended=word)  # type: ignore[arg-type]
    assert [t.name for t in model.seen[0].tools] == [name]
    assert ([r.message for r in desk.asked] != [], told(run)[0][0]) == (True, "ok")


async def test_l91_only_in_the_stage_that_requires_it() -> None:
    model = Watched(says("a"), calls(("ask_user_text", ARGS["ask_user_text"])), says("done"))
    stages = [Stage(name="one", required_tools=["ask_user_text"]), Stage(name="two")]
    agent = Agent("ops", model=model, builtins=["ask_user_text"], stages=stages)
    run = await agent.run("go", interaction_handler=Desk("x"), unattended="deny")
    assert [len(c.tools) for c in model.seen] == [1, 0, 0]
    assert told(run)[0][0] == "refused"


@pytest.mark.parametrize("word", WORDS)
async def test_what_a_tool_asks_itself_has_no_answer_at_once(word: str) -> None:
    desk = Desk(True, {"x": "y"}, "typed", True)
    run = await went(("sure", {}), unattended=word, desk=desk)
    assert told(run) == [("ok", [False, None, None, False, "cancelled"])]
    assert desk.asked == []


async def test_what_a_required_tool_asks_itself_is_asked() -> None:
    desk = Desk(True, {"x": "y"}, "typed", True)
    stage = Stage(name="plan", required_tools=["sure"])
    run = await went(("sure", {}), unattended="deny", desk=desk, stages=[stage])
    assert told(run) == [("ok", [True, {"x": "y"}, "typed", True, "answered"])]


# --- the gate


@pytest.mark.parametrize(
    ("word", "outcome", "asked"), [("deny", "refused", 0), ("ask", "ok", 1), ("allow", "ok", 0)]
)
@pytest.mark.parametrize(
    "rule",
    [
        {"tool_permissions": {"drop": "ask"}},
        {"approval_required_risk": "high"},
        {"allowed_tools": []},
        {"stages": [Stage(name="one", tool_permissions={"drop": "ask"})]},
    ],
    ids=["permission", "risk", "default", "stage"],
)
async def test_what_asks_is_settled_by_the_word_for_it(
    rule: dict[str, Any], word: str, outcome: str, asked: int
) -> None:
    people = People()
    run = await went(("drop", {"name": "x"}), unattended=word, people=people, **rule)
    assert (told(run)[0][0], len(people.asked)) == (outcome, asked)


@pytest.mark.parametrize(
    ("word", "outcome", "asked"), [("deny", "refused", 0), ("ask", "ok", 1), ("allow", "ok", 1)]
)
async def test_what_is_asked_about_each_time_is_denied_or_opens_and_never_allowed(
    word: str, outcome: str, asked: int
) -> None:
    people = People()
    run = await went(("wire", {"amount": 1}), unattended=word, people=people)
    assert (told(run)[0][0], len(people.asked)) == (outcome, asked)


async def test_a_call_that_nobody_is_there_for_says_so_and_runs_nothing() -> None:
    run = await went(("drop", {"name": "x"}), unattended="deny")
    ((outcome, content),) = told(run)
    assert outcome == "refused"
    assert content.startswith("Not allowed: nobody is there to ask: drop is high")


@pytest.mark.parametrize("word", WORDS)
async def test_a_deny_stays_a_deny(word: str) -> None:
    run = await went(("drop", {"name": "x"}), unattended=word, tool_permissions={"drop": "deny"})
    assert told(run)[0][0] == "refused"


async def test_allow_lifts_nothing_for_which_approvers_are_named() -> None:
    people = People()
    named = HumanInput(approvers=("boss",))
    run = await went(("drop", {"name": "x"}), unattended="allow", people=people, human_input=named)
    assert (told(run)[0][0], len(people.asked)) == ("ok", 1)
    rules = (ConsentRules(tiers={ToolRisk.HIGH: ConsentRule(approvers=("boss",))}),)
    high = Facts(tool="drop", risk=ToolRisk.HIGH)
    verdict = gate(high, Policy(unattended=Decision.ALLOW, consent=rules))
    assert verdict is not None
    assert verdict.decision is Decision.ASK
    safe = Facts(tool="drop", risk=ToolRisk.SAFE)
    asks = Layer({"drop": Decision.ASK})
    verdict = gate(safe, Policy(agent=asks, unattended=Decision.ALLOW, consent=rules))
    assert verdict is not None
    assert verdict.decision is Decision.ALLOW, "nobody is named for calls of this tier"
    verdict = gate(high, Policy(unattended=Decision.DENY, consent=rules))
    assert verdict is not None
    assert verdict.decision is Decision.DENY


async def test_what_was_let_go_is_recorded_as_such() -> None:
    run = await went(("drop", {"name": "x"}), unattended="allow")
    (judged,) = [e for e in run.journal if e.type == "call.judged"]
    assert judged.verdict.reason.code == "unattended"
    assert judged.verdict.lifted is not None
    assert judged.verdict.lifted.code == "risk"


# --- the taint gate


@tool(read_only=True, outbound=False, label=Label.PRIVATE)
async def read_salaries() -> str:
    """Read what nobody outside may see."""
    return "4000"


@tool
async def post(text: str) -> str:
    """Send it somewhere."""
    return "sent"


@pytest.mark.parametrize(
    ("leaks", "outcome", "asked"), [("deny", "refused", 0), ("ask", "ok", 1), ("allow", "ok", 0)]
)
@pytest.mark.parametrize("word", WORDS)
async def test_l98_data_leaves_unattended_only_by_the_operators_word(
    word: str, leaks: str, outcome: str, asked: int
) -> None:
    model = Watched(calls(("read_salaries", {})), calls(("post", {"text": "x"})), says("done"))
    operator = Operator(Tables(taint=TaintTable(enabled=True, unattended=leaks)))
    agent = Agent("ops", model=model, tools=[read_salaries, post]).under(operator)
    people = People()
    run = await agent.run("go", approval_handler=people, user="alice", unattended=word)  # type: ignore[arg-type]
    assert (told(run)[1][0], len(people.asked)) == (outcome, asked)
    judged = [e for e in run.journal if e.type == "call.judged"][1]
    assert judged.verdict.level is (Level.DEFAULT if outcome == "ok" and not asked else Level.TAINT)


# --- below


async def test_l92_what_is_started_below_is_unattended_too() -> None:
    desk = Desk("x")
    below = Watched(calls(("ask_user_text", {"question": "?"})), says("done"))
    child = Agent("child", model=below, builtins=["ask_user_text"])
    model = Watched(
        calls(("delegate", {"tasks": [{"agent": "child", "message": "do"}]})), says("done")
    )
    agent = Agent("root", model=model, delegates=[child])
    await agent.run("go", interaction_handler=desk, user="alice", unattended="deny")
    assert (below.seen[0].tools, desk.asked) == ((), [])
