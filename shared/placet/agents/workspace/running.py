"""Runs a command for as long as it may take, and ends it with all that it started."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from placet.agents.workspace.output import Output

CHUNK = 65_536
FLOOD = 256
"""How many times what is kept of a stream may be written before the command is ended."""
PATIENCE = 5.0
"""Seconds that an ended command has to be gone."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a command may go."""

    seconds: float
    output_bytes: int


@dataclass(slots=True)
class Ran:
    """What came of a command."""

    stdout: Output
    stderr: Output
    code: int | None = None
    """The exit code; None where it was ended."""
    ended: str | None = None
    """Why it was ended."""


class Running:
    """One command. When `finish` returns or raises, it and all that it started are gone."""

    def __init__(self, process: Process, bounds: Bounds, ending: signal.Signals) -> None:
        """Take over a process that leads a session of its own."""
        self._process = process
        self._bounds = bounds
        self._ending = ending
        self._ran = Ran(Output(bounds.output_bytes), Output(bounds.output_bytes))
        self._reading = asyncio.gather(
            self._read(process.stdout, self._ran.stdout),
            self._read(process.stderr, self._ran.stderr),
        )

    async def finish(self) -> Ran:
        """Read it to its end, or to the end of its time. Cancelled, it is ended as well."""
        ran = self._ran
        try:
            async with asyncio.timeout(self._bounds.seconds):
                await asyncio.shield(self._reading)
                await self._process.wait()
        except TimeoutError:
            ran.ended = ran.ended or f"it took longer than {self._bounds.seconds:g} s"
        finally:
            await self.end()
        if ran.ended is None:
            ran.code = _shell_code(self._process.returncode)
        return ran

    async def end(self) -> None:
        """End it now. What is read to its end has no writer left: only then is all of it gone."""
        self._signal(self._ending)
        gone = asyncio.gather(self._reading, self._process.wait())
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(gone)
        except TimeoutError:
            self._signal(signal.SIGKILL)
            gone.cancel()

    async def _read(self, stream: asyncio.StreamReader | None, kept: Output) -> None:
        assert stream is not None  # noqa: S101 - it was started with pipes
        while data := await stream.read(CHUNK):
            kept.add(data)
            if kept.total > FLOOD * self._bounds.output_bytes and self._ran.ended is None:
                self._ran.ended = f"it wrote more than {FLOOD * self._bounds.output_bytes} bytes"
                self._signal(self._ending)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            if number is signal.SIGKILL:
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)


async def run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    bounds: Bounds,
    ending: signal.Signals,
) -> Ran:
    """Run a command in a folder, with no input and exactly this environment, and see to its end.

    `ending` is what ends it: SIGKILL goes to its whole process group, another to it alone.

    Raises:
        OSError: it can't be started.
    """
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    )
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        # It may run already: asyncio itself would end the first process and none of the others.
        with suppress(OSError):
            await Running(await starting, bounds, ending).end()
        raise
    return await Running(starting.result(), bounds, ending).finish()


def _shell_code(code: int | None) -> int | None:
    """As a shell says it: 128 and the signal's number where a signal ended it."""
    return 128 - code if code is not None and code < 0 else code
