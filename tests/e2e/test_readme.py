"""The documents do what they say: every command of the README runs, every example works.

Blocks run in their order, as written, in a copy of the checkout. Put in their place are ports (free
ones), the two servers' addresses (the tests' own), and `y` for what a person types.

* ` ```sh ` runs to its end in the second terminal; its variables stay for the blocks behind it.
* ` ```sh first-terminal ` is left running; the next such block stops it, as Ctrl-C does.
* ` ```python ` is a file, named in its first line.
* ` ```sh compose ` needs Docker: what it names must be there.
"""

import ast
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
import yaml
from anyio import to_thread

from placet.ids import new_id
from tests.integration.models.openai_server import openai_server
from tests.support.cluster import Cluster
from tests.support.commands import EXAMPLES, ROOT, WITHIN, clean, placet
from tests.support.eventually import eventually
from tests.support.reference import OPERATING, written

COPIED = ("Makefile", "pyproject.toml", "scripts", "requirements", "deploy", ".env.example")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a document."""

    language: str
    kind: str
    text: str


def blocks(document: Path) -> list[Block]:
    found = FENCE.finditer(document.read_text())
    return [Block(each[1], each[2].strip(), each[3]) for each in found]


@dataclass
class Reader:
    """Somebody who reads the README with two terminals open."""

    folder: Path
    changed: dict[str, str]
    """What is put in the place of what is written."""
    said: str = ""
    """All that was printed."""
    env: dict[str, str] = field(default_factory=clean)
    first: "subprocess.Popen[bytes] | None" = None

    def follow(self, block: Block) -> None:
        """Do what the block says."""
        text = block.text
        for there, ours in self.changed.items():
            text = text.replace(there, ours)
        match block.language, block.kind:
            case "python", "":
                name = re.match(r"# (\w+\.py)\n", text)
                assert name, f"a Python block must name its file: {text[:80]}"
                (self.folder / name[1]).write_text(text)
            case "sh", "":
                self._run(text)
            case "sh", "first-terminal":
                self._leave_running(text)
            case "sh", "compose":
                check_compose(text)
            case _:
                raise AssertionError(f"what is a block of {block.language} {block.kind}?")

    def _run(self, text: str) -> None:
        keep = f"trap 'export -p >{self.folder}/.exported' EXIT\n"
        known = self.folder / ".exported"
        before = known.read_text() if known.exists() else ""
        with (self.folder / ".said").open("wb") as said:
            shell = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", f"{before}\n{keep}{text}"],
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            shell.communicate(b"y\n", timeout=WITHIN)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
        told = (self.folder / ".said").read_text()
        assert shell.returncode == 0, f"{text}\n--- said ---\n{told[-4000:]}"
        self.said += told

    def _leave_running(self, text: str) -> None:
        self.stop()
        log = self.folder / ".first-terminal"
        with log.open("wb") as out:
            self.first = subprocess.Popen(
                ["bash", "-c", f"exec {text}"],
                cwd=self.folder,
                env=self.env,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._until(log, "Ctrl-C stops it")

    def _until(self, log: Path, words: str) -> None:
        assert self.first is not None
        for _ in range(600):
            if words in log.read_text():
                return
            with suppress(subprocess.TimeoutExpired):
                self.first.wait(0.1)
                break
        raise AssertionError(f"no {words!r}: {log.read_text()[-3000:]}")

    def stop(self) -> None:
        """Ctrl-C in the first terminal."""
        if self.first and self.first.poll() is None:
            os.killpg(self.first.pid, signal.SIGINT)
            self.first.wait(30)
        self.first = None


def check_compose(text: str) -> None:
    """What the block names is there."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert os.access(ROOT / "deploy" / "make-env", os.X_OK)
    for line in text.splitlines():
        words = line.split()
        assert line == "deploy/make-env" or words[:2] == ["docker", "compose"], line
        if "exec" in words:
            assert words[words.index("exec") + 1] in compose["services"]


@contextmanager
def a_reader(folder: Path, **changed: str) -> Iterator[Reader]:
    """A reader with a clean copy, whose `.venv` is the one the tests run in."""
    for name in COPIED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            shutil.copy(source, target)
    lend_environment(folder)
    reader = Reader(folder, changed)
    try:
        yield reader
    finally:
        reader.stop()


def lend_environment(folder: Path) -> None:
    """`.venv` as `scripts/setup dev` leaves it, without installing all of it again."""
    venv = folder / ".venv"
    venv.mkdir()
    for each in Path(sys.prefix).iterdir():
        if not each.name.startswith(".installed"):
            (venv / each.name).symlink_to(each)
    digest = hashlib.sha256()
    for name in (
        "requirements/dev.txt",
        "requirements/build.txt",
        "pyproject.toml",
        "scripts/setup",
    ):
        digest.update((folder / name).read_bytes())
    (venv / ".installed-dev").write_text(f"{digest.hexdigest()}  -\n")


