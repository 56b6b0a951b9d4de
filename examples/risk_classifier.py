"""A classifier: judges the calls that nothing else decides, one by one, by tool and arguments.

`python examples/risk_classifier.py` asks in the terminal about the second transfer. `classifier=True`
lets the agent's own model judge, `LLMClassifierConfig(model=...)` another one. Whatever goes wrong
with a classifier asks a person, and it never lets through what a rule asks about.
"""

import asyncio

from placet import Agent, CliApprovalHandler, RiskVerdict, ScriptedModel, tool
from placet.agents.scripted import calls, says, steps
from placet.domain.interaction import ToolCall


@tool
def transfer(to: str, cents: int) -> str:
    """Transfer money."""
    print(f"transferred {cents / 100:.2f} to {to}")
    return "transferred"


def unusual(call: ToolCall) -> RiskVerdict:
    """Ask about what is large, or goes to somebody new."""
    large, new = call.args["cents"] > 5_000, call.args["to"] not in ("rent", "power")
    why = "it is large" if large else "the payee is new" if new else None
    return RiskVerdict(large or new, why)


script = steps(
    calls(("transfer", {"to": "power", "cents": 4_200}), ("transfer", {"to": "x", "cents": 100})),
    says("That is all."),
)
bookkeeper = Agent("bookkeeper", model=ScriptedModel(script), tools=[transfer], classifier=unusual)


async def main() -> None:
    """Ask the person at the terminal about what the classifier finds unusual."""
    result = await bookkeeper.run("Pay the bills", approval_handler=CliApprovalHandler())
    print(result.status, result.text)


if __name__ == "__main__":
    asyncio.run(main())
