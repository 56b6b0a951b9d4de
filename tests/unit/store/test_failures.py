"""What MongoDB refuses is told apart by what a caller can do about it."""

import pytest

from placet.errors import Conflict, PlacetError, TooLarge, Unavailable
from placet.store.mongo.failures import refusal
from placet.store.port import BadStatement

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (11000, Conflict),
        (17280, TooLarge),
        (18, Unavailable),
        (388, Unavailable),
        (2, BadStatement),
        (None, BadStatement),
    ],
)
def test_a_code_has_its_error(code: int | None, kind: type[PlacetError]) -> None:
    refused = refusal("db:27017", code, "why")
    assert type(refused) is kind
    assert "why" in str(refused)
    assert refused.retryable is (kind is Unavailable)
