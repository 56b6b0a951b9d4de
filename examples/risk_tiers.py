"""Risk tiers: each tool says how much harm it can do, the definition from where on a person is asked.

`python examples/risk_tiers.py` asks in the terminal, `placet dev --agents examples/risk_tiers.py` in
the inbox. The script stands in for a model.
"""

import asyncio

from placet import Agent, CliApprovalHandler, ScriptedModel, ToolRisk, tool
from placet.agents.scripted import calls, says, steps


@tool  # a tool that says nothing is `safe`
def look_up(order: str) -> str:
    """Look an order up."""
    return f"order {order}: 1 chair, 80.00"


@tool(risk=lambda args: ToolRisk.CRITICAL if args["cents"] > 10_000 else ToolRisk.HIGH)
def refund(order: str, cents: int) -> str:
    """Refund an order."""
    print(f"refunded {order}")
    return f"refunded {cents / 100:.2f}"


script = steps(
    calls(("look_up", {"order": "4711"}), ("refund", {"order": "4711", "cents": 8_000})),
    says("That is all."),
)
clerk = Agent(
    "clerk",
    model=ScriptedModel(script),
    tools=[look_up, refund],
    approval_required_risk=ToolRisk.HIGH,  # CRITICAL would let the small refund run
)


async def main() -> None:
    """Ask the person at the terminal."""
    result = await clerk.run("Refund order 4711", approval_handler=CliApprovalHandler())
    print(result.status, result.text)


if __name__ == "__main__":
    asyncio.run(main())
