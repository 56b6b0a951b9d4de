"""The AsyncAPI 3.0 document: the topology's exchanges and queues, and who says what on them."""

from typing import Any

from placet.bus.topology import DEAD, PROBE, TOPOLOGY, Exchange, Private, Queue
from placet.messages.export import CONTRACTS, VERSION, parted

VERSION_OF_API = "1"
_KIND_KEYS = "kind"
_RUNS = dict.fromkeys(("start", "wake", "message", "abort", "child"), "run_command")
MESSAGES: dict[str, dict[str, str]] = {
    "placet.runs": _RUNS,
    "placet.requests": {
        "tool_approval": "approval_request",
        "close": "close",
        _KIND_KEYS: "interaction_request",
    },
    "placet.answers": {"answer": "answer"},
    "placet.resolutions": {"resolution": "resolution"},
    "placet.events": {"NAMESPACE.TYPE": "event"},
    "placet.control": {"abort": "run_command"},
}
"""By exchange, the message that each routing key carries; `kind` is each other kind of request."""
SENDERS: dict[str, tuple[str, ...]] = {
    "placet.runs": ("placet-runner", "placet-notifier"),
    "placet.requests": ("placet-runner", "placet-notifier", "other services"),
    "placet.answers": ("placet-notifier", "other services"),
    "placet.resolutions": ("placet-broker",),
    "placet.events": ("placet-broker", "placet-runner"),
    "placet.control": ("placet-runner",),
}
"""By exchange, the AMQP users whose messages count."""
_ABOUT = """\
How the services of Placet, and other services, talk over RabbitMQ. Every message carries the AMQP
property `user_id`, which RabbitMQ validates; consumers refuse a message without one. Unknown fields
are ignored. What a version means never changes: a breaking change is a new version beside it."""
_PROPERTIES = {
    "type": "object",
    "required": ["event-id"],
    "properties": {
        "event-id": {"type": "string", "description": "The same on every try; dedupe by it."},
        "traceparent": {"type": "string", "description": "W3C trace context."},
    },
}


def document() -> dict[str, Any]:
    """The whole document."""
    channels = {row.name: _exchange(row) for row in TOPOLOGY.exchanges if row.name in MESSAGES}
    queues = {row.name: _queue(row) for row in TOPOLOGY.queues if _shown(row)}
    private = {row.prefix + "ID": _private(row) for row in TOPOLOGY.private if row.exchange}
    reply = {"placet.reply": _reply()}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Placet on RabbitMQ",
            "version": VERSION_OF_API,
            "description": _ABOUT,
            "license": {"name": "MIT"},
        },
        "defaultContentType": "application/json",
        "servers": {"rabbitmq": {"host": "rabbitmq:5672", "protocol": "amqp"}},
        "channels": {**channels, **queues, **private, **reply},
        "operations": {**_sends(), **_receives({**queues, **private, **reply})},
        "components": {
            "messages": {name: _message(name) for name in _travelling()},
            "schemas": _schemas(),
        },
    }


def _travelling() -> list[str]:
    return sorted({name for keys in MESSAGES.values() for name in keys.values()} | {"problem"})


def _schemas() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _travelling():
        own, parts = parted(name, "#/components/schemas/{model}")
        found |= {name: own, **parts}
    return found


def _shown(row: Queue) -> bool:
    return row.name not in (DEAD, PROBE)


def _message(name: str) -> dict[str, Any]:
    return {
        "name": f"placet.{name}.{VERSION}",
        "title": name.replace("_", " "),
        "summary": _summary(CONTRACTS[name]),
        "contentType": "application/json",
        "correlationId": {
            "location": "$message.header#/correlation_id",
            "description": "The AMQP property correlation_id: the run.",
        },
        "headers": _PROPERTIES,
        "payload": {
            "schemaFormat": "application/schema+json;version=draft-2020-12",
            "schema": {"$ref": f"#/components/schemas/{name}"},
        },
        "bindings": {
            "amqp": {
                "contentEncoding": "utf-8",
                "messageType": f"placet.{name}.{VERSION}",
                "bindingVersion": "0.3.0",
            }
        },
    }


