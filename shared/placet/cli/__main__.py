"""The entry point of `placet`."""

import sys
from collections.abc import Sequence

from cyclopts import App

from placet.cli.exits import Exit, exit_for
from placet.errors import Invalid, PlacetError

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("runs:run", "Start a run and wait until it needs somebody or has ended."),
    "ps": ("runs:ps", "List the newest runs."),
    "show": ("runs:show", "Show one run (run_...) or one input (inp_...)."),
    "respond": ("respond:respond", "List what waits for a person, or answer it."),
    "extend": ("extend:extend", "Give an input more time."),
    "claim": ("attending:claim", "Say that you are looking at an input."),
    "release": ("attending:release", "Say that you look at it no more."),
    "audience": ("attending:audience", "Name other approvers of an input (for the operator)."),
    "audit": ("auditing:audit", "What happened to inputs: show, export, verify."),
    "review": ("review:review", "List calls whose outcome or tool is in doubt, or settle one."),
    "msg": ("runs:msg", "Tell a running agent (agt_...) or run (run_...) something."),
    "abort": ("runs:abort", "End a run (run_...) or an agent's current run (agt_...) at once."),
    "freeze": ("freezing:freeze", "Keep calls of tools from starting, until it is lifted."),
    "freezes": ("freezing:freezes", "List what is kept from starting."),
    "unfreeze": ("freezing:unfreeze", "Lift a freeze (frz_...)."),
    "dev": ("dev:dev", "Run all of Placet in one process on SQLite, for one person."),
    "demo": ("demo:demo", "Play the whole story: ask, suspend, kill -9, start again, answer."),
    "runner": ("servers:runner", "Run a runner: it executes runs and parks them."),
    "broker": ("servers:broker", "Run a broker: it keeps every question and decides who answers."),
    "notifier": ("servers:notifier", "Run a notifier: it tells people and systems."),
    "keys": (
        "keys:keys",
        "API keys: in the database, or at PLACET_URL (for the operator).",
    ),
    "people": ("people:people", "Who is known, under which identities, and who is let in no more."),
    "groups": ("groups:groups", "Groups of people that an audience names as group:NAME."),
    "delegate": ("delegations:delegate", "Let somebody answer in your place as well, for a time."),
    "delegations": ("delegations:delegations", "List who answers in whose place, or end that."),
    "definitions": (
        "definitions:definitions",
        "What runs can be of, and putting such over the API.",
    ),
    "grants": ("grants:grants", "List what was allowed in a run beyond one call, or take it back."),
    "trust": (
        "grants:trust",
        "List the tools that a person trusts of an agent, or end the trust in one.",
    ),
    "approvals": ("approvals:approvals", "What runs without a person, and why something asks."),
    "dead": ("dead:dead", "Dead letters on RabbitMQ (for the operator)."),
    "topology": ("topology:topology", "Exchanges and queues on RabbitMQ (for the operator)."),
}
"""By name: where the command is below `placet.cli`, and its line in the help."""


def app(words: Sequence[str]) -> App:
    """The command; only the one that is asked for is imported, so that it starts fast."""
    made = App(name="placet", help="Durable human approval for AI agents.", version=_version)
    for name, (place, line) in COMMANDS.items():
        own = name in words[:1]  # its help is its docstring then, which says more
        made.command(f"placet.cli.{place}", name=name, help=None if own else line)
    return made


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Errors go to stderr as one line with the remedy."""
    words = list(sys.argv[1:] if words is None else words)
    try:
        result = app(words)(words, result_action="return_value")
    except PlacetError as error:
        _tell(error)
        return exit_for(error)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except SystemExit as leaving:
        code = leaving.code
        return code if isinstance(code, int) and code in (0, 2) else Exit.USAGE
    return result if isinstance(result, int) else Exit.OK


def _tell(error: PlacetError) -> None:
    """The error, and each field that does not fit once."""
    from placet.cli.output import notes, safe  # noqa: PLC0415 - only where it is needed

    said = str(error)
    fields = error.errors if isinstance(error, Invalid) else ()
    for field in fields:
        if field.pointer:
            said = said.removesuffix(f"; {field.detail}")
    notes.print(f"[red]placet:[/] {safe(said)}")
    for field in fields:
        if field.detail not in said or field.pointer not in said:
            notes.print(f"  {safe(field.pointer or '/')}: {safe(field.detail)}")


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415

    return version("placet")


if __name__ == "__main__":
    sys.exit(main())
