"""`--field name=value`, and what a terminal says of forms."""

from datetime import UTC, datetime
from typing import Any

import pytest

from placet.cli import asked, fields
from placet.domain.interaction import FormRequest, UrlRequest
from placet.errors import Invalid
from placet.sealing import new_key, public

pytestmark = pytest.mark.unit

NOW = datetime(2026, 1, 2, tzinfo=UTC)
FORM = {
    "type": "object",
    "properties": {
        "password": {"type": "string", "sealed": True},
        "region": {"oneOf": [{"const": "eu", "title": "Europe"}, {"const": "us"}]},
        "seats": {"type": "integer"},
    },
    "required": ["password"],
}


def form() -> FormRequest:
    return FormRequest(message="Where?", form=FORM, seal_key=public(new_key()), requested_at=NOW)


def test_a_sealed_field_that_is_only_named_is_typed_without_echo(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_for: list[str] = []

    def typed(prompt: str) -> str:
        asked_for.append(prompt)
        return "secret=1"

    monkeypatch.setattr(fields, "getpass", typed)
    found: Any = fields.content(form(), ["password", "seats=3"])
    assert found == {"password": "secret=1", "seats": 3}
    assert asked_for == ["password: "]


def test_any_other_field_needs_its_value() -> None:
    with pytest.raises(Invalid, match="name=value"):
        fields.content(form(), ["seats"])


def test_a_choice_is_meant_by_its_title_too() -> None:
    assert fields.content(form(), ["region=Europe"]) == {"region": "eu"}


def test_a_form_shows_its_choices_and_what_is_sealed() -> None:
    shown = "\n".join(asked.lines(form()))
    assert "eu (Europe) | us" in shown
    assert "sealed: only the tool reads it" in shown


def test_a_page_whose_host_may_be_taken_for_another_comes_with_the_warning() -> None:
    request = UrlRequest(message="Connect", url="https://xn--pple-43d.com/", requested_at=NOW)
    assert request.warning
    assert request.warning in "\n".join(asked.lines(request))
