"""The entry point of `placet`."""

import sys
from collections.abc import Sequence

from cyclopts import App

from placet.cli import respond, runs
from placet.cli.exits import Exit, exit_for
from placet.cli.output import notes, safe
from placet.errors import Invalid, PlacetError

_SERVERS = ("dev", "runner", "broker", "notifier")
_OPERATOR = ("keys", "dead", "topology")


def app(words: Sequence[str]) -> App:
    """The command; what a command does not need is not imported, so that it starts fast."""
    made = App(name="placet", help="Durable human approval for AI agents.", version=_version)
    for command in (runs.run, runs.ps, runs.show, respond.respond, runs.msg, runs.abort):
        made.command(command)
    asked = words[0] if words else "--help"
    _add_servers(made)
    if asked in _OPERATOR or asked in ("--help", "-h"):
        _add_operator(made)
    return made


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Errors go to stderr as one line with the remedy."""
    words = list(sys.argv[1:] if words is None else words)
    try:
        result = app(words)(words, result_action="return_value")
    except PlacetError as error:
        notes.print(f"[red]placet:[/] {safe(error)}")
        for field in error.errors if isinstance(error, Invalid) else ():
            notes.print(f"  {safe(field.pointer or '/')}: {safe(field.detail)}")
        return exit_for(error)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except SystemExit as leaving:
        code = leaving.code
        return code if isinstance(code, int) and code in (0, 2) else Exit.USAGE
    return result if isinstance(result, int) else Exit.OK


def _add_servers(made: App) -> None:
    for name in _SERVERS:
        made.command(f"placet.cli.servers:{name}", name=name)
    made.command("placet.cli.demo:demo", name="demo")


def _add_operator(made: App) -> None:
    from placet.cli.dead import dead  # noqa: PLC0415
    from placet.cli.keys import keys  # noqa: PLC0415
    from placet.cli.topology import topology  # noqa: PLC0415

    for each in (keys, dead, topology):
        made.command(each)


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415

    return version("placet")


if __name__ == "__main__":
    sys.exit(main())
