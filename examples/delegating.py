"""An agent that has others do the work: two child runs at once, whose questions are in its own list.

`placet dev --agents examples/delegating.py`, then `placet run lead "Move to the new house"`, `placet show`
with the run's id, and `placet respond`. The models are scripts, so that no key is needed.
"""

from placet import Agent, Context, ScriptedModel, ToolRisk, tool
from placet.agents.scripted import calls, says, steps


@tool(risk=ToolRisk.HIGH)
async def book(ctx: Context, what: str) -> str:
    """Book something that costs money."""
    return f"{what} is booked for {ctx.user}"


@tool(risk=ToolRisk.HIGH)
async def cancel(ctx: Context, contract: str) -> str:
    """End a contract."""
    return f"{contract} is cancelled"


movers = Agent(
    "movers",
    instructions="You book what a move needs.",
    model=ScriptedModel(steps(calls(("book", {"what": "a van"})), says("The van is there at 9."))),
    tools=[book],
)

papers = Agent(
    "papers",
    instructions="You end and begin contracts.",
    model=ScriptedModel(steps(calls(("cancel", {"contract": "power"})), says("Power is settled."))),
    tools=[cancel],
)

TASKS = [
    {"agent": "movers", "message": "Book a van for Saturday"},
    {"agent": "papers", "message": "End the contract for power"},
]

lead = Agent(
    "lead",
    instructions="You plan, and have others do the tasks.",
    model=ScriptedModel(steps(calls(("delegate", {"tasks": TASKS})), says("All is arranged."))),
    delegates=[movers, papers],
)
