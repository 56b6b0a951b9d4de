"""What lets an agent work in a folder: a shell in a sandbox, and file tools that never leave it."""

from placet.agents.workspace.folder import ShellSettings, Workspace
from placet.agents.workspace.own import Own, own_here
from placet.agents.workspace.sandbox import Sandbox, sandbox_for

__all__ = ["Own", "Sandbox", "ShellSettings", "Workspace", "own_here", "sandbox_for"]
