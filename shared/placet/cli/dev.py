"""`placet dev`: all of Placet in one process, for one person on one machine."""

import asyncio
import errno
import getpass
import os
import shlex
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import structlog
from cyclopts import Parameter
from structlog.typing import EventDict, WrappedLogger

from placet.cli.exits import Exit
from placet.cli.output import notes, out, safe
from placet.cli.servers import builds
from placet.client import AsyncClient
from placet.errors import SettingsError, Unauthenticated
from placet.process import logs
from placet.process.access import login_path
from placet.process.auth import ALL_SCOPES, OPERATOR_SCOPES, Auth
from placet.process.platform import Platform, from_settings
from placet.process.serve import run
from placet.process.settings import Settings, load

DATA = Path(".placet/data")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
BUNDLED = "placet.agents.ops"
_ASKED = {"ops": "Delete the staging database"}
_TOLD_IN_THE_GREETING = "agents_not_loaded"


def dev(
    *,
    agents: Annotated[
        tuple[str, ...], Parameter(negative="", help="Files or modules with agents.")
    ] = (),
    data: Annotated[Path, Parameter(help="Folder of the databases.")] = DATA,
    port: Annotated[
        int | None, Parameter(help="Port; PLACET_PORT or 8300 otherwise; 0 takes a free one.")
    ] = None,
    host: Annotated[
        str | None, Parameter(help="Loopback address; PLACET_HOST or 127.0.0.1 otherwise.")
    ] = None,
    user: Annotated[
        str | None, Parameter(help="Who you are; PLACET_USER or your login name otherwise.")
    ] = None,
) -> int:
    """Run all of Placet in one process on SQLite, for one person on one machine.

    Prints a link that logs in once, and lines for a second terminal.
    """
    who = user or os.environ.get("PLACET_USER") or _login_name()
    if agents:
        os.environ["PLACET_AGENTS"] = ",".join(agents)
    os.environ.setdefault("PLACET_AGENTS", BUNDLED)
    os.environ["PLACET_DATA"] = str(data)  # by which agents are kept away from it
    settings = _settings(data, port, host)
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    _log_in_words(settings.log_level)
    platform = from_settings(settings)
    run(builds("runner", "broker", "notifier"), platform, _greeting(platform, data, who))
    return Exit.OK


def _settings(data: Path, port: int | None, host: str | None) -> Settings:
    """What is typed wins over the environment. Raises SettingsError for more than loopback."""
    given = {"port": port, "host": host}
    typed = {name: value for name, value in given.items() if value is not None}
    settings = load(Settings, data=data, mongo_url=None, amqp_url=None, **typed)
    if settings.host not in LOOPBACK:
        raise SettingsError(
            f"placet dev listens on loopback only, not on {settings.host!r}; "
            "run the services instead"
        )
    _check_free(settings.host, settings.port)
    return settings


def _check_free(host: str, port: int) -> None:
    """Raise SettingsError for a port that is taken, before anything is loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise SettingsError(f"can't listen on {host}:{port}: {error.strerror}") from error
        raise SettingsError(
            f"port {port} on {host} is taken, perhaps by a placet dev that is running: stop it, or "
            "choose another port (--port 0 takes a free one)"
        ) from error


def _log_in_words(level: str) -> None:
    """Logs as lines for the person at the terminal, without what the greeting says anyway."""
    logs.configure("warning" if level == "info" else level)
    *processors, _ = structlog.get_config()["processors"]
    structlog.configure(processors=[*processors, _line])


def _line(_logger: WrappedLogger, _method: str, event: EventDict) -> bytes:
    what = event.pop("event")
    if what == _TOLD_IN_THE_GREETING:
        raise structlog.DropEvent
    trace = event.pop("exception", "")
    known = ("level", "timestamp", "module")
    more = [str(event.pop("reason"))] if "reason" in event else []
    more += [f"{name}={value}" for name, value in event.items() if name not in known]
    line = ": ".join(["placet", what, *([", ".join(more)] if more else [])])
    return "\n".join(filter(None, (line, trace))).encode()


def _greeting(platform: Platform, data: Path, who: str) -> Callable[[str], None]:
    tasks: set[asyncio.Task[None]] = set()

    def greet(url: str) -> None:
        task = asyncio.get_running_loop().create_task(_greet(platform.auth, data / "key", who, url))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    return greet


async def _greet(auth: Auth, key_file: Path, who: str, url: str) -> None:
    key = await dev_key(auth, key_file)
    link = await auth.sessions.create_link(namespace="default", person=who, scopes=OPERATOR_SCOPES)
    async with AsyncClient(url, key) as client:
        loaded = await client.transport.get("/v1/definitions")
    for problem in loaded["problems"]:
        notes.print(f"[red]not loaded:[/] {safe(problem)}")
    notes.print(f"[bold]Placet is ready.[/] Inbox (this link logs {safe(who)} in once):")
    out.print(f"  {url}{login_path(link)}")
    notes.print("In a second terminal:")
    for line in second_terminal(url, key, who, [item["name"] for item in loaded["items"]]):
        out.print(f"  {safe(line)}")
    notes.print("[dim]Ctrl-C stops it; what waits is kept.[/]")


def second_terminal(url: str, key: str, who: str, agents: list[str]) -> list[str]:
    """What to type in another terminal, with the command found there and an agent that is loaded."""
    activate, command = _command()
    lines = [f". {shlex.quote(activate)}"] if activate else []
    lines.append(f"export PLACET_URL={url} PLACET_KEY={key} PLACET_USER={shlex.quote(who)}")
    if agents:
        asked = _ASKED.get(agents[0], "What needs to be done?")
        lines.append(f'{command} run {shlex.quote(agents[0])} "{asked}"')
    return [*lines, f"{command} respond"]


def _command() -> tuple[str, str]:
    """What puts `placet` on PATH, if it is not there and that can be told, and how to call it."""
    if shutil.which("placet"):
        return "", "placet"
    activate = Path(sys.prefix) / "bin" / "activate"
    if activate.exists():
        inside = activate.is_relative_to(Path.cwd())
        return str(activate.relative_to(Path.cwd()) if inside else activate), "placet"
    return "", shlex.quote(str(Path(sys.executable).with_name("placet")))


async def dev_key(auth: Auth, key_file: Path) -> str:
    """The key of this folder: the one that was made for it, while it is valid, or a new one."""
    key = _read(key_file)
    if key:
        try:
            await auth.keys.by_key(key)
        except Unauthenticated:
            pass
        else:
            return key
    scopes = ALL_SCOPES - {"runs:unattended"}
    key, _ = await auth.keys.create(namespace="default", name="dev", service="dev", scopes=scopes)
    _write(key_file, key)
    return key


def _read(key_file: Path) -> str:
    return key_file.read_text().strip() if key_file.exists() else ""


def _write(key_file: Path, key: str) -> None:
    """For its owner's eyes alone, from the first byte."""
    key_file.touch(mode=0o600)
    key_file.write_text(key + "\n")


def _login_name() -> str:
    try:
        return getpass.getuser().replace(":", "_")
    except (KeyError, OSError):
        return "you"
