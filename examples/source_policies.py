"""Policies by source: one word for all tools of a server, and another one for some of them.

`python examples/source_policies.py` asks in the terminal. A discovered tool is called SOURCE__NAME,
its rules go by the name that its source has for it. The words are `never`, `always`, `destructive`
and `unless_read_only`.
"""

import asyncio

from placet import Agent, CliApprovalHandler, ScriptedModel, tool
from placet.agents.scripted import calls, says, steps


@tool(source="github", read_only=True)
def list_repos() -> list[str]:
    """List the repositories."""
    return ["web", "docs"]


@tool(source="github")
def create_issue(repo: str, title: str) -> str:
    """Create an issue."""
    print(f"created {title!r} in {repo}")
    return "created"


@tool(source="github", destructive=True)
def delete_repo(repo: str) -> str:
    """Delete a repository."""
    print(f"deleted {repo}")
    return "deleted"


script = steps(
    calls(("github__list_repos", {})),
    calls(
        ("github__create_issue", {"repo": "web", "title": "Tidy up"}),
        ("github__delete_repo", {"repo": "docs"}),
    ),
    says("That is all."),
)
maintainer = Agent(
    "maintainer",
    model=ScriptedModel(script),
    tools=[list_repos, create_issue, delete_repo],
    sources={"github": {"policy": "unless_read_only", "tools": {"delete_repo": "always"}}},
)


async def main() -> None:
    """Ask the person at the terminal about everything but the list."""
    result = await maintainer.run("Tidy up", approval_handler=CliApprovalHandler())
    print(result.status, result.text)


if __name__ == "__main__":
    asyncio.run(main())
