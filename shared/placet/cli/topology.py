"""`placet topology apply`: declare exchanges and queues once, before a rollout."""

import os

from cyclopts import App

from placet.bus import open_bus
from placet.cli.exits import Exit
from placet.cli.output import notes, safe
from placet.errors import SettingsError

topology = App(name="topology", help="Exchanges and queues on RabbitMQ (for the operator).")


@topology.command
async def apply() -> int:
    """Declare everything; exits with 1 and names what exists with other arguments."""
    url = os.environ.get("PLACET_AMQP_URL")
    if not url:
        raise SettingsError("PLACET_AMQP_URL is missing: RabbitMQ, as the user placet-operator")
    bus = await open_bus(url.replace("{user}", "placet-operator"))
    try:
        problems = bus.ready()
    finally:
        await bus.close()
    for problem in problems:
        notes.print(f"[red]{safe(problem)}[/]")
    if not problems:
        notes.print("the topology is as it should be")
    return Exit.FAILED if problems else Exit.OK
