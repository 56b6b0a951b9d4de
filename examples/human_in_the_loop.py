"""`HumanInTheLoop`: every tool asks, but for those that are listed, and those that somebody trusts.

`placet dev --agents examples/human_in_the_loop.py`, then
`placet run secretary "Tell the team"` and `placet respond inp_ trust`: the second mail goes out
unasked, and so do those of your later runs of that agent (`placet run agt_... "..."`). `python
examples/human_in_the_loop.py` asks for each, in the terminal.
"""

import asyncio

from placet import Agent, CliApprovalHandler, HumanInTheLoop, ScriptedModel, tool
from placet.agents.scripted import calls, says, steps


@tool
def find_address(name: str) -> str:
    """Find somebody's address."""
    return f"{name}@example.com"


@tool
def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    print(f"sent to {to}")
    return "sent"


script = steps(
    calls(("find_address", {"name": "ann"}), ("find_address", {"name": "bob"})),
    calls(("send_mail", {"to": "ann@example.com", "text": "We meet at ten."})),
    calls(("send_mail", {"to": "bob@example.com", "text": "We meet at ten."})),
    says("That is all."),
)
secretary = Agent(
    "secretary",
    model=ScriptedModel(script),
    tools=[find_address, send_mail],
    interventions=[HumanInTheLoop(allowed_tools=["find_address"], enable_trust=True)],
)


async def main() -> None:
    """Ask the person at the terminal about each mail."""
    result = await secretary.run("Tell the team", approval_handler=CliApprovalHandler())
    print(result.status, result.text)


if __name__ == "__main__":
    asyncio.run(main())
