"""The base of every domain model: frozen, tolerant of a newer writer, plain JSON inside."""

from copy import deepcopy
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

JsonObject = Annotated[dict[str, Any], AfterValidator(deepcopy)]
"""A JSON object, copied when it enters, so that the caller's later changes do not reach it."""

JsonValue = Annotated[Any, AfterValidator(deepcopy)]
"""Any JSON, copied as well."""

DEFAULT_NAMESPACE = "default"
LONGEST_ID = 200
"""Bytes in UTF-8. AMQP carries ids as short strings, which hold 255."""


def _travels(value: str) -> str:
    if len(value.encode()) > LONGEST_ID:
        msg = f"must be at most {LONGEST_ID} bytes"
        raise ValueError(msg)
    return value


WireId = Annotated[
    str,
    Field(max_length=LONGEST_ID, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$"),
    AfterValidator(_travels),
]
"""An id or a name that a message carries outside its body: at most 200 bytes, no control characters."""


class Value(BaseModel):
    """A frozen value; fields that this version does not know are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)