async def test_every_command_of_the_readme_works_as_written(
    tmp_path: Path, amqp_urls: dict[str, str], mongo_url: str, empty_queues: None
) -> None:
    port, *services = (str(each) for each in quiet_ports(4))
    changed = {
        "make dev": f'make dev ARGS="--port {port}"',
        "placet dev": f"placet dev --port {port}",
        "127.0.0.1:8300": f"127.0.0.1:{port}",
        "'amqp://{user}:secret@localhost:5672/'": f"'{template(amqp_urls)}'",
        "'mongodb://localhost:27017/?replicaSet=rs0'": f"'{mongo_url}'",
        **{f"830{n}": ours for n, ours in enumerate(services, 1)},
    }
    with a_reader(tmp_path) as reader:
        reader.changed = changed
        reader.env |= {"PLACET_DATABASE_PREFIX": new_id("t")[:18] + "_"}
        for block in blocks(ROOT / "README.md"):
            await to_thread.run_sync(reader.follow, block)
    for words in (
        "The tool ran 1 time(s)",
        "database staging dropped",
        " is declined",
        "completed I have nothing more to do.",
        "answered",
        "svc-billing is service:billing",
        '{"ready":true',
    ):
        assert words in reader.said


def quiet_ports(count: int) -> list[int]:
    """Free ports that no outgoing connection takes before we do: below those that systems hand out."""
    found: list[int] = []
    for port in random.Random().sample(range(20_000, 30_000), 200):  # noqa: S311 - not a secret
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
    return found[:count]


def template(amqp_urls: dict[str, str]) -> str:
    """The URL of the tests' RabbitMQ with {user} in it."""
    return amqp_urls["placet-runner"].replace("placet-runner", "{user}", 1)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere_and_code_can_be_read(document: Path) -> None:
    text = document.read_text()
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", FENCE.sub("", text)):
        if "://" not in target:
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
    for block in blocks(document):
        if block.language == "python":
            ast.parse(block.text)
        if block.language == "json":
            json.loads(block.text)


def test_the_examples_pass_the_type_checker() -> None:
    files = [str(each) for each in sorted(EXAMPLES.glob("*.py"))]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def test_the_lists_of_settings_and_metrics_are_what_the_code_says() -> None:
    text = OPERATING.read_text()
    assert text == written(text), "run: python -m tests.support.reference"


def test_the_ops_example_runs_in_process_with_a_real_model_client() -> None:
    call: dict[str, object] = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "status": "completed",
    }
    call |= {"name": "drop_database", "arguments": '{"name": "staging"}'}
    said = {"type": "output_text", "text": "It is gone.", "annotations": []}
    message: dict[str, object] = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "status": "completed",
    }
    with openai_server() as server:
        for output in (call, message | {"content": [said]}):
            server.replies.append((200, responses(output)))
        done = example(
            "ops_agent.py", stdin="y\n", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="sk-test"
        )
    assert "completed It is gone." in done.stdout, done.stderr
    assert "Run exactly this call?" in done.stderr
    assert "dropped staging under key_" in json.dumps(server.requests[1])


def responses(output: dict[str, object]) -> dict[str, object]:
    """One reply of OpenAI's Responses API, which `openai:...` speaks."""
    reply = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5"}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "completed"}
    return {**reply, **rest, "output": [output]}


def example(name: str, *, stdin: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
    """Run one of the examples to its end."""
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        env=clean(**env),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


async def test_another_service_asks_over_rabbitmq_and_gets_its_resolution(
    tmp_path: Path, amqp_urls: dict[str, str], mongo_url: str, empty_queues: None
) -> None:
    url = template(amqp_urls)
    servers = Cluster(tmp_path, mongo_url, url)
    await servers.make_key()
    broker = servers.add("broker")
    try:
        await broker.ready()
        env = clean(PLACET_MONGO_URL=mongo_url, PLACET_DATABASE_PREFIX=servers.prefix)
        words = ("keys", "user", "svc-billing", "--service", "billing", "--scope", "runs:write")
        assert placet(*words, env=env).code == 0
        asking = subprocess.Popen(  # noqa: ASYNC220 - it waits for us
            [sys.executable, str(EXAMPLES / "other_service.py")],
            env=clean(AMQP_URL=url.replace("{user}", "svc-billing")),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        async with httpx2.AsyncClient(base_url=broker.url, headers=bearer(servers.key)) as http:

            async def waits() -> str:
                items = (await http.get("/v1/inputs?state=pending")).json()["items"]
                return items[0]["id"] if items else ""

            waiting = await eventually(waits, within=30)
            answer = await http.post(f"/v1/inputs/{waiting}", json={"content": True, "from": "eve"})
            assert answer.status_code == 202
        told = await to_thread.run_sync(asking.communicate)
        assert told[0] == "approved by eve\n"
    finally:
        servers.stop()


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
