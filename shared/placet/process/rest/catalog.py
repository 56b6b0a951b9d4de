"""All operations of REST, and the schemas of what they send and reply with."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from placet.messages.export import parted
from placet.process.rest import (
    audit,
    definitions,
    freezes,
    grants,
    inputs,
    keys,
    links,
    people,
    runs,
    webhooks,
)
from placet.process.rest.operation import REF, Operation, Shape

_RESOURCES = (
    *(runs, definitions, grants, inputs, links, audit),
    *(keys, people, freezes, webhooks),
)
_SENT = "#/components/schemas/{model}-Input"


def operations() -> dict[str, Operation]:
    """Every operation, by its id."""
    return {id: found for each in _RESOURCES for id, found in each.operations().items()}


def schemas(found: dict[str, Operation]) -> dict[str, Any]:
    """The schemas of their models, and of a request as it is sent, where much may be left out."""
    _, made = models_json_schema(
        [
            *((model, "validation") for model in _models(each.sent for each in found.values())),
            *((model, "serialization") for model in _models(each.shape for each in found.values())),
        ],
        ref_template=REF,
    )
    own, parts = parted("interaction_request", _SENT)
    sent = {"InteractionRequest-Input": own, **{f"{name}-Input": s for name, s in parts.items()}}
    replies = {name: schema for name, schema in made["$defs"].items() if name != "Person"}
    return {**replies, **sent}


def _models(shapes: Iterable[Shape | None]) -> list[type[BaseModel]]:
    models = {shape for shape in shapes if isinstance(shape, type)}
    return sorted(models, key=lambda model: model.__name__)
