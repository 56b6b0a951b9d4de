"""The file tools that change nothing: read_file and list_dir."""

import codecs
import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from heapq import nsmallest
from typing import Any

import orjson

from placet.agents.tool import Tool, tool
from placet.agents.workspace import files
from placet.agents.workspace.failures import said_of
from placet.agents.workspace.folder import Workspace
from placet.agents.workspace.paths import names_in, opened, parent_of
from placet.errors import ToolError

MOST_READ = 200_000
"""Bytes of one result: with its quotes and line ends it fits into what a tool may return."""
MOST_ENCODED = 250_000
MOST_ENTRIES = 1_000
INSIDE_A_CHARACTER = bytes(range(0x80, 0xC0))


def read_file(workspace: Workspace) -> Tool:
    """The tool `read_file` for this workspace."""

    def look(path: str, offset: int = 0, limit: int = MOST_READ) -> dict[str, Any]:
        """Read a text file in your folder.

        A long file comes in parts: where there is more, `next_offset` is the `offset` (in bytes)
        to go on with. `limit` is how many bytes to read at most.
        """
        if offset < 0 or limit < 1:
            raise ToolError(f"offset is {offset} and limit {limit}; use 0 or more, and 1 or more")
        with (
            parent_of(workspace.folder, path) as (at, name),
            files.reading(at, name, path) as file,
        ):
            size = os.fstat(file).st_size
            data = files.read_part(file, offset, min(limit, MOST_READ))
        return _part(data, offset, size, path)

    def fingerprint(args: Mapping[str, Any]) -> str:
        with parent_of(workspace.folder, args["path"]) as (at, name):
            return files.fingerprint(at, name, args["path"])

    made = tool(
        name="read_file",
        read_only=True,
        needs_approval=lambda args: workspace.guarded(args["path"], writing=False),
    )(look)
    return replace(made, fingerprint=fingerprint)


def list_dir(workspace: Workspace) -> Tool:
    """The tool `list_dir` for this workspace."""

    def look(path: str = ".") -> dict[str, Any]:
        """List a folder in your folder.

        Folders end with `/`; what a symbolic link stands for is behind `->`.
        """
        with opened(workspace.folder, names_in(workspace.folder, path), path) as at:
            return _entries(at, path)

    def fingerprint(args: Mapping[str, Any]) -> str:
        told = orjson.dumps(look(**args))
        return f"sha256:{hashlib.sha256(told).hexdigest()}"

    made = tool(
        name="list_dir",
        read_only=True,
        needs_approval=lambda args: workspace.guarded(args.get("path", "."), writing=False),
    )(look)
    return replace(made, fingerprint=fingerprint)


def _part(data: bytes, offset: int, size: int, path: str) -> dict[str, Any]:
    """What is told of these bytes: whole characters and, where the file goes on, whole lines."""
    begun = len(data) - len(data.lstrip(INSIDE_A_CHARACTER)) if offset else 0
    more = offset + len(data) < size
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(data[begun:], final=not more)
    except UnicodeDecodeError as error:
        place = offset + begun + error.start
        raise ToolError(f"{path!r} is no UTF-8 text (byte {place}); use bash, such as od") from None
    if more and (lines := text.rfind("\n") + 1):
        text = text[:lines]
    while len(orjson.dumps(text)) > MOST_ENCODED:
        text = text[: len(text) // 2]
    if data and not text:
        raise ToolError(f"{path!r}: limit is too small for a character; use 4 or more")
    end = offset + begun + len(text.encode())
    told: dict[str, Any] = {"content": text, "size": size}
    return {**told, "next_offset": end} if end < size else told


def _entries(at: int, path: str) -> dict[str, Any]:
    try:
        with os.scandir(at) as found:
            kept = nsmallest(MOST_ENTRIES, ((each.name, _shown(each, at)) for each in found))
        left_out = max(0, len(os.listdir(at)) - len(kept))
    except OSError as error:
        raise ToolError(said_of(error, path)) from None
    told: dict[str, Any] = {"entries": [shown for _, shown in kept]}
    return {**told, "left_out": left_out} if left_out else told


def _shown(entry: "os.DirEntry[str]", at: int) -> str:
    name = entry.name
    with suppress(OSError):
        if entry.is_symlink():
            name = f"{name} -> {os.readlink(name, dir_fd=at)}"
        elif entry.is_dir(follow_symlinks=False):
            name += "/"
    return os.fsencode(name).decode("utf-8", "replace")
