"""The agent that is measured, loaded by real runners: a scripted model, no provider."""

import asyncio
import os
import time

from placet import Agent, Context, ScriptedModel, ToolRisk, tool
from placet.agents.models import Conversation
from placet.agents.scripted import calls, says
from placet.kernel.turns import ModelReply

SLOW_SECONDS = 60


def _note(ctx: Context, moment: int) -> None:
    """One line for each execution, in one write, so that lines of several processes stay whole."""
    path = os.environ["PLACET_BENCH_LEDGER"]
    line = f"{ctx.run_id} {moment} {os.getpid()} {ctx.attempt}\n"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


@tool(risk=ToolRisk.CRITICAL, retry="safe")
async def drop_database(ctx: Context, name: str) -> str:
    """Drop a database."""
    _note(ctx, time.monotonic_ns())
    return f"database {name} dropped"


@tool(retry="safe")
async def copy_database(ctx: Context, name: str) -> str:
    """Copy a database, which takes a while the first time."""
    _note(ctx, time.monotonic_ns())
    if ctx.attempt == 1:
        await asyncio.sleep(SLOW_SECONDS)
    return f"database {name} copied"


@tool
async def look(name: str) -> str:
    """Look at a database."""
    return f"database {name} is there"


def script(conversation: Conversation) -> ModelReply:
    """One call, then the end."""
    last = conversation.turns[-1]
    if last.role != "user":
        return says("done")
    wanted = "copy_database" if last.text == "copy" else "drop_database"
    return calls((wanted, {"name": "staging"}))


def long_script(conversation: Conversation) -> ModelReply:
    """As many looks as the first message's first number says, then calls that need a person."""
    first = conversation.turns[0]
    looks, asks = map(int, first.text.split()) if first.role == "user" else (0, 0)
    answered = (len(conversation.turns) - 1) // 2
    if answered < looks:
        return calls(("look", {"name": "staging"}))
    return (
        calls(("drop_database", {"name": "staging"})) if answered < looks + asks else says("done")
    )


bench = Agent(
    "bench",
    instructions="You look after databases.",
    model=ScriptedModel(script, name="bench"),
    tools=[drop_database, copy_database],
    approval_required_risk=ToolRisk.HIGH,
)

long = Agent(
    "long",
    instructions="You look after databases, for a long time.",
    model=ScriptedModel(long_script, name="long"),
    tools=[look, drop_database],
    approval_required_risk=ToolRisk.HIGH,
    max_steps=10_000,
)
