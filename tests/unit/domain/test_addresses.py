"""A page that a person is sent to: https, no credentials, and no host that passes for another."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from placet.domain.interaction import UrlRequest
from placet.domain.resolution import Input

pytestmark = pytest.mark.unit

AT = datetime(2026, 1, 2, tzinfo=UTC)


def page(url: str, **more: str) -> UrlRequest:
    return UrlRequest(url=url, requested_at=AT, **more)


@pytest.mark.parametrize(
    "url",
    [
        "http://x.test",
        "HTTP://x.test",
        "javascript:alert(1)",
        "data:text/html,x",
        "//x.test",
        "https://user:pw@x.test/",
        "https://x.test%40evil.test/",
        "https://x.test\\@evil.test/",
        "https://",
        "https://.",
        "https://-x.test",
        "https://x..test",
        "https://x;y.test",
        "https://x.test:99999/",
        "https://x.test:port/",
        "https://[::1/",
        "https://x.test/a b",
        "https://x.test/\u202egnp",
        "https://x.test/\u200b",
        "https://\u0440aypal.test/",
        "https://stra\u00dfe.test/",
        "https://x.test\n",
    ],
)
def test_ap_108_no_page_but_an_https_one_whose_host_is_plain_to_see(url: str) -> None:
    with pytest.raises(ValidationError):
        page(url)


def test_ap_108_the_request_says_where_it_really_leads() -> None:
    assert page("https://Login.Example.test:443/a?b#c").origin == "https://login.example.test"
    assert page("https://x.test:8443").origin == "https://x.test:8443"
    assert page("https://[2001:db8::1]/").origin == "https://[2001:db8::1]"


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("https://xn--aypal-4ve.test/", "a\u0430ypal.test"),
        ("https://xn--e1awd7f.com/", "reads"),
        ("https://xn--99999999999/", "xn--99999999999"),
        ("https://127.0.0.1/", "is a number"),
        ("https://0x7f.1/", "is a number"),
        ("https://2130706433/", "is a number"),
        ("https://[::1]/", "is a number"),
    ],
)
def test_ap_108_a_host_that_may_be_taken_for_another_comes_with_a_warning(
    url: str, word: str
) -> None:
    assert word in page(url).warning


def test_ap_108_nobody_who_asks_can_talk_the_warning_away() -> None:
    asked = page("https://xn--aypal-4ve.test/", origin="https://paypal.test", warning="")
    assert asked.origin == "https://xn--aypal-4ve.test"
    assert asked.warning
    read = UrlRequest.model_validate_json(
        asked.model_dump_json(exclude={"warning"}).replace("xn--aypal-4ve", "xn--80ak6aa92e")
    )
    assert "xn--80ak6aa92e" in read.origin
    assert "xn--80ak6aa92e" in read.warning


def test_c21_whoever_reads_the_input_is_told_the_address_and_where_it_leads() -> None:
    detail = Input(id="inp_1", request=page("https://X.test/login")).detail()
    assert (detail["url"], detail["origin"]) == ("https://X.test/login", "https://x.test")


def test_a_plain_host_needs_no_warning_and_has_none_on_the_wire() -> None:
    asked = page("https://login.example.test/device?c=1")
    assert asked.warning == ""
    assert "warning" not in asked.model_dump_json()
