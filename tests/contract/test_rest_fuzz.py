"""Whatever is sent to REST, nothing crashes, and every reply is as the OpenAPI document says."""

import os
import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Err
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from placet.cli.contracts import openapi
from tests.contract.serving import Served, served

EXAMPLES = 300 if os.environ.get("PLACET_FAULTS") == "long" else 25
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
ENDLESS = r"/events$"
"""Streams do not end; they have tests of their own."""

NOW = datetime.now(UTC).isoformat()
"""Only what was asked lately is taken."""

schema = schemathesis.openapi.from_dict(openapi.document()).exclude(path_regex=ENDLESS)


@pytest.fixture(scope="module")
def placet() -> Iterator[Served]:
    with served() as found:
        yield found


DEFINITION = {"model": "openai:gpt-5", "builtins": ["ask_user_text"]}


@pytest.fixture(scope="module")
def known(placet: Served) -> dict[str, list[str]]:
    """Things that exist, by what names them in a path: so that not all is 404."""
    with httpx2.Client(base_url=placet.url, headers=placet.headers, timeout=60) as client:
        runs = [
            client.post("/v1/agents/ops/runs", json={"input": f"Delete database {n}"}).json()
            for n in range(4)
        ]
        shown = [client.get(f"/v1/runs/{run['id']}", params={"wait": 20}).json() for run in runs]
        inputs = [waiting["id"] for run in shown for waiting in run["inputs"]]
        new = {"If-None-Match": "*"}
        for name in ("one", "two"):
            put = client.put(f"/v1/definitions/{name}", json=DEFINITION, headers=new)
            assert put.status_code == 201, put.text
        key = {"name": "spare", "service": "spare", "scopes": []}
        keys = [client.post("/v1/keys", json=key).json()["record"]["id"] for _ in range(2)]
        hook = {"url": "https://example.com/"}
        hooks = [client.post("/v1/webhooks", json=hook).json()["webhook"]["id"] for _ in range(3)]
    assert inputs, "the runs of the bundled agent ask for an approval"
    ids = [run["id"] for run in shown]
    return {
        "run_id": ids,
        "agent": ["ops", *(r["agent_id"] for r in shown)],
        "id": inputs,
        "name": ["one", "two", "ops", "three"],
        "keys": keys,
        "webhooks": hooks,
    }


def every_operation() -> Iterator[tuple[str, object]]:
    """A test for each operation, under a name of its own: those of one name run once in parallel."""
    for each in schema.get_all_operations():
        if isinstance(each, Err):
            raise each.err()
        operation = each.ok()
        alone = schema.include(path=operation.path, method=operation.method)
        words = re.findall(r"[a-z0-9]+", operation.label.lower())
        yield f"test_rest_refuses_or_serves_but_never_breaks_{'_'.join(words)}", _one(alone)


def _one(alone: BaseSchema) -> object:
    # The services' own thread draws jitter, which Hypothesis takes for a strategy that does.
    @pytest.mark.filterwarnings("ignore:Do not use the `random` module")
    @alone.parametrize()
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def test(case: Any, placet: Served, known: dict[str, list[str]]) -> None:
        _aim(case, known)
        case.call_and_validate(
            base_url=placet.url, headers=placet.headers, checks=CHECKS, timeout=30
        )

    return test


def _aim(case: Any, known: dict[str, list[str]]) -> None:
    """Name something that exists in two of three cases, ask just now, never wait for a minute."""
    drawn = zlib.crc32(repr((case.path_parameters, case.body, case.query)).encode())
    _name_what_exists(case, known, drawn)
    if isinstance(case.body, dict) and "requested_at" in case.body and drawn % 2:
        case.body = {**case.body, "requested_at": NOW, "expires_at": None}
    if (case.query or {}).get("wait") is not None:
        case.query["wait"] = case.query["wait"] if drawn % 2 and _refused(case.query["wait"]) else 0
    if case.method in ("PUT", "DELETE") and "/definitions/" in case.path and drawn % 4:
        header = "If-Match" if drawn % 4 > 1 else "If-None-Match"
        case.headers = {**(case.headers or {}), header: "*"}
        if isinstance(case.body, dict) and drawn % 5:
            case.body = {**case.body, "model": "openai:gpt-5", "delegates": ["ops"]}


def _name_what_exists(case: Any, known: dict[str, list[str]], drawn: int) -> None:
    resource = case.path.split("/")[2]
    for name in case.path_parameters or {}:
        names = known.get(resource if name == "id" else name) or known.get(name)
        if names and drawn % 3:
            case.path_parameters[name] = names[drawn % len(names)]


def _refused(wait: Any) -> bool:
    try:
        return not 0 <= float(wait) <= 60
    except (TypeError, ValueError):
        return True


globals().update(every_operation())
