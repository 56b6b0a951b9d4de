"""Agents of the tests: scripted, with tools that keep a ledger of what they did."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from placet import Agent, Context, ScriptedModel, ToolRisk, tool
from placet.agents.scripted import calls, says, steps
from placet.agents.tool import Tool
from placet.kernel.turns import ModelReply


@dataclass
class Ledger:
    """What tools did: every execution, and effects by key."""

    executions: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    effects: dict[str, str] = field(default_factory=dict)

    def note(self, ctx: Context, tool_name: str, /, **args: Any) -> None:
        self.executions.append((tool_name, args))
        self.effects.setdefault(ctx.idempotency_key, tool_name)


def tools(ledger: Ledger) -> list[Tool]:
    @tool(risk=ToolRisk.CRITICAL, retry="safe")
    async def drop(ctx: Context, name: str) -> str:
        """Drop a database."""
        ledger.note(ctx, "drop", name=name)
        return f"dropped {name}"

    @tool
    async def look(ctx: Context, at: str = "here") -> str:
        """Look at something."""
        ledger.note(ctx, "look", at=at)
        return f"saw {at}"

    @tool
    async def sure(ctx: Context, what: str) -> str:
        """Do something after asking."""
        said = await ctx.confirm(f"Really {what}?")
        ledger.note(ctx, "sure", said=said, outcome=str(ctx.outcome))
        return "did it" if said else f"left it: {ctx.outcome}"

    @tool(risk=ToolRisk.HIGH, retry="ask")
    async def wire(ctx: Context, amount: int) -> str:
        """Wire money."""
        ledger.note(ctx, "wire", amount=amount)
        return f"wired {amount}"

    @tool
    async def fails(ctx: Context) -> str:
        """Fail."""
        raise ValueError("it is broken")

    return [drop, look, sure, wire, fails]


def agent(ledger: Ledger, *replies: ModelReply, name: str = "ops", **parts: Any) -> Agent:
    """An agent that makes these replies, one after another."""
    model = ScriptedModel(steps(*replies))
    return Agent(name, instructions="test", model=model, tools=tools(ledger), **parts)


def once(*wanted: tuple[str, Mapping[str, object]]) -> tuple[ModelReply, ModelReply]:
    """One turn of calls, then the end."""
    return calls(*wanted), says("done")
