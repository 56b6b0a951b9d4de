"""`placet demo`: the whole story in a terminal. A run suspends, its process is killed, a person answers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from placet.agents.ops import ledger
from placet.cli.exits import Exit
from placet.cli.output import out, print_input, safe
from placet.client import Client
from placet.errors import PlacetError

ASKED = "Delete the staging database"
LISTED_WITHIN = 30.0
"""Seconds."""


@dataclass(slots=True)
class Server:
    """A `placet dev` of the demo's own, in a folder of its own."""

    folder: Path
    process: "subprocess.Popen[str] | None" = None
    link: str = ""
    settings: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        """Start it and read what it prints, until it is ready."""
        data = str(self.folder / "data")
        words = [
            sys.executable,
            "-m",
            "placet.cli",
            "dev",
            "--port",
            "0",
            "--data",
            data,
            "--user",
            "you",
        ]
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            words,
            stdout=subprocess.PIPE,
            stderr=self._log(),
            text=True,
            env=os.environ | {"NO_COLOR": "1"},
        )
        assert self.process.stdout is not None  # noqa: S101 - it is a pipe
        for line in self.process.stdout:
            if "/login?" in line:
                self.link = line.strip()
            if "export " in line:
                self.settings = dict(word.split("=", 1) for word in line.split() if "=" in word)
                return
        log = (self.folder / "log").read_text()[-2000:]
        raise PlacetError(f"placet dev did not start: {log}")

    def kill(self) -> None:
        """`kill -9`: no goodbye, nothing saved at the last moment."""
        assert self.process is not None  # noqa: S101 - started before
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End it in good order."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                self.kill()

    def client(self) -> Client:
        """The SDK, pointed at it."""
        return Client(self.settings["PLACET_URL"], self.settings["PLACET_KEY"])

    def _log(self) -> IO[str]:
        return (self.folder / "log").open("a")


@contextmanager
def _server() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="placet-demo-"))
    os.environ["PLACET_DEMO_LEDGER"] = str(folder / "ledger.jsonl")
    server = Server(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def demo() -> int:
    """Play the story: ask, suspend, kill -9, start again, answer, and look at what ran."""
    with _server() as server:
        _step(1, "Placet is running: one process, SQLite, no other server.")
        out.print(f"   Its inbox is at {server.link} (the demo answers by itself in a moment).")
        before = _ask(server)
        _step(3, f"kill -9 {server.process.pid if server.process else ''}: the process is gone.")
        server.kill()
        server.start()
        _step(4, "Started again. The same input, with the same id, still waits:")
        return _answer(server, before)


def _ask(server: Server) -> str:
    with server.client() as client:
        _step(2, f'Alice asks the ops agent: "{ASKED}". It prepares the call, and stops:')
        run = client.agent("ops").run(ASKED, user="alice")
        out.print(
            f"   {run.id} is {run.status.value} and holds nothing. It wants to run exactly this:\n"
        )
        waiting = run.inputs[0]
        print_input(_plain(waiting))
        return str(waiting.id)


def _answer(server: Server, before: str) -> int:
    with server.client() as client:
        waiting = _listed(client)
        same = waiting.id == before
        out.print(f"   {waiting.id} {'is the same id' if same else f'is NOT {before}'}")
        _step(5, "Alice approves it. Any replica could take the run up; this one does:")
        run = waiting.answer(True, from_="alice")
        out.print(f'   {run.id} is {run.status.value}: "{safe(run.text)}"')
    effects = [json.loads(line) for line in ledger().read_text().splitlines()]
    _step(6, f"The tool ran {len(effects)} time(s), with exactly these arguments:")
    for effect in effects:
        out.print(f"   {safe(effect['tool'])} name={safe(json.dumps(effect['name']))}")
    right = same and run.status == "completed" and [e["name"] for e in effects] == ["staging"]
    out.print(
        "\n[green]That is Placet.[/] `make dev` leaves it running."
        if right
        else "[red]Something is wrong.[/]"
    )
    return Exit.OK if right else Exit.FAILED


def _listed(client: Client) -> Any:
    """The one input; the kill may have come before the broker heard of it: then the run asks again."""
    until = time.monotonic() + LISTED_WITHIN
    while not (found := client.inbox("pending")):
        if time.monotonic() > until:
            raise PlacetError(f"no input is in the inbox {LISTED_WITHIN:g} s after the start")
        time.sleep(0.1)  # noqa: TID251 - a terminal, not a service
    (waiting,) = found
    return waiting


def _plain(waiting: Any) -> Any:
    """The value behind the sync wrapper."""
    return waiting._target


def _step(number: int, text: str) -> None:
    out.print(f"\n[bold]{number}.[/] {text}")
