"""`placet` as people run it: commands in a terminal, and a `placet dev` to talk to."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PLACET = str(Path(sys.executable).with_name("placet"))
WITHIN = 120.0
"""Seconds after which a command counts as hanging."""


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed with `--json`."""
        return json.loads(self.out)


def clean(**more: str) -> dict[str, str]:
    """The environment without anything of Placet's, of colours, or of a terminal's size; and `more`."""
    odd = ("PLACET_", "COLUMNS", "LINES", "FORCE_COLOR", "OPENAI_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(odd)}
    return kept | {"NO_COLOR": "1"} | more


def placet(
    *words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, stdin: str = ""
) -> Done:
    """Run one command to its end."""
    ended = subprocess.run(
        [PLACET, *words],
        env=dict(env or clean()),
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    return Done(ended.returncode, ended.stdout, ended.stderr)


@dataclass
class Dev:
    """One `placet dev`, in a folder that outlives its process."""

    folder: Path
    words: Sequence[str] = ("--user", "alice")
    link: str = ""
    """What logs in once."""
    settings: dict[str, str] = field(default_factory=dict)
    """The PLACET_... that it prints for a second terminal."""
    process: "subprocess.Popen[str] | None" = None

    @property
    def url(self) -> str:
        return self.settings["PLACET_URL"]

    @property
    def headers(self) -> dict[str, str]:
        """What `curl` would send."""
        return {"Authorization": f"Bearer {self.settings['PLACET_KEY']}"}

    def start(self) -> "Dev":
        """Start it, and return once it has printed that it is ready."""
        self.folder.mkdir(exist_ok=True)
        command = [PLACET, "dev", "--port", "0", "--data", "data", *self.words]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=clean(PLACET_DEMO_LEDGER=str(self.folder / "ledger.jsonl")),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        self._read(self.process.stdout)
        return self

    def placet(self, *words: str, **more: str) -> Done:
        """A command in the second terminal."""
        return placet(*words, env=clean(**{**self.settings, **more}), cwd=self.folder)

    def asks(self, text: str = "Delete the staging database", agent: str = "ops") -> dict[str, Any]:
        """A run that waits for a person, as `placet run --json` prints it."""
        done = self.placet("run", agent, text, "--json")
        assert done.code == 0, done.err
        run: dict[str, Any] = done.json
        assert run["status"] == "input_required", run
        return run

    def effects(self) -> list[dict[str, Any]]:
        """What the bundled agent's tool noted."""
        ledger = self.folder / "ledger.jsonl"
        if not ledger.exists():
            return []
        return [json.loads(line) for line in ledger.read_text().splitlines()]

    def log(self) -> str:
        """What it wrote on stderr."""
        return (self.folder / "log").read_text()

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it, and return its exit code."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(timeout=30)
        if self.process.stdout:
            self.process.stdout.close()
        return code

    def _read(self, stdout: IO[str]) -> None:
        for line in stdout:
            if "/login?" in line:
                self.link = line.strip()
            if "export " in line:
                self.settings = dict(word.split("=", 1) for word in line.split() if "=" in word)
            if "placet respond" in line:
                return
        raise AssertionError(f"placet dev did not start: {self.log()[-2000:]}")


@contextmanager
def running(folder: Path, *words: str) -> Iterator[Dev]:
    """A `placet dev` for a while."""
    dev = Dev(folder, words or ("--user", "alice"))
    try:
        yield dev.start()
    finally:
        dev.end(signal.SIGKILL)


@pytest.fixture(scope="session")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    """A `placet dev` with the bundled agent and the one that asks in its tool."""
    agents = ["--agents", "placet.agents.ops", "--agents", str(EXAMPLES / "ask_in_tool.py")]
    with running(tmp_path_factory.mktemp("dev"), "--user", "alice", *agents) as made:
        yield made
