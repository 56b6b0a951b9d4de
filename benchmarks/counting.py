"""What one cycle really does to MongoDB and RabbitMQ, counted at the servers."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.profiling import profiled
from benchmarks.servers import Servers

_WRITES = {"insert", "update", "remove"}
ASSUMED = {"publishes": 8.0, "consumes": 9.0}
"""Where RabbitMQ can't be asked: 2 commands and 6 events, one of which has two readers."""

Budget = dict[str, Any]


async def budget(servers: Servers, prefix: str, work: Callable[[], Awaitable[int]]) -> Budget:
    """Do the work, which says how many cycles it was, under MongoDB's profiler: counts a cycle.

    `durable_writes` are acknowledged by a majority with the journal, one for each document however
    many go in one command; `fast_writes` (outbox entries taken out) are not waited for.
    """
    with servers.client() as client:
        databases = [client[n] for n in client.list_database_names() if n.startswith(prefix)]
        before = servers.bus_counts()
        cycles, operations = await profiled(databases, work)
        after = servers.bus_counts()
    seen = Counter(map(_kind, operations))
    return _summed(seen, before, after, max(cycles, 1))


def _kind(entry: dict[str, Any]) -> str:
    """`durable`, `fast` or `read`, then the collection and the operation."""
    operation, command = entry["op"], entry.get("command", {})
    place = entry["ns"].partition(".")[2]
    if place.startswith("system."):
        return "none"
    if operation == "update" and set(command.get("q", ())) == {"_id"}:
        return f"fast {place}.{operation}"
    if operation in _WRITES:
        # An insert command is one entry for all its documents; count them below.
        return f"durable {place}.{operation}|{entry.get('ninserted', 1)}"
    if operation == "command" and ("findAndModify" in command or "findandmodify" in command):
        return f"durable {place}.update"
    return f"read {place}.{operation}" if operation in ("query", "getmore") else "none"


def _summed(
    seen: Counter[str], before: dict[str, int], after: dict[str, int], cycles: int
) -> Budget:
    by: dict[str, float] = {}
    for kind, times in seen.items():
        name, _, documents = kind.partition("|")
        by[name] = by.get(name, 0) + times * int(documents or 1) / cycles

    def total(word: str) -> float:
        return round(sum(n for name, n in by.items() if name.startswith(f"{word} ")), 2)

    bus = {name: round((after[name] - before[name]) / cycles, 2) for name in before} or ASSUMED
    return {
        "durable_writes": total("durable"),
        "fast_writes": total("fast"),
        "read_commands": total("read"),
        **bus,
        "bus_counted": bool(before),
        "cycles": cycles,
        "by": {k: round(v, 2) for k, v in sorted(by.items()) if k != "none" and v >= 0.005},
    }
