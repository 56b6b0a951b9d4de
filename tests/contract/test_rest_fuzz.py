"""Whatever is sent to REST, nothing crashes, and every reply is as the OpenAPI document says."""

import os
import re
from collections import Counter
from collections.abc import Iterator
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
from tests.contract.aiming import aim
from tests.contract.serving import Served, served
from tests.contract.supplies import Place, supply

EXAMPLES = 300 if os.environ.get("PLACET_FAULTS") == "long" else 25
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
ENDLESS = r"/events$"
"""Streams do not end; they have tests of their own."""

schema = schemathesis.openapi.from_dict(openapi.document()).exclude(path_regex=ENDLESS)


@pytest.fixture(scope="module")
def placet() -> Iterator[Served]:
    with served() as found:
        yield found


class Tally:
    """What an operation is aimed at, and what it replied."""

    def __init__(self, placet: Served) -> None:
        self._client = httpx2.Client(base_url=placet.url, headers=placet.headers, timeout=60)
        self.places: list[Place] | None = None
        self.statuses: Counter[int] = Counter()

    def aim(self, case: Any) -> None:
        if self.places is None:
            self.places = supply(self._client, case.path)
        aim(case, self.places)

    def close(self) -> None:
        self._client.close()
        print("replies:", *(f"{n} x {status}" for status, n in sorted(self.statuses.items())))
        assert any(status < 300 for status in self.statuses), "nothing that was sent was served"


@pytest.fixture
def tally(placet: Served) -> Iterator[Tally]:
    made = Tally(placet)
    yield made
    made.close()


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
    def test(case: Any, placet: Served, tally: Tally) -> None:
        tally.aim(case)
        response = case.call(base_url=placet.url, headers=placet.headers, timeout=30)
        tally.statuses[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    return test


globals().update(every_operation())
