"""What models do in these runs: a plan stands in the run's input, and tools note what they did."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from placet import (
    Agent,
    Context,
    HumanInput,
    InteractionPoint,
    Stage,
    ToolRisk,
    tool,
)
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says
from placet.agents.tool import Tool
from placet.clock import Clock
from placet.kernel.turns import ModelReply
from tests.support.stateful.member import Member

Plan = list[dict[str, Any]]
MARK = '{"plan"'
GATED = {"drop", "wire", "sign"}
"""Tools that need a person each time, or one whose grant names them."""
EACH_TIME = {"sign"}
UNSAFE = {"note", "wire", "sign", "fill"}
"""Tools of which nobody may guess whether they ran."""
APPROVERS = ("bob", "service:desk")
PATIENCE = 3600
PAUSE = 5.0
SLOW = 1.0
FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "sure": {"type": "boolean"}},
    "required": ["name"],
}


@dataclass(frozen=True, slots=True)
class Effect:
    """What a tool did to the world, at the end of one execution that went so far."""

    run_id: str
    call_id: str
    key: str
    attempt: int
    tool: str
    args: dict[str, Any]
    at: datetime


@dataclass
class Ledger:
    """The world that tools act on."""

    clock: Clock
    effects: list[Effect] = field(default_factory=list)


Act = Callable[..., Awaitable[str]]


def tools(ledger: Ledger, member: Member) -> list[Tool]:
    """The tools of one process; what its end cuts off has no effect."""

    async def act(ctx: Context, name: str, pause: int, /, **args: Any) -> str:
        if pause == 2:
            await asyncio.sleep(PAUSE)
        member.check()
        ids = (ctx.run_id, ctx.call_id, ctx.idempotency_key, ctx.attempt)
        ledger.effects.append(Effect(*ids, name, args, ledger.clock.now()))
        if pause:
            await asyncio.sleep(PAUSE)
        return f"{name} done"

    return [*_acting_tools(act), *_asking_tools(act)]


def _acting_tools(act: Act) -> list[Tool]:
    """With a pause of 1 they take long after they had their effect, with 2 before it too."""

    def made(name: str, **rules: Any) -> Tool:
        @tool(name=name, **rules)
        async def acts(ctx: Context, value: str, pause: int = 0) -> str:
            """Acts."""
            return await act(ctx, name, pause, value=value, pause=pause)

        return acts

    return [
        made("look", retry="safe"),
        made("note", retry="ask"),
        made("drop", retry="safe", risk=ToolRisk.HIGH),
        made("wire", retry="ask", risk=ToolRisk.CRITICAL),
        made("sign", retry="ask", needs_approval=True),
    ]


def _asking_tools(act: Act) -> list[Tool]:
    @tool(retry="safe")
    async def sure(ctx: Context, value: str, asks: int = 1) -> str:
        """Asks as often as it is told to, then acts."""
        for number in range(asks):
            if not await ctx.confirm(f"{value}: {number}?"):
                return f"left: {ctx.outcome}"
        return await act(ctx, "sure", 0, value=value)

    @tool(retry="ask")
    async def fill(ctx: Context, value: str, pause: int = 0) -> str:
        """Has a form filled in and a question answered, then acts."""
        form = await ctx.ask(f"{value}: who?", FORM)
        if form is None or await ctx.ask_text(f"{value}: why?") is None:
            return f"left: {ctx.outcome}"
        return await act(ctx, "fill", pause, value=value)

    @tool
    async def fails(ctx: Context) -> str:
        """Fails."""
        raise ValueError("it is broken")

    return [sure, fill, fails]


class PlannedModel:
    """Does what the plan says that was told last, sometimes after a while."""

    name = "planned"

    async def reply(self, conversation: Conversation) -> ModelReply:
        """The next turn of the plan."""
        step = next_step(conversation)
        if step.get("slow"):
            await asyncio.sleep(SLOW)
        if "raise" in step:
            raise RuntimeError("the model is broken")
        if "calls" in step:
            return calls(*((name, args) for name, args in step["calls"]))
        return says(step["say"])


def next_step(conversation: Conversation) -> dict[str, Any]:
    """The step of the plan that was said last, by how often the model replied since."""
    turns = conversation.turns
    said = [n for n, t in enumerate(turns) if t.role == "user" and t.text.startswith(MARK)]
    if not said:
        return {"say": "nothing to do"}
    text = getattr(turns[said[-1]], "text", "")
    plan: Plan = json.loads(text.splitlines()[0])["plan"]
    done = sum(turn.role == "model" for turn in turns[said[-1] :])
    return plan[done] if done < len(plan) else {"say": "done", "slow": True}


POINTS = (
    InteractionPoint(
        name="direction",
        prompt="Is that the way?",
        options=("Go", "Other way", "Change it", "Stop"),
        directives={"Other way": "Go another way."},
        edit_options=("Change it",),
        abort_options=("Stop",),
    ),
    InteractionPoint(name="words", prompt="What do you say?", style="free_text", required=False),
    InteractionPoint(name="last", prompt="Go on?", unattended="ask"),
)
BUILTINS = ("ask_user_text", "ask_user_choice", "ask_user_confirm", "edit_document", "ask_user")


def agents(ledger: Ledger, member: Member) -> Sequence[Agent]:
    """The definitions, as one process loads them."""
    common: dict[str, Any] = {
        "model": PlannedModel(),
        "tools": tools(ledger, member),
        "builtins": BUILTINS,
        "human_input": HumanInput(expires_in_seconds=PATIENCE, approvers=APPROVERS),
        "edits": True,
        "max_steps": 30,
    }
    worker = Agent("worker", **common)
    stages = [
        Stage(name="plan", mode="interactive_points", interaction_points=POINTS),
        Stage(name="build", accepts_messages=False),
        Stage(name="report"),
    ]
    return [
        worker,
        Agent("ops", delegates=[worker], **common),
        Agent("staged", stages=stages, **common),
    ]


# --- what may be drawn ---

VALUES = st.sampled_from(["a", "b", "c"])
PAUSES = st.sampled_from([0, 0, 1, 2])


def _acting(*names: str) -> st.SearchStrategy[list[Any]]:
    args = st.fixed_dictionaries({"value": VALUES, "pause": PAUSES})
    return st.tuples(st.sampled_from(names), args).map(list)


_QUESTION = {"question": "Which?", "header": "Which", "options": [{"label": "A"}, {"label": "B"}]}
_ASKING = st.sampled_from(
    [
        ["ask_user_text", {"question": "What?"}],
        ["ask_user_choice", {"question": "Which?", "options": ["left", "right"]}],
        ["ask_user_confirm", {"question": "Really?"}],
        ["edit_document", {"content": "a text"}],
        ["ask_user", {"questions": [_QUESTION]}],
    ]
)
CALLS = st.one_of(
    _acting("drop", "wire", "sign"),
    _acting("look", "note"),
    _acting("fill"),
    st.fixed_dictionaries({"value": VALUES, "asks": st.integers(1, 3)}).map(lambda a: ["sure", a]),
    _ASKING,
    st.sampled_from([["fails", {}], ["nothing", {}], ["drop", {"odd": 1}]]),
)


def _turns(call: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[Plan]:
    making = st.builds(
        lambda made, slow: {"calls": made} | ({"slow": True} if slow else {}),
        st.lists(call, min_size=1, max_size=4),
        st.booleans(),
    )
    other: st.SearchStrategy[Any] = st.sampled_from(
        [{"say": "so far"}, {"say": "so far", "slow": True}, {"raise": True}]
    )
    turn: st.SearchStrategy[Any] = st.sampled_from([*[making] * 8, other]).flatmap(
        lambda chosen: chosen
    )
    return st.lists(turn, min_size=1, max_size=most)


def _delegated(plans: list[Plan]) -> list[Any]:
    tasks = [{"agent": "worker", "message": as_input(plan)} for plan in plans]
    return ["delegate", {"tasks": tasks}]


SMALL_PLANS = _turns(CALLS, 2)
PLANS = _turns(
    st.one_of(CALLS, CALLS, CALLS, st.lists(SMALL_PLANS, min_size=1, max_size=2).map(_delegated)), 3
)


def as_input(plan: Plan, tag: str = "") -> str:
    """The plan as it is told to a run; the tag tells messages apart."""
    return f"{json.dumps({'plan': plan})}\n{tag}".rstrip()
