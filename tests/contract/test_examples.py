"""What travels: schemas, golden examples, and what was released before."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from pydantic import TypeAdapter, ValidationError

from placet.domain.interaction import ApprovalRequest, InputState, Kind
from placet.messages.event import EventType
from placet.messages.export import CONTRACTS
from placet.messages.wire import decode, decode_request, encode

CONTRACTS_DIR = Path(__file__).parents[2] / "contracts"
EXAMPLES = sorted((CONTRACTS_DIR / "examples").glob("*.json"))
RELEASED = sorted((CONTRACTS_DIR / "released").glob("*/*.json"))
EVENTUALLY_MORE = {"a_field_of_tomorrow": {"nested": [1]}}


def named(path: Path) -> str:
    return path.name.removesuffix(".json")


def name_of(path: Path) -> str:
    return path.name.split(".")[0]


def case_of(path: Path) -> str:
    return path.name.split(".")[2]


def read(path: Path, body: bytes | None = None) -> Any:
    return TypeAdapter(CONTRACTS[name_of(path)]).validate_json(body or path.read_bytes())


# What Placet writes as a message; a problem's members have no order that anybody relies on.
WRITTEN = [p for p in EXAMPLES if case_of(p) != "minimal" and name_of(p) != "problem"]


def schema_of(name: str) -> Any:
    made = json.loads((CONTRACTS_DIR / "schemas" / f"{name}.v1.json").read_bytes())
    return jsonschema_rs.validator_for(made, validate_formats=True)


@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_every_example_fits_its_schema(path: Path) -> None:
    schema_of(name_of(path)).validate(json.loads(path.read_bytes()))


@pytest.mark.parametrize("path", WRITTEN, ids=named)
def test_every_example_is_read_and_written_again_byte_for_byte(path: Path) -> None:
    body = path.read_bytes().removesuffix(b"\n")
    assert encode(read(path)) == body
    assert encode(read(path, encode(read(path)))) == body


@pytest.mark.parametrize("path", RELEASED, ids=named)
def test_every_example_that_was_ever_released_is_still_read(path: Path) -> None:
    assert read(path) is not None


@pytest.mark.parametrize(
    "path", [p for p in RELEASED if name_of(p) == "approval_request"], ids=named
)
def test_a_released_approval_request_keeps_what_it_said(path: Path) -> None:
    request = decode(ApprovalRequest, path.read_bytes())
    again = decode(ApprovalRequest, encode(request))
    assert again == request
    said = json.loads(path.read_bytes())
    written = json.loads(encode(request))
    assert {key: written[key] for key in said if key != "requested_at"} == {
        key: value for key, value in said.items() if key != "requested_at"
    }
    if case_of(path) != "minimal":
        assert encode(request) == path.read_bytes().removesuffix(b"\n")


@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_fields_of_a_newer_writer_are_ignored(path: Path) -> None:
    newer = {**json.loads(path.read_bytes()), **EVENTUALLY_MORE}
    schema_of(name_of(path)).validate(newer)
    if name_of(path) != "problem":
        assert read(path, json.dumps(newer).encode()) == read(path)


def test_the_six_named_fields_are_enough_for_an_approval_request() -> None:
    body = (CONTRACTS_DIR / "examples/approval_request.v1.minimal.json").read_bytes()
    assert set(json.loads(body)) == {
        "call",
        "risk",
        "agent_id",
        "run_id",
        "context",
        "requested_at",
    }
    request = decode_request(body)
    assert isinstance(request, ApprovalRequest)
    assert request.kind is Kind.TOOL_APPROVAL
    assert request.call.args == {"cents": 1200}


def test_a_request_without_a_kind_is_no_other_kind() -> None:
    body = json.loads((CONTRACTS_DIR / "examples/interaction_request.v1.confirm.json").read_bytes())
    del body["kind"]
    assert not schema_of("confirm_request").is_valid(body)
    assert not schema_of("interaction_request").is_valid(body)


@pytest.mark.parametrize("path", [p for p in EXAMPLES if name_of(p) != "problem"], ids=named)
def test_what_was_read_is_frozen(path: Path) -> None:
    message = read(path)
    with pytest.raises(ValidationError, match="frozen"):
        setattr(message, next(iter(type(message).model_fields)), "another")


def test_an_approval_request_shares_nothing_with_what_it_was_made_from() -> None:
    args = {"names": ["staging"]}
    call = {"id": "call_1", "tool": "drop_database", "args": args}
    request = ApprovalRequest.model_validate(
        {"call": call, "agent_id": "a", "run_id": "r", "requested_at": "2026-03-14T09:26:53Z"}
    )
    args["names"].append("production")
    assert request.call.args == {"names": ["staging"]}


def test_there_is_an_example_of_every_kind_every_state_and_every_event() -> None:
    states = {json.loads(p.read_bytes())["outcome"]["state"] for p in _of("resolution")}
    assert states == set(InputState) - {InputState.PENDING}
    assert {json.loads(p.read_bytes())["type"] for p in _of("event")} == set(EventType)
    kinds = {json.loads(p.read_bytes())["kind"] for p in _of("interaction_request")}
    assert kinds == set(Kind) - {Kind.TOOL_APPROVAL}
    assert {name_of(p) for p in EXAMPLES} == {
        name for name in CONTRACTS if not name.endswith("_request")
    } | {"approval_request", "interaction_request"}


@pytest.mark.parametrize("path", sorted((CONTRACTS_DIR / "schemas").glob("*")), ids=named)
def test_every_schema_is_a_schema_and_open_for_more(path: Path) -> None:
    made = json.loads(path.read_bytes())
    jsonschema_rs.meta.validate(made)
    for part in (made, *made.get("$defs", {}).values()):
        assert part.get("additionalProperties", True) is True


def _of(name: str) -> list[Path]:
    return [path for path in EXAMPLES if name_of(path) == name]
