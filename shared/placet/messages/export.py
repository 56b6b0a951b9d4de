"""The contracts as data: a JSON Schema for each message, and golden examples as they travel."""

from typing import Any

import orjson
from pydantic import TypeAdapter

from placet.domain.interaction import (
    ApprovalRequest,
    ConfirmRequest,
    EditTextRequest,
    FormRequest,
    FreeTextRequest,
    InteractionRequest,
    Kind,
    MultipleChoiceRequest,
    QuestionsRequest,
    ReviewRequest,
    UrlRequest,
)
from placet.domain.resolution import Resolution
from placet.messages.command import RunCommand
from placet.messages.event import Event
from placet.messages.examples import MINIMAL, all_examples
from placet.messages.problem import ProblemDocument
from placet.messages.request import AnswerMessage, Close
from placet.messages.wire import encode

VERSION = "v1"
CONTRACTS: dict[str, Any] = {
    "answer": AnswerMessage,
    "approval_request": ApprovalRequest,
    "close": Close,
    "confirm_request": ConfirmRequest,
    "edit_text_request": EditTextRequest,
    "event": Event,
    "form_request": FormRequest,
    "free_text_request": FreeTextRequest,
    "interaction_request": InteractionRequest,
    "multiple_choice_request": MultipleChoiceRequest,
    "problem": ProblemDocument,
    "questions_request": QuestionsRequest,
    "resolution": Resolution,
    "review_request": ReviewRequest,
    "run_command": RunCommand,
    "url_request": UrlRequest,
}
"""By contract name. The AMQP `type` is `placet.NAME.v1`; each kind's request travels as
`interaction_request` and has a file of its own for those who write one kind."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one message; unknown fields are allowed, as a newer writer may send them."""
    own, parts = parted(name, "#/$defs/{model}")
    made = {"$schema": DIALECT, "$id": f"urn:placet:contract:{name}.{VERSION}", **own}
    return {**made, "$defs": parts} if parts else made


def parted(name: str, ref_template: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema of a message, and by name the schemas that it refers to by `ref_template`."""
    made = TypeAdapter(CONTRACTS[name]).json_schema(ref_template=ref_template)
    parts = made.pop("$defs", {})
    made.pop("discriminator", None)  # OpenAPI's word; JSON Schema and AsyncAPI mean something else
    made.setdefault("title", "".join(word.title() for word in name.split("_")))
    for each in (made, *parts.values()):
        _name_the_kind(each)
    return made, parts


def _name_the_kind(made: dict[str, Any]) -> None:
    """A request without a kind is read as an approval: the others must say theirs."""
    kind = made.get("properties", {}).get("kind", {}).get("const")
    if kind not in (None, Kind.TOOL_APPROVAL):
        made["required"] = [*made.get("required", ()), "kind"]


def schemas() -> dict[str, bytes]:
    """Every schema file, by its path in `contracts/`."""
    return {f"schemas/{name}.{VERSION}.json": pretty(schema(name)) for name in CONTRACTS}


def examples() -> dict[str, bytes]:
    """Every golden example, by its path in `contracts/`: the bytes on the wire and a newline.

    `minimal` is the least that a sender may write; the others are what Placet itself writes.
    """
    files = {
        example_path(name, case): encode(model) + b"\n"
        for name, cases in all_examples().items()
        for case, model in cases.items()
    }
    for name, value in MINIMAL.items():
        files[example_path(name, "minimal")] = orjson.dumps(value) + b"\n"
    return files


def example_path(name: str, case: str) -> str:
    """Where the example of a case lies."""
    return f"examples/{name}.{VERSION}.{case}.json"


def pretty(value: Any) -> bytes:
    """JSON for people: sorted keys, two spaces, a newline at the end."""
    options = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(value, option=options)
