"""The documents: generated from the code, whole, and true to the topology and the services."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from placet.bus.topology import TOPOLOGY
from placet.cli.contracts.__main__ import differences, main, write
from placet.messages.wire import ADAPTERS

CONTRACTS = Path(__file__).parents[2] / "contracts"
SHAPE: dict[str, Any] = {
    "type": "object",
    "required": ["asyncapi", "info", "channels", "operations", "components"],
    "properties": {
        "asyncapi": {"const": "3.0.0"},
        "info": {"type": "object", "required": ["title", "version"]},
        "channels": {
            "additionalProperties": {
                "type": "object",
                "required": ["address", "messages"],
                "properties": {
                    "address": {"type": ["string", "null"]},
                    "messages": {
                        "minProperties": 1,
                        "additionalProperties": {"required": ["$ref"]},
                    },
                    "bindings": {"$ref": "#/$defs/amqp"},
                },
            }
        },
        "operations": {
            "additionalProperties": {
                "required": ["action", "channel"],
                "properties": {
                    "action": {"enum": ["send", "receive"]},
                    "channel": {"required": ["$ref"]},
                },
            }
        },
        "components": {
            "properties": {
                "messages": {
                    "additionalProperties": {
                        "required": ["name", "payload", "headers", "contentType", "correlationId"]
                    }
                }
            }
        },
    },
    "$defs": {
        "amqp": {
            "required": ["amqp"],
            "properties": {
                "amqp": {
                    "oneOf": [
                        {"required": ["exchange"], "properties": {"is": {"const": "routingKey"}}},
                        {"required": ["queue"], "properties": {"is": {"const": "queue"}}},
                    ],
                    "required": ["is", "bindingVersion"],
                }
            },
        }
    },
}


@pytest.fixture(scope="module")
def asyncapi(generated: dict[str, bytes]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(generated["asyncapi.json"])
    return document


@pytest.fixture(scope="module")
def openapi(generated: dict[str, bytes]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(generated["openapi.json"])
    return document


def test_the_contracts_are_what_the_code_says(generated: dict[str, bytes]) -> None:
    assert differences(CONTRACTS, generated) == []


def test_a_difference_is_named_and_fails_the_check(
    generated: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, generated)
    assert main(["--check", str(tmp_path)]) == 0
    (tmp_path / "schemas/event.v1.json").write_text("{}\n")
    (tmp_path / "schemas/old.v1.json").write_text("{}\n")
    (tmp_path / "openapi.json").unlink()
    assert main(["--check", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "schemas/event.v1.json differs" in said
    assert "schemas/old.v1.json is generated no more" in said
    assert "openapi.json is missing" in said
    write(tmp_path, generated)
    assert differences(tmp_path, generated) == []


def test_the_generator_refuses_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--chek"]) == 2
    assert "usage:" in capsys.readouterr().err


def test_the_asyncapi_document_has_its_shape(asyncapi: dict[str, Any]) -> None:
    jsonschema_rs.validator_for(SHAPE).validate(asyncapi)
    for ref in references(asyncapi):
        resolve(asyncapi, ref)


def test_the_asyncapi_document_has_every_exchange_and_queue_of_services(
    asyncapi: dict[str, Any],
) -> None:
    inner = {"placet.dead", "placet.probe"}
    names = [row.name for row in TOPOLOGY.exchanges] + [row.name for row in TOPOLOGY.queues]
    wanted = set(names) - inner
    assert wanted <= set(asyncapi["channels"])


def test_every_message_type_of_the_wire_is_in_the_asyncapi_document(
    asyncapi: dict[str, Any],
) -> None:
    named = {message["name"] for message in asyncapi["components"]["messages"].values()}
    assert named == set(ADAPTERS) | {"placet.problem.v1"}


def test_every_routing_key_of_the_topology_says_what_it_carries(asyncapi: dict[str, Any]) -> None:
    for row in TOPOLOGY.queues:
        if row.exchange in (None, "placet.events", "placet.dead", "placet.probe"):
            continue
        known = set(asyncapi["channels"][row.exchange]["x-routing-keys"])
        for key in row.keys:
            assert key in known or "kind" in known


def test_rabbitmq_definitions_are_the_topology(generated: dict[str, bytes]) -> None:
    made = json.loads(generated["rabbitmq.json"])
    assert [e["name"] for e in made["exchanges"]] == [row.name for row in TOPOLOGY.exchanges]
    assert {q["name"]: q["arguments"] for q in made["queues"]} == {
        row.name: row.arguments() for row in TOPOLOGY.queues
    }
    assert {(b["source"], b["routing_key"], b["destination"]) for b in made["bindings"]} == {
        (row.exchange, key, row.name) for row in TOPOLOGY.queues if row.exchange for key in row.keys
    }


def test_every_reference_in_the_openapi_document_resolves(openapi: dict[str, Any]) -> None:
    for ref in references(openapi):
        resolve(openapi, ref)


def test_operation_ids_are_unique(openapi: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(openapi)]
    assert len(set(ids)) == len(ids)


def test_every_operation_says_how_it_refuses_and_that_servers_may_be_away(
    openapi: dict[str, Any],
) -> None:
    for _, path, operation in operations(openapi):
        replies = operation["responses"]
        assert {"401", "403", "503"} <= set(replies), path
        assert "422" not in replies, f"{path}: what does not fit is 400"
        for status, reply in replies.items():
            if status >= "400":
                found = resolve(openapi, reply["$ref"])
                assert set(found["content"]) == {"application/problem+json"}


def test_every_json_reply_has_a_schema(openapi: dict[str, Any]) -> None:
    for _, path, operation in operations(openapi):
        for status, reply in operation["responses"].items():
            json_body = reply.get("content", {}).get("application/json", {"schema": True})
            assert json_body["schema"], f"{path} {status}"


def test_the_three_services_are_all_there(openapi: dict[str, Any]) -> None:
    services = {operation["x-service"] for _, _, operation in operations(openapi)}
    assert services == {"runner", "broker", "notifier"}


def operations(openapi: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolve(document: dict[str, Any], ref: str) -> Any:
    assert ref.startswith("#/"), ref
    found: Any = document
    for part in ref[2:].split("/"):
        found = found[part.replace("~1", "/").replace("~0", "~")]
    return found
