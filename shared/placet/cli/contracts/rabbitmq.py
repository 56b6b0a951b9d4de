"""The topology as RabbitMQ's own definitions, for servers that load them at boot."""

from typing import Any

from placet.bus.topology import TOPOLOGY

VHOST = "/"


def definitions() -> dict[str, Any]:
    """Exchanges, queues and bindings in one virtual host, as `placet topology apply` declares them."""
    queues = TOPOLOGY.queues
    return {
        "exchanges": [
            _named(row.name, type=row.type, internal=False) for row in TOPOLOGY.exchanges
        ],
        "queues": [_named(row.name, arguments=row.arguments()) for row in queues],
        "bindings": [
            {
                "source": row.exchange,
                "vhost": VHOST,
                "destination": row.name,
                "destination_type": "queue",
                "routing_key": key,
                "arguments": {},
            }
            for row in queues
            if row.exchange
            for key in row.keys
        ],
    }


def _named(name: str, **also: Any) -> dict[str, Any]:
    base = {"name": name, "vhost": VHOST, "durable": True, "auto_delete": False, "arguments": {}}
    return base | also
