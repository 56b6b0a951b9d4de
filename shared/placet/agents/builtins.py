"""Tools that come with Placet: questions, a shell, files. An agent is offered those that it lists."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from placet.agents.context import Context
from placet.agents.tool import Tool, tool
from placet.agents.workspace.changing import edit_file, write_file
from placet.agents.workspace.folder import Workspace
from placet.agents.workspace.shell import bash
from placet.agents.workspace.viewing import list_dir, read_file
from placet.gate import Role

NO_ANSWER = "User provided no answer."


@tool(read_only=True)
async def ask_user_text(ctx: Context, question: str) -> str:
    """Ask the user a question and get a text back."""
    answer = await ctx.ask_text(question)
    return answer if answer and answer.strip() else NO_ANSWER


@tool(read_only=True)
async def ask_user_choice(ctx: Context, question: str, options: list[str]) -> str:
    """Ask the user to pick one of at least two options."""
    return await ctx.choose(question, options) or NO_ANSWER


@tool(read_only=True)
async def ask_user_confirm(ctx: Context, question: str) -> str:
    """Ask the user a yes/no question."""
    if await ctx.confirm(question):
        return "The user said yes."
    if ctx.outcome == "declined":
        return "The user said no."
    return "Nobody answered; that counts as no."


BUILTINS: Mapping[str, Tool | Callable[[Workspace], Tool]] = {
    "ask_user_text": ask_user_text,
    "ask_user_choice": ask_user_choice,
    "ask_user_confirm": ask_user_confirm,
    "bash": bash,
    "read_file": read_file,
    "write_file": write_file,
    "edit_file": edit_file,
    "list_dir": list_dir,
}
"""By name: a tool, or what makes one for the folder that an agent works in."""


_ROLES = {
    "ask_user_text": Role.ASKS,
    "ask_user_choice": Role.ASKS,
    "ask_user_confirm": Role.ASKS,
    "bash": Role.SHELL,
    "write_file": Role.WRITES,
    "edit_file": Role.WRITES,
}


def builtin(name: str, workspace: Workspace) -> Tool:
    """The builtin of this name. Raises KeyError where there is none."""
    found = BUILTINS[name]
    made = found if isinstance(found, Tool) else found(workspace)
    return replace(made, role=_ROLES.get(name, Role.PLAIN), outbound=name == "bash")
