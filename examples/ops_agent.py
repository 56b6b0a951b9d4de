"""An agent with one dangerous tool. Both runtimes take this file as it is.

Durable: `placet dev --agents examples/ops_agent.py`, then `placet run ops "Delete the staging database"`.
In process: `python examples/ops_agent.py`, which asks in the terminal.
The model wants the extra `models` and OPENAI_API_KEY.
"""

import asyncio

from placet import Agent, CliApprovalHandler, Context, ToolRisk, tool


@tool(risk=ToolRisk.CRITICAL)
async def drop_database(ctx: Context, name: str) -> str:
    """Drop a database."""
    # A real tool hands `ctx.idempotency_key` on, so that the same call can't count twice.
    return f"dropped {name} under {ctx.idempotency_key}"


@tool(read_only=True)
async def list_databases() -> list[str]:
    """List the databases."""
    return ["production", "staging"]


ops = Agent(
    "ops",
    instructions="You look after databases.",
    model="openai:gpt-5",
    tools=[drop_database, list_databases],
    approval_required_risk=ToolRisk.HIGH,
)


async def main() -> None:
    """Run it in this process, with a person at the terminal."""
    result = await ops.run("Delete the staging database", approval_handler=CliApprovalHandler())
    print(result.status, result.text, result.error or "")


if __name__ == "__main__":
    asyncio.run(main())
