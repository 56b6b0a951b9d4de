"""Permissions by name: a word for each tool, whatever its tier. A deny holds against everything.

`python examples/tool_permissions.py` asks in the terminal. Whoever operates the runner bounds these
words by the table of the same name in placet.toml.
"""

import asyncio

from placet import Agent, CliApprovalHandler, ScriptedModel, ToolRisk, tool
from placet.agents.scripted import calls, says, steps


@tool(risk=ToolRisk.HIGH)
def restart(service: str) -> str:
    """Restart a service."""
    print(f"restarted {service}")
    return "restarted"


@tool
def send_mail(to: str) -> str:
    """Send a mail."""
    print(f"sent to {to}")
    return "sent"


@tool
def delete_logs(service: str) -> str:
    """Delete the logs of a service."""
    print(f"deleted the logs of {service}")
    return "deleted"


script = steps(
    calls(
        ("restart", {"service": "web"}),
        ("send_mail", {"to": "everybody@example.com"}),
        ("delete_logs", {"service": "web"}),
    ),
    says("That is all."),
)
keeper = Agent(
    "keeper",
    model=ScriptedModel(script),
    tools=[restart, send_mail, delete_logs],
    tool_permissions={"restart": "allow", "send_mail": "ask", "delete_logs": "deny"},
)


async def main() -> None:
    """Ask the person at the terminal about the mail alone."""
    result = await keeper.run("Put web in order", approval_handler=CliApprovalHandler())
    print(result.status, result.text)


if __name__ == "__main__":
    asyncio.run(main())
