"""Agents for the fault tests, loaded by real runners; tools write to a ledger of files."""

import os
import secrets
from pathlib import Path

from placet import Agent, Context, InteractionPoint, ScriptedModel, Stage, ToolRisk, tool
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says
from placet.kernel.turns import ModelReply


def _folder() -> Path:
    return Path(os.environ["PLACET_TEST_LEDGER"])


def _note(ctx: Context, name: str) -> None:
    """Every execution is a file; the effect of a key happens once, whoever comes first."""
    execution = _folder() / f"run.{name}.{ctx.idempotency_key}.{ctx.attempt}.{secrets.token_hex(4)}"
    execution.touch()
    (_folder() / f"effect.{name}.{ctx.idempotency_key}").touch()


@tool(risk=ToolRisk.CRITICAL, retry="safe")
async def safely(ctx: Context, value: str) -> str:
    """Do something that may be tried again with its key."""
    _note(ctx, "safely")
    return f"did {value}"


@tool(risk=ToolRisk.CRITICAL, retry="ask")
async def carefully(ctx: Context, value: str) -> str:
    """Do something that must not be guessed about."""
    _note(ctx, "carefully")
    return f"did {value}"


@tool(retry="safe")
async def asks(ctx: Context, value: str) -> str:
    """Ask before acting."""
    if not await ctx.confirm(f"Do {value}?"):
        return f"left {value}"
    _note(ctx, "asks")
    return f"did {value}"


@tool(retry="safe")
async def freely(ctx: Context, value: str) -> str:
    """Do something that needs nobody."""
    _note(ctx, "freely")
    return f"did {value}"


def script(conversation: Conversation) -> ModelReply:
    """The words of the input are the tools to call, in one turn."""
    last = conversation.turns[-1]
    if last.role == "user":
        wanted: list[tuple[str, dict[str, object]]] = [
            (word, {"value": str(n)}) for n, word in enumerate(last.text.split())
        ]
        return calls(*wanted)
    return says("done")


worker = Agent(
    "worker",
    model=ScriptedModel(script),
    tools=[safely, carefully, asks, freely],
    approval_required_risk=ToolRisk.HIGH,
)


def share(conversation: Conversation) -> ModelReply:
    """Each part of the input is a task: a worker's, or a chief's in brackets."""
    last = conversation.turns[-1]
    if last.role != "user":
        return says("done")
    tasks = [
        {"agent": "chief", "message": part[1:-1].replace("/", "|")}
        if part.startswith("(")
        else {"agent": "worker", "message": part}
        for part in last.text.split("|")
    ]
    return calls(("delegate", {"tasks": tasks}))


chief = Agent("chief", model=ScriptedModel(share), delegates=["worker", "chief"])


def planning(conversation: Conversation) -> ModelReply:
    """The plan, and once it was approved, the work; each call of the model is a file."""
    begun = any(turn.role == "model" for turn in conversation.turns)
    (_folder() / f"model.{'built' if begun else 'plan'}.{secrets.token_hex(4)}").touch()
    return says("built" if begun else "the plan")


signer = Agent(
    "signer",
    model=ScriptedModel(planning),
    stages=[
        Stage(
            name="plan",
            mode="interactive_points",
            interaction_points=[
                InteractionPoint(name="sign_off", prompt="Sign?", options=["Approve", "Reject"])
            ],
        ),
        Stage(name="build"),
    ],
)
