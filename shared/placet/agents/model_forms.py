"""Forms from pydantic models: the schema that is asked, and the answer as an instance."""

from copy import deepcopy
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from placet.errors import ToolError

M = TypeVar("M", bound=BaseModel)


def form_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a model as a form.

    An enum class stands where it is used, a field that may be None is one that may be left out, and a
    `SecretStr` is sealed. What nests stays as it is, and is refused when the form is made.
    """
    schema = model.model_json_schema()
    known = schema.get("$defs", {})
    simple = {f"#/$defs/{n}": d for n, d in known.items() if "enum" in d or "const" in d}
    fields = {name: _field(each, simple) for name, each in schema.get("properties", {}).items()}
    made = {key: value for key, value in schema.items() if key not in ("$defs", "description")}
    return {**made, "properties": fields}


def instance_of(model: type[M], content: dict[str, Any]) -> M:
    """The answer as an instance. Raises ToolError, without the values, if the model's own rules refuse it."""
    try:
        return model.model_validate_json(orjson.dumps(content))
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or model.__name__}: {each['msg']}"
            for each in error.errors(include_input=False, include_url=False)
        )
        raise ToolError(f"the answer is no {model.__name__}: {told}") from None


def _field(field: dict[str, Any], simple: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = _inlined(field, simple)
    branches = made.get("anyOf", [])
    if {"type": "null"} in branches and made.get("default", "") is None:
        left = [branch for branch in branches if branch != {"type": "null"}]
        del made["default"], made["anyOf"]
        made = {**left[0], **made} if len(left) == 1 else {**made, "anyOf": left}
    if made.get("format") == "password" and made.get("type") == "string":
        del made["format"]
        made["sealed"] = True
    return made


def _inlined(node: Any, simple: dict[str, Any]) -> Any:
    """The node with enums in place of the references to them."""
    if isinstance(node, list):
        return [_inlined(each, simple) for each in node]
    if not isinstance(node, dict):
        return node
    target = simple.get(node.get("$ref", ""))
    rest = {key: _inlined(value, simple) for key, value in node.items() if key != "$ref"}
    if target is None:
        return rest if "$ref" not in node else {"$ref": node["$ref"], **rest}
    return {**deepcopy(target), **rest}
