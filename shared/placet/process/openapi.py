"""What `/openapi.json` says: the routes as they behave, with our problems and every reply's schema."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import orjson

from placet.messages.export import CONTRACTS
from placet.process.access import SESSION_COOKIE
from placet.process.platform import Service
from placet.process.problems import of_error
from placet.process.rest.catalog import operations, schemas
from placet.process.rest.operation import Operation, schema_of
from placet.process.rest.refusals import problems

_REFUSALS = {
    400: ("BadRequest", "It does not fit; `errors` lists each field."),
    401: ("Unauthenticated", "No valid credential."),
    403: ("NotAllowed", "The credential may not do this."),
    404: ("NotFound", "No such thing in this namespace."),
    409: (
        "Conflict",
        "It has settled, ended or changed meanwhile; for an input, `input` says how.",
    ),
    412: ("Changed", "It is not the version that If-Match or If-None-Match names."),
    413: ("TooLarge", "The body has more than 1 MiB, or more than what it describes may have."),
    428: ("Unconditional", "A change says of which version it is, with If-Match or If-None-Match."),
    503: ("Unavailable", "A server is away; nothing was accepted. Try again after Retry-After."),
}
_ABOUT = "Durable human approval for AI agents. Every error is a problem document (RFC 9457)."


_STREAMS = ("text/event-stream", "application/x-ndjson")
TAGS = {
    "runs": "Start runs of agents, look at them, tell them something, end them.",
    "definitions": "What runs can be of.",
    "grants": "What was allowed beyond one call, and taking it back.",
    "inputs": "What waits for a person, and answering it.",
    "audit": "What happened to each input, and an export of it.",
    "requests": "Other services ask for approvals.",
    "freezes": "Calls that are kept from starting.",
    "people": "Who is who, in which groups, and who stands in for whom.",
    "keys": "Credentials of the namespace.",
    "webhooks": "Endpoints that are told about events.",
    "events": "What happens, as it happens.",
}
"""Resources, in the order in which they are shown."""
_OF_FASTAPI = ("HTTPValidationError", "ValidationError")


def document(found: Mapping[str, Any], services: Sequence[Service]) -> dict[str, Any]:
    """The document of an app, from what FastAPI found out about its routes."""
    given = found.get("components", {}).get("schemas", {})
    known = operations()
    own = {name: schema for name, schema in given.items() if name not in _OF_FASTAPI}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Placet", "version": "1", "description": _ABOUT},
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": _paths(found.get("paths", {}), _owners(services), known),
        "components": {
            "schemas": own | _problem_schemas() | schemas(known),
            "responses": {
                name: _refusal(text, status) for status, (name, text) in _REFUSALS.items()
            },
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "plc_..."},
                "session": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE},
            },
        },
        "security": [{"key": []}, {"session": []}],
    }


def _owners(services: Sequence[Service]) -> dict[str, str]:
    """By path, the service that serves it."""
    return {
        getattr(route, "path_format", ""): service.name
        for service in services
        for router in service.routers
        for route in router.routes
    }


def _paths(
    given: Mapping[str, Any], owners: Mapping[str, str], known: Mapping[str, Operation]
) -> dict[str, Any]:
    def described(path: str, method: str, found: dict[str, Any]) -> dict[str, Any]:
        id = f"{owners[path]}.{_name(found['operationId'], path, method)}"
        operation = known.get(id, Operation())
        made = {**found, "operationId": id, "x-service": owners[path]}
        return _shown(_described(made, operation, method), operation)

    return {
        path: {method: described(path, method, found) for method, found in methods.items()}
        for path, methods in given.items()
    }


def _name(operation_id: str, path: str, method: str) -> str:
    """The route's function: what FastAPI puts before the path and the method."""
    return operation_id.removesuffix(re.sub(r"\W", "_", f"{path}_{method}"))


def _described(found: dict[str, Any], operation: Operation, method: str) -> dict[str, Any]:
    """An operation as it behaves: our problems instead of FastAPI's 422, and every reply's schema."""
    made = dict(found)
    if operation.sent is not None:
        content = {"application/json": {"schema": schema_of(operation.sent)}}
        made["requestBody"] = {"required": True, "content": content}
    replies = {k: v for k, v in found["responses"].items() if k != "422"}
    made["responses"] = {
        **_replies(operation, replies),
        **{
            str(status): {"$ref": f"#/components/responses/{_REFUSALS[status][0]}"}
            for status in _refused_with(made, method)
        },
    }
    return made


def _shown(made: dict[str, Any], operation: Operation) -> dict[str, Any]:
    """An operation with an example of its body and of each reply that went well."""
    parts = [(operation.body, made.get("requestBody", {}))]
    parts += [(shown, made["responses"].get(s, {})) for s, shown in operation.replies.items()]
    for shown, part in parts:
        for content in part.get("content", {}).values():
            if shown is not None:
                content["example"] = shown
    return made


def _replies(operation: Operation, given: dict[str, Any]) -> dict[str, Any]:
    """The replies that went well, by status: as the route says, unless there is more to say."""
    if operation.shape is None and set(operation.replies) <= set(given):
        return {status: _one_type(reply) for status, reply in given.items()}
    only = next(iter(given.values()))
    shape = operation.shape or only["content"]["application/json"]["schema"]
    content = {"content": {"application/json": {"schema": schema_of(shape)}}}
    texts = {"200": "As it stands", "201": "Made", "202": "Accepted", "304": "Not modified"}
    return {
        # An example is put into each, so each is its own.
        status: {"description": texts[status], **(deepcopy(content) if shown is not None else {})}
        for status, shown in operation.replies.items()
    }


def _one_type(reply: dict[str, Any]) -> dict[str, Any]:
    """A stream of events or of lines is not also the JSON that FastAPI takes every reply for."""
    found = next((each for each in _STREAMS if each in reply.get("content", {})), None)
    return reply if found is None else {**reply, "content": {found: {"schema": {"type": "string"}}}}


def _refused_with(operation: dict[str, Any], method: str) -> list[int]:
    places = {parameter["in"] for parameter in operation.get("parameters", ())}
    conditional = "If-Match" in {each["name"] for each in operation.get("parameters", ())}
    body = "requestBody" in operation
    also = {
        400: bool(places) or body,
        404: "path" in places or body,
        409: method != "get",
        412: conditional,
        413: body,
        428: conditional,
    }
    return [status for status in _REFUSALS if also.get(status, True)]


def _refusal(text: str, status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ProblemDocument"}
    shown = orjson.loads(bytes(of_error(problems()[status]).body))
    content = {"application/problem+json": {"schema": schema, "example": shown}}
    return {"description": text, "content": content}


def _problem_schemas() -> dict[str, Any]:
    made = CONTRACTS["problem"].model_json_schema(ref_template="#/components/schemas/{model}")
    return {**made.pop("$defs"), "ProblemDocument": made}
