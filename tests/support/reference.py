"""What the documents list because the code says so: settings and metrics.

`python -m tests.support.reference` writes the lists of docs/operating.md again.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from placet.bus.inprocess import Hub
from placet.bus.port import Ack, Delivery, Settle
from placet.clock import SystemClock
from placet.process.consuming import measured
from placet.process.platform import Platform, Service
from placet.process.settings import Settings, load
from placet.store.sqlite import SQLiteDatabase
from placet_broker.settings import BrokerSettings
from placet_broker.wiring import build as build_broker
from placet_notifier.settings import NotifierSettings
from placet_notifier.wiring import build as build_notifier
from placet_runner.settings import RunnerSettings
from placet_runner.wiring import build as build_runner

OPERATING = Path(__file__).parents[2] / "docs" / "operating.md"
CLASSES: dict[str, type[Settings]] = {
    "all": Settings,
    "runner": RunnerSettings,
    "broker": BrokerSettings,
    "notifier": NotifierSettings,
}


def settings_table() -> str:
    """Every setting: its variable, who reads it, its default, and what it is for."""
    lines = ["| variable | read by | default | what |", "| --- | --- | --- | --- |"]
    for reader, cls in CLASSES.items():
        own = cls.model_fields.keys() - (set() if cls is Settings else Settings.model_fields.keys())
        for name in (each for each in cls.model_fields if each in own):
            field = cls.model_fields[name]
            what = " ".join((field.description or "").split())
            lines.append(
                f"| `PLACET_{name.upper()}` | {reader} | {_shown(field.default)} | {what} |"
            )
    return "\n".join(lines)


def _shown(default: Any) -> str:
    if default in (None, ()):
        return ""
    return f"`{','.join(default) if isinstance(default, tuple) else default}`"


def metrics_table() -> str:
    """Every metric of the three services: its name, labels and what it counts."""
    lines = ["| metric | labels | what |", "| --- | --- | --- |"]
    for name, labels, what in sorted(_metrics()):
        lines.append(f"| `{name}` | {', '.join(labels)} | {what} |")
    return "\n".join(lines)


def _metrics() -> Iterator[tuple[str, tuple[str, ...], str]]:
    clock = SystemClock()
    platform = Platform(
        load(Settings),
        databases=lambda _: SQLiteDatabase(":memory:", clock=clock),
        buses=Hub(clock=clock).bus,
    )
    built: list[Service] = [make(platform) for make in (build_runner, build_broker, build_notifier)]
    assert len(built) == 3
    measured("any", _never, platform.metrics)
    for metric in platform.metrics._made.values():  # what the registry shows lacks the labels
        (found,) = metric.describe()
        total = "_total" if found.type == "counter" else ""
        yield found.name + total, metric._labelnames, found.documentation


async def _never(_: Delivery) -> Settle:
    return Ack()


LISTS = {"settings": settings_table, "metrics": metrics_table}


def written(text: str) -> str:
    """The document with its lists as the code says now."""
    for name, table in LISTS.items():
        begin, end = f"<!-- {name}: generated -->", f"<!-- {name}: end -->"
        fresh = f"{begin}\n{table()}\n{end}"
        before, _, rest = text.partition(begin)
        text = before + fresh + rest.partition(end)[2]
    return text


if __name__ == "__main__":
    OPERATING.write_text(written(OPERATING.read_text()))
    sys.stdout.write(f"wrote {OPERATING}\n")
