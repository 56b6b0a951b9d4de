"""The bundled `ops` agent for demos: a scripted model (no intelligence, no key) and one dangerous tool.

Its tool drops nothing: it writes a line into a ledger, `PLACET_DEMO_LEDGER` or `.placet/ops-ledger.jsonl`.
"""

import json
import os
import re
from pathlib import Path

from placet.agents.agent import Agent
from placet.agents.context import Context
from placet.agents.models import Conversation
from placet.agents.scripted import ScriptedModel, calls, says
from placet.agents.tool import tool
from placet.domain.risk import ToolRisk
from placet.kernel.turns import CallOutcome, ModelReply, ResultsTurn, UserTurn


def ledger() -> Path:
    """Where the demo's tool notes what it did."""
    return Path(os.environ.get("PLACET_DEMO_LEDGER", ".placet/ops-ledger.jsonl"))


@tool(risk=ToolRisk.CRITICAL, retry="safe")
def drop_database(ctx: Context, name: str) -> str:
    """Drop a database."""
    path = ledger()
    path.parent.mkdir(parents=True, exist_ok=True)
    known = path.read_text().splitlines() if path.exists() else []
    if not any(json.loads(line)["key"] == ctx.idempotency_key for line in known):
        line = {"key": ctx.idempotency_key, "tool": "drop_database", "name": name}
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")
    return f"database {name} dropped"


@tool(read_only=True)
def list_databases() -> list[str]:
    """List the databases."""
    return ["production", "staging", "analytics"]


def script(conversation: Conversation) -> ModelReply:
    """What a model might do: look for a database's name in the request, then call the tool."""
    match conversation.turns[-1]:
        case UserTurn(text=text):
            return _first(text)
        case ResultsTurn(results=results):
            done = [r for r in results if r.outcome is CallOutcome.OK]
            told = "; ".join(str(r.content) for r in results)
            return says(f"Done: {told}." if done else f"Nothing was changed. {told}")
        case _:
            return says("Nothing to do.")


def _first(text: str) -> ModelReply:
    wanted = re.search(r"(?:delete|drop)\s+(?:the\s+)?([\w-]+)", text, re.IGNORECASE)
    if wanted:
        return calls(("drop_database", {"name": wanted[1]}))
    if "list" in text.lower():
        return calls(("list_databases", {}))
    return says("I can list databases and drop one: try `Delete the staging database`.")


ops = Agent(
    "ops",
    instructions="You look after databases. Prepare what is asked; a person approves what is dangerous.",
    model=ScriptedModel(script, name="ops"),
    tools=[drop_database, list_databases],
    approval_required_risk=ToolRisk.HIGH,
)
