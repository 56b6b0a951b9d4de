"""An allow list: what runs unasked. `*` is every tool, and `!name` is asked about before each call.

`python examples/allowed_tools.py` asks in the terminal. The order of the words does not matter.
Without `*`, whatever is not listed asks.
"""

import asyncio

from placet import Agent, CliApprovalHandler, ScriptedModel, tool
from placet.agents.scripted import calls, says, steps


@tool
def read_page(path: str) -> str:
    """Read a page."""
    return f"the text of {path}"


@tool
def write_page(path: str, text: str) -> str:
    """Write a page."""
    print(f"wrote {path}")
    return "written"


@tool
def delete_page(path: str) -> str:
    """Delete a page."""
    print(f"deleted {path}")
    return "deleted"


script = steps(
    calls(("read_page", {"path": "a"}), ("write_page", {"path": "b", "text": "..."})),
    calls(("delete_page", {"path": "a"})),
    says("That is all."),
)
editor = Agent(
    "editor",
    model=ScriptedModel(script),
    tools=[read_page, write_page, delete_page],
    allowed_tools=["*", "!delete_page"],
)


async def main() -> None:
    """Ask the person at the terminal before a page is deleted."""
    result = await editor.run("Move page a to b", approval_handler=CliApprovalHandler())
    print(result.status, result.text)


if __name__ == "__main__":
    asyncio.run(main())
