"""`placet dev` and the services as processes of their own."""

import asyncio
import getpass
import os
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from placet.cli.exits import Exit
from placet.cli.output import notes, out
from placet.errors import SettingsError, Unauthenticated
from placet.process import logs
from placet.process.access import login_path
from placet.process.auth import ALL_SCOPES, Auth
from placet.process.platform import Platform, from_settings
from placet.process.serve import Build, main, run
from placet.process.settings import Settings, load

DEV_DATA = Path(".placet/data")
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def builds(*names: str) -> list[Build]:
    """How to build these services, as installed. Raises SettingsError for one that is not."""
    found = {point.name: point for point in entry_points(group="placet.services")}
    missing = [name for name in names if name not in found]
    if missing:
        raise SettingsError(f"the service {missing[0]!r} is not installed; reinstall placet")
    return [found[name].load() for name in names]


def runner() -> int:
    """Run a runner: it executes runs and parks them. Settings come from PLACET_... and placet.toml."""
    return main(*builds("runner"))


def broker() -> int:
    """Run a broker: it keeps every question and decides who may answer."""
    return main(*builds("broker"))


def notifier() -> int:
    """Run a notifier: it tells people and systems."""
    return main(*builds("notifier"))


def dev(
    *,
    agents: Annotated[tuple[str, ...], Parameter(help="Files or modules with agents.")] = (),
    data: Annotated[Path, Parameter(help="Folder of the databases.")] = DEV_DATA,
    port: Annotated[int, Parameter(help="Port to listen on; 0 takes a free one.")] = 8300,
    host: Annotated[str, Parameter(help="Loopback address to listen on.")] = "127.0.0.1",
    user: Annotated[str | None, Parameter(help="Who you are in the inbox.")] = None,
) -> int:
    """Run all of Placet in one process on SQLite, for one person on one machine.

    Prints a link that logs in once, and lines for a second terminal.
    """
    if host not in LOOPBACK:
        raise SettingsError(
            f"placet dev listens on loopback only, not on {host!r}; run the services instead"
        )
    who = user or os.environ.get("PLACET_USER") or _login_name()
    os.environ["PLACET_AGENTS"] = ",".join(agents) or os.environ.get(
        "PLACET_AGENTS", "placet.agents.ops"
    )
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings = load(Settings, data=data, port=port, host=host, mongo_url=None, amqp_url=None)
    logs.configure("warning" if settings.log_level == "info" else settings.log_level)
    platform = from_settings(settings)
    run(builds("runner", "broker", "notifier"), platform, _greeting(platform, data, who))
    return Exit.OK


def _greeting(platform: Platform, data: Path, who: str) -> Callable[[str], None]:
    tasks: set[asyncio.Task[None]] = set()

    def greet(url: str) -> None:
        task = asyncio.get_running_loop().create_task(_greet(platform.auth, data / "key", who, url))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    return greet


async def _greet(auth: Auth, key_file: Path, who: str, url: str) -> None:
    key = await dev_key(auth, key_file)
    link = await auth.create_link(namespace="default", person=who)
    notes.print(f"[bold]Placet is ready.[/] Inbox (this link logs {who} in once):")
    out.print(f"  {url}{login_path(link)}")
    notes.print("In a second terminal:")
    out.print(f"  export PLACET_URL={url} PLACET_KEY={key} PLACET_USER={who}")
    out.print('  placet run ops "Delete the staging database"')
    out.print("  placet respond")
    notes.print("[dim]Ctrl-C stops it; what waits is kept.[/]")


async def dev_key(auth: Auth, key_file: Path) -> str:
    """The key of this folder: the one that was made for it, while it is valid, or a new one."""
    key = _read(key_file)
    if key:
        try:
            await auth.by_key(key)
        except Unauthenticated:
            pass
        else:
            return key
    scopes = ALL_SCOPES - {"runs:unattended"}
    key, _ = await auth.create_key(namespace="default", name="dev", service="dev", scopes=scopes)
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
