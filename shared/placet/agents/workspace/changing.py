"""The file tools that change something: write_file and edit_file."""

from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from typing import Any

from placet.agents.tool import Tool, tool
from placet.agents.workspace import files
from placet.agents.workspace.failures import Missing
from placet.agents.workspace.folder import Workspace
from placet.agents.workspace.paths import parent_of
from placet.domain.risk import ToolRisk
from placet.errors import ToolError

_one_at_a_time = Lock()
"""Two edits of one turn run at once, and the second must see what the first one wrote."""


def write_file(workspace: Workspace) -> Tool:
    """The tool `write_file` for this workspace.

    A call of unknown outcome is run again: it puts the same bytes in the same place in one step,
    and these bytes are what was agreed to. Only what somebody else wrote there in between is lost.
    """

    def change(path: str, content: str) -> str:
        """Write a text file in your folder, whole. Replaces what is there, makes missing folders."""
        data = _encoded(content, path)
        with _one_at_a_time, parent_of(workspace.folder, path, make=True) as (at, name):
            before = files.state_of(at, name, path)
            files.replace(at, name, data, before, path)
        return f"wrote {len(data)} bytes to {path}"

    made = tool(
        name="write_file",
        risk=ToolRisk.HIGH,
        retry="safe",
        needs_approval=lambda args: workspace.guarded(args["path"]),
    )(change)
    return replace(made, fingerprint=lambda args: _fingerprint(workspace, args))


def edit_file(workspace: Workspace) -> Tool:
    """The tool `edit_file` for this workspace.

    A call of unknown outcome is not run again: done twice it fails, or changes another place.
    """

    def change(path: str, old: str, new: str) -> str:
        """Replace one passage of a text file in your folder.

        `old` is the passage exactly as the file has it, with spaces and line ends, and with enough
        around it to occur only once.
        """
        if not old or old == new:
            raise ToolError("old is empty, or the same as new: nothing would change")
        with _one_at_a_time, parent_of(workspace.folder, path) as (at, name):
            before = files.state_of(at, name, path)
            text = _replaced(_text(at, name, path), old, new, path)
            files.replace(at, name, _encoded(text, path), before, path)
        return f"edited {path}"

    made = tool(
        name="edit_file",
        risk=ToolRisk.HIGH,
        retry="ask",
        needs_approval=lambda args: workspace.guarded(args["path"]),
    )(change)
    return replace(made, fingerprint=lambda args: _fingerprint(workspace, args))


def _replaced(text: str, old: str, new: str, path: str) -> str:
    # Overlapping places count too: "aa" is in "aaa" twice.
    first = text.find(old)
    if first < 0:
        raise ToolError(f"{path!r} does not hold old; read_file shows what it holds")
    if text.find(old, first + 1) >= 0:
        raise ToolError(f"{path!r} holds old more than once; give more of what is around it")
    return text[:first] + new + text[first + len(old) :]


def _text(at: int, name: str, path: str) -> str:
    with files.reading(at, name, path) as file:
        data = files.read_part(file, 0, files.MOST_BYTES + 1)
    if len(data) > files.MOST_BYTES:
        raise ToolError(f"{path!r} has more than {files.MOST_BYTES} bytes; use bash to edit it")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        what = f"{path!r} is no UTF-8 text (byte {error.start})"
        raise ToolError(f"{what}; use bash to change it") from None


def _encoded(text: str, path: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ToolError(f"the text for {path!r} holds half a character; nothing written") from None
    if len(data) > files.MOST_BYTES:
        raise ToolError(
            f"{path!r} would have {len(data)} bytes, over {files.MOST_BYTES}; write it in parts with bash"
        )
    return data


def _fingerprint(workspace: Workspace, args: Mapping[str, Any]) -> str:
    """Of the file as it is. Where a folder on the way is missing, so is the file."""
    path = args["path"]
    try:
        with parent_of(workspace.folder, path) as (at, name):
            return files.fingerprint(at, name, path)
    except Missing:
        return files.ABSENT
