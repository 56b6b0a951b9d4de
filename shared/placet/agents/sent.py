"""Definitions that come over the API: those of a file, without what reaches beyond people and models."""

import re
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from placet.agents import asking
from placet.agents.agent import Agent
from placet.agents.definitions import Definition, agent_of, problem_of
from placet.domain.authoring import NAME
from placet.domain.digest import check_storable
from placet.errors import FieldError, Invalid, TooLarge

MOST_BYTES = 65_536
"""Of a definition as JSON."""
MOST_STEPS = 1000
LONGEST_MODEL = 200
_MODEL = re.compile(r"[a-z][a-z0-9_-]*:[A-Za-z0-9](?:[A-Za-z0-9_:@/-]|\.(?!\.))*\Z")
"""By provider and name: no address, and nothing that climbs in the path of one."""
_REFUSED = {
    "tools": "it names Python code; write such a definition in a file of the operator's",
    "folder": "it names a folder; write such a definition in a file of the operator's",
    "sources": "no source can be reached by a definition that comes over the API",
    "safe_commands": "they are for a shell, which a definition that comes over the API has not",
}
"""Fields of a file that reach what is the operator's, and why each is refused."""


def body_schema() -> dict[str, Any]:
    """The JSON Schema of such a body, in one piece."""
    schema = Definition.model_json_schema()
    parts = schema.pop("$defs")
    kept = {k: v for k, v in schema["properties"].items() if k not in _REFUSED}
    kept["human_input"] = parts["HumanInputTable"]
    kept["max_steps"] |= {"maximum": MOST_STEPS}
    kept["builtins"]["items"] = {"enum": list(asking.TOOLS)}
    return {**schema, "properties": kept, "title": "DefinitionSent", "required": ["model"]}


def is_name(name: str) -> bool:
    """Whether a definition may be called this over the API: ASCII, so that no two look alike."""
    return NAME.match(name) is not None and not name.startswith("agt_")


def sent_definition(name: str, given: Mapping[str, Any]) -> Agent:
    """The agent that a body of the API describes; nothing is imported, opened or started for it.

    It may ask people and delegate, and has no other tool: what it is not known to be harmless with,
    it does not get.

    Raises:
        Invalid: a name, a field or a value that does not fit here, with where it is.
        DefinitionError: it fits, and describes no agent that works.
        TooLarge: more than 64 KiB.
    """
    if not is_name(name):
        raise Invalid(
            "a definition's name has letters, digits, - and _, at most 100, no agt_ before"
        )
    check_storable(given)
    if len(orjson.dumps(given)) > MOST_BYTES:
        raise TooLarge(f"a definition has at most {MOST_BYTES} bytes")
    try:
        definition = Definition.model_validate(given)
    except ValidationError as error:
        path = "".join(f"/{part}" for part in error.errors(include_url=False)[0]["loc"])
        raise _unfit(path, problem_of(error)) from None
    _check(name, given, definition)
    return agent_of(definition, name)


def _check(name: str, given: Mapping[str, Any], definition: Definition) -> None:
    for field, why in _REFUSED.items():
        if field in given:
            raise _unfit(f"/{field}", f"{field} is refused here: {why}")
    if definition.name not in (None, name):
        raise _unfit("/name", f"the path calls it {name!r}; leave name out, or say the same")
    for number, builtin in enumerate(definition.builtins):
        if builtin not in asking.TOOLS:
            allowed = ", ".join(asking.TOOLS)
            raise _unfit(f"/builtins/{number}", f"{builtin[:100]!r} is refused here; use {allowed}")
    if definition.max_steps > MOST_STEPS:
        raise _unfit("/max_steps", f"max_steps is at most {MOST_STEPS} here")
    for stage, table in definition.stages.items():
        if table.get("model") is not None:
            _check_model(f"/stages/{stage}/model", table["model"])
    _check_model("/model", definition.model)


def _check_model(pointer: str, model: Any) -> None:
    if not isinstance(model, str) or len(model) > LONGEST_MODEL or not _MODEL.match(model):
        raise _unfit(pointer, "write the model as provider:name, such as openai:gpt-5")


def _unfit(pointer: str, detail: str) -> Invalid:
    return Invalid(detail, [FieldError(pointer, detail)])
