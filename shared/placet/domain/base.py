"""The base of every domain model: frozen, tolerant of a newer writer, plain JSON inside."""

from copy import deepcopy
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

JsonObject = Annotated[dict[str, Any], AfterValidator(deepcopy)]
"""A JSON object, copied when it enters, so that the caller's later changes do not reach it."""

DEFAULT_NAMESPACE = "default"


class Value(BaseModel):
    """A frozen value; fields that this version does not know are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)
