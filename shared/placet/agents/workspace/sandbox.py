"""The sandbox of an agent's shell: the strongest that works here, found by trying."""

import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

from placet.agents.workspace.bubblewrap import bubblewrap
from placet.agents.workspace.folder import Workspace
from placet.agents.workspace.namespaces import namespaces
from placet.agents.workspace.plain import another_user, unsandboxed
from placet.agents.workspace.probe import probe
from placet.agents.workspace.programs import SHELL, Unfit
from placet.errors import SettingsError

Wrap = Callable[[Workspace], list[str]]

STRATEGIES: dict[str, Wrap] = {
    "bubblewrap": bubblewrap,
    "namespaces": namespaces,
    "another user": another_user,
}
_probing = Lock()


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Where lines of one workspace run, and how to start one.

    `bubblewrap` and `namespaces` show a file system of programs (/usr and a part of /etc), the
    folder, and empty temporary folders; processes of their own alone; no capability and no way to
    gain one. Nothing of Placet's is in it, even where it lies in the folder. What is outside the
    folder can't be written; what is not shown can't be read, so neither can sockets of other
    programs be reached by a path.

    `another user` has the file system and the process list of the machine. Placet's environment and
    files are kept from it by their owner and mode alone, and every socket that anybody may connect
    to is there.

    In all of them the network is as it is outside, so a line can connect to what listens on this
    machine, abstract Unix sockets too. Placet opens none of these, and asks for a credential on
    the ports that it listens on; a database or RabbitMQ on loopback has to do so as well. Neither
    processor time nor memory is limited, but the time that a line takes is.
    """

    name: str
    """`bubblewrap`, `namespaces`, `another user` or `none`."""
    isolates: bool
    """Whether a line is kept from what is Placet's."""
    workspace: Workspace
    wrap: Wrap

    @property
    def safe_list(self) -> bool:
        """Whether lines may be held safe to run without a person."""
        return self.isolates

    @property
    def ending(self) -> signal.Signals:
        """What ends a started command and all in it: SIGKILL to its group, or SIGTERM to it alone."""
        by_itself = self.name in ("bubblewrap", "namespaces") or os.uname().sysname != "Linux"
        return signal.SIGKILL if by_itself else signal.SIGTERM

    def command(self, line: str) -> list[str]:
        """What to start for this line, now: what is hidden depends on the files that are there.

        Start it in a session of its own, in the folder, with the environment of
        `shell_environment`. Makes an empty `placet.toml` and data folder where these belong in the
        folder and are missing.

        Raises:
            SettingsError: the folder can't be sandboxed any more.
        """
        try:
            return [*self.wrap(self.workspace), *SHELL, line]
        except Unfit as unfit:
            raise SettingsError(
                f"the sandbox ({self.name}) does not work any more: {unfit}"
            ) from unfit


def sandbox_for(workspace: Workspace) -> Sandbox:
    """The sandbox for an agent's lines. Starts processes the first time, and waits for them.

    Raises:
        SettingsError: none works here, and why each does not; or the folder can't be sandboxed.
            Nothing is remembered of it, so what is put right works without a restart.
    """
    with _probing:
        return _found(workspace)


def first_of(workspace: Workspace, names: Iterable[str] = tuple(STRATEGIES)) -> Sandbox:
    """The first of these that works. Tries them anew; raises SettingsError as `sandbox_for` does."""
    if workspace.shell.unsandboxed:
        return Sandbox("none", isolates=False, workspace=workspace, wrap=unsandboxed)
    reasons = []
    for name in names:
        sandbox = Sandbox(name, isolates=True, workspace=workspace, wrap=STRATEGIES[name])
        try:
            probe(workspace, [*sandbox.wrap(workspace), *SHELL])
        except Unfit as unfit:
            reasons.append(f"{name}: {unfit}")
        else:
            return sandbox
    raise SettingsError(
        "the shell tool runs nothing, since no sandbox works here. Install bubblewrap and allow user "
        "namespaces, or set [shell] unsandboxed = true, which gives lines all that Placet can reach and "
        "turns the safe list off. "
        f"Tried: {'; '.join(reasons)}"
    )


@lru_cache(maxsize=1_000)
def _found(workspace: Workspace) -> Sandbox:
    return first_of(workspace)
