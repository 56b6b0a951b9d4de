"""An agent's folder with files, links, pipes and devices in it, and its file tools."""

import asyncio
import os
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from placet.agents.context import Context
from placet.agents.tool import Tool
from placet.agents.workspace import Workspace
from placet.agents.workspace.changing import edit_file, write_file
from placet.agents.workspace.own import Own
from placet.agents.workspace.viewing import list_dir, read_file

HIDDEN = "nobody-may-read-this"


@dataclass(frozen=True)
class Desk:
    """The folder is `base/work`; what is beside it is out of bounds."""

    base: Path

    @property
    def folder(self) -> Path:
        return self.base / "work"

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.folder, own=Own(self.base / "placet.toml", (self.base / ".placet",)))

    def furnish(self) -> None:
        """Put everything where it belongs."""
        outside = self.base / "outside"
        outside.mkdir(parents=True)
        (outside / "secret.txt").write_text(HIDDEN)
        (self.base / "secret.txt").write_text(HIDDEN)
        (self.folder / "src").mkdir(parents=True)
        (self.folder / "src/a.txt").write_text("one\ntwo\nthree\n")
        (self.folder / "b.txt").write_text("hello\n")
        (self.folder / "raw").write_bytes(b"\xff\xfe\x00")
        for name, to in LINKS.items():
            (self.folder / name).symlink_to(to.format(base=self.base))
        os.mkfifo(self.folder / "pipe")
        os.mknod(self.folder / "socket", stat.S_IFSOCK | 0o600)

    @cached_property
    def tools(self) -> dict[str, Tool]:
        """The file tools, by name."""
        makers = (read_file, write_file, edit_file, list_dir)
        return {made.name: made for made in (make(self.workspace) for make in makers)}

    def tool(self, name: str) -> Tool:
        return self.tools[name]

    def call(self, name: str, **args: Any) -> Any:
        """What the tool returns, run as an agent runs it."""
        return asyncio.run(self.tool(name)(Context(), args))

    def call_at_once(self, name: str, **args: Any) -> Any:
        """The same in this thread, with arguments that fit."""
        return self.tool(name).function(**args)

    def fingerprint(self, name: str, **args: Any) -> str:
        """What the tool says of the file that it would act on."""
        taken = self.tool(name).fingerprint
        assert taken is not None
        return str(taken(args))

    def outside(self) -> dict[str, bytes]:
        """Everything that is not in the folder, with what is in it."""
        found = [each for each in self.base.rglob("*") if not each.is_relative_to(self.folder)]
        return {str(each): each.read_bytes() if each.is_file() else b"" for each in found}


LINKS = {
    "link-to-file": "{base}/secret.txt",
    "link-to-folder": "{base}/outside",
    "link-up": "..",
    "link-to-root": "/",
    "link-in-folder": "src/a.txt",
    "dangling": "{base}/made-through-a-link",
    "loop": "loop",
}
