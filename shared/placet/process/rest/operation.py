"""What FastAPI can't tell about an operation: examples of all that goes to and fro, and some schemas."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

REF = "#/components/schemas/{model}"
KEY = "0123456789abcdef"
"""The digits of the ids in examples."""
MADE = "2026-03-14T09:26:53Z"
"""When things in examples were made."""
Shape = type[BaseModel] | Mapping[str, Any]
"""A model, or a schema as it is."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of REST."""

    replies: Mapping[str, Any] = field(default_factory=dict)
    """By each status that goes well, an example; None has no body."""
    body: Any = None
    """An example of what is sent."""
    shape: Shape | None = None
    """What replies are; None: as the route says itself."""
    sent: Shape | None = None
    """What bodies are; None: as the route says itself."""


def schema_of(shape: Shape) -> dict[str, Any]:
    """The schema of a body, as a reference where it is a model."""
    if isinstance(shape, Mapping):
        return dict(shape)
    return {"$ref": REF.format(model=shape.__name__)}


def page(*items: Any, **more: Any) -> dict[str, Any]:
    """An example of a page of a list, which is the last one."""
    return {"items": list(items), "next_cursor": None, **more}


def as_json(value: BaseModel) -> Any:
    """A model as it travels."""
    return value.model_dump(mode="json")