def _summary(model: Any) -> str:
    if isinstance(model, type):
        return (model.__doc__ or "").strip().splitlines()[0]
    return "A question of any kind but tool_approval."


def _refs(names: set[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/messages/{name}"} for name in sorted(names)}


def _exchange(row: Exchange) -> dict[str, Any]:
    kind = {"name": row.name, "type": row.type, "durable": True, "autoDelete": False, "vhost": "/"}
    return {
        "address": row.name,
        "title": f"the exchange {row.name}",
        "messages": _refs(set(MESSAGES[row.name].values())),
        "x-routing-keys": dict(sorted(MESSAGES[row.name].items())),
        "bindings": {"amqp": {"is": "routingKey", "exchange": kind, "bindingVersion": "0.3.0"}},
    }


def _queue(row: Queue) -> dict[str, Any]:
    exchange = row.exchange or ""
    kind = {
        "name": row.name,
        "durable": True,
        "exclusive": False,
        "autoDelete": False,
        "vhost": "/",
    }
    carried = _carried(exchange, row.keys)
    return {
        "address": row.name,
        "title": f"the queue {row.name}",
        "messages": _refs(carried),
        "x-bindings": {"exchange": exchange, "keys": list(row.keys)},
        "x-arguments": row.arguments(),
        "bindings": {"amqp": {"is": "queue", "queue": kind, "bindingVersion": "0.3.0"}},
    }


def _private(row: Private) -> dict[str, Any]:
    exchange = row.exchange or ""
    kind = {"name": row.prefix + "ID", "durable": False, "exclusive": True, "autoDelete": True}
    return {
        "address": row.prefix + "{id}",
        "title": f"one queue for each consumer of {exchange}",
        "parameters": {"id": {"description": "The consumer's own id."}},
        "messages": _refs(_carried(exchange, row.keys)),
        "x-bindings": {"exchange": exchange, "keys": list(row.keys)},
        "bindings": {"amqp": {"is": "queue", "queue": kind, "bindingVersion": "0.3.0"}},
    }


def _reply() -> dict[str, Any]:
    return {
        "address": None,
        "title": "the reply_to of a request",
        "description": "amq.rabbitmq.reply-to, or a queue placet.reply.USER.* of the sender's own.",
        "messages": _refs({"resolution", "problem"}),
    }


def _carried(exchange: str, keys: tuple[str, ...]) -> set[str]:
    table = MESSAGES[exchange]
    if exchange in ("placet.events", "placet.control"):
        return set(table.values())
    return {table[key] for key in keys if key in table} | (
        {table[_KIND_KEYS]} if _KIND_KEYS in table else set()
    )


REPLIED = ("placet.requests", "placet.answers")
"""Where a sender is told what became of its message, on its `reply_to`."""


def _sends() -> dict[str, Any]:
    return {
        f"send.{exchange}": {
            "action": "send",
            "channel": {"$ref": f"#/channels/{exchange}"},
            "summary": "Sent by " + ", ".join(SENDERS[exchange]),
            "bindings": {
                "amqp": {"deliveryMode": 2, "mandatory": _mandatory(exchange), "ack": False}
            },
            **({"reply": _answered()} if exchange in REPLIED else {}),
        }
        for exchange in MESSAGES
    }


def _mandatory(exchange: str) -> bool:
    return TOPOLOGY.mandatory(exchange)


def _answered() -> dict[str, Any]:
    return {
        "address": {"location": "$message.header#/reply_to"},
        "channel": {"$ref": "#/channels/placet.reply"},
        "messages": [
            {"$ref": f"#/channels/placet.reply/messages/{name}"}
            for name in ("problem", "resolution")
        ],
    }


def _receives(channels: dict[str, Any]) -> dict[str, Any]:
    return {
        f"receive.{name}": {
            "action": "receive",
            "channel": {"$ref": f"#/channels/{name}"},
            "summary": "Taken from " + channel["title"],
            "bindings": {"amqp": {"ack": True}},
        }
        for name, channel in channels.items()
    }
