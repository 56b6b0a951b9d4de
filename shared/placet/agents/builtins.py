"""Tools that come with Placet: questions, a shell, files. An agent is offered those that it lists."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from placet.agents import asking
from placet.agents.tool import Tool
from placet.agents.workspace.changing import edit_file, write_file
from placet.agents.workspace.folder import Workspace
from placet.agents.workspace.shell import bash
from placet.agents.workspace.viewing import list_dir, read_file
from placet.gate import Role

BUILTINS: Mapping[str, Tool | Callable[[Workspace], Tool]] = {
    **asking.TOOLS,
    "bash": bash,
    "read_file": read_file,
    "write_file": write_file,
    "edit_file": edit_file,
    "list_dir": list_dir,
}
"""By name: a tool, or what makes one for the folder that an agent works in."""


_ROLES = {
    **dict.fromkeys(asking.TOOLS, Role.ASKS),
    "bash": Role.SHELL,
    "write_file": Role.WRITES,
    "edit_file": Role.WRITES,
}


def builtin(name: str, workspace: Workspace) -> Tool:
    """The builtin of this name. Raises KeyError where there is none."""
    found = BUILTINS[name]
    made = found if isinstance(found, Tool) else found(workspace)
    return replace(made, role=_ROLES.get(name, Role.PLAIN), outbound=name == "bash")
