"""What the notifier decides: signatures, the schedule, filters, endpoints."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from placet.errors import Invalid
from placet.messages import Event, EventType
from placet_notifier.api.events import number_of
from placet_notifier.rules.delivery import (
    FIRST,
    LONGEST,
    PATIENCE,
    Answer,
    Due,
    State,
    asked_for,
    chosen,
    delivery_for,
    pause,
    payload,
    verdict,
)
from placet_notifier.rules.endpoint import OVERLAP, Endpoint, Secret
from placet_notifier.rules.filters import ON_AGENTS, Entry, Wanted, types_of
from placet_notifier.rules.signing import secret_of, sign

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


def event(**given: object) -> Event:
    fields = {"id": "evt_1", "type": EventType.INPUT_REQUESTED, "at": NOW, "agent_id": "agt_1"}
    return Event.model_validate({**fields, **given})


def endpoint(*secrets: Secret, types: Sequence[str] = ()) -> Endpoint:
    kept = secrets or (Secret(secret_of(b"a" * 32)),)
    return Endpoint("whk_1", "default", "https://x", tuple(types), "", NOW, "alice", kept)


@given(st.binary(min_size=24, max_size=64), st.text(max_size=200))
def test_a_signature_is_what_the_standard_library_of_receivers_accepts(
    key: bytes, text: str
) -> None:
    body = orjson.dumps({"text": text})
    headers = sign([secret_of(key)], "dlv_1", datetime.now(UTC), body)
    assert Webhook(secret_of(key)).verify(body, headers) == {"text": text}


def test_during_a_rotation_both_secrets_verify_and_afterwards_only_the_new_one() -> None:
    old, new = secret_of(b"o" * 32), secret_of(b"n" * 32)
    now = datetime.now(UTC)
    rotated = endpoint(*endpoint(Secret(old)).rotated(new, now))
    headers = sign(rotated.signing(now + OVERLAP / 2), "dlv_1", now, b"{}")
    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (old, new):
        Webhook(secret).verify(b"{}", headers)
    late = sign(rotated.signing(now + OVERLAP), "dlv_1", now, b"{}")
    Webhook(new).verify(b"{}", late)
    with pytest.raises(WebhookVerificationError):
        Webhook(old).verify(b"{}", late)


def test_a_replayed_webhook_is_too_old_for_its_receiver() -> None:
    headers = sign([secret_of(b"a" * 32)], "dlv_1", datetime.now(UTC) - timedelta(minutes=6), b"{}")
    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(secret_of(b"a" * 32)).verify(b"{}", headers)


def test_a_secret_is_in_no_view_and_in_no_representation() -> None:
    kept = endpoint()
    secret = kept.secrets[0].value
    assert secret not in repr(kept)
    assert secret not in repr(kept.secrets)
    assert secret not in str(kept.view(NOW))


def test_waits_go_from_five_seconds_to_an_hour() -> None:
    assert pause(1, 0.0) == FIRST
    assert pause(100, 1.0) == LONGEST
    waits = [pause(attempt, 0.5) for attempt in range(1, 15)]
    assert waits == sorted(waits)
    assert min(waits) >= FIRST
    assert max(waits) <= LONGEST


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (200, State.DELIVERED),
        (204, State.DELIVERED),
        (301, State.PENDING),
        (400, State.PENDING),
        (500, State.PENDING),
        (None, State.PENDING),
        (410, State.FAILED),
    ],
)
def test_a_status_decides_what_becomes_of_a_delivery(status: int | None, state: State) -> None:
    decided = verdict(Answer(status), delivery_for(event(), "whk_1", NOW), NOW, 0.5)
    assert decided.state is state
    assert decided.disable is (status == 410)
    assert (decided.wait is None) is (state is not State.PENDING)


def test_a_delivery_is_given_up_after_three_days() -> None:
    delivery = delivery_for(event(), "whk_1", NOW)
    almost = NOW + PATIENCE - timedelta(minutes=1)
    assert verdict(Answer(500), delivery, almost, 0.0).state is State.PENDING
    assert verdict(Answer(500), delivery, NOW + PATIENCE, 0.0).state is State.FAILED


def test_retry_after_is_honoured_for_a_busy_receiver_and_bounded() -> None:
    delivery = delivery_for(event(), "whk_1", NOW)
    for status in (429, 503):
        assert verdict(Answer(status, "120"), delivery, NOW, 0.0).wait == timedelta(seconds=120)
        assert verdict(Answer(status, "99999999"), delivery, NOW, 0.0).wait == LONGEST
        assert verdict(Answer(status, "0"), delivery, NOW, 0.0).wait == FIRST
    assert verdict(Answer(500, "120"), delivery, NOW, 0.0).wait == FIRST


def test_retry_after_may_be_a_date_or_nonsense() -> None:
    later = format_datetime(NOW + timedelta(minutes=2), usegmt=True)
    assert asked_for(later, NOW) == timedelta(minutes=2)
    for text in (None, "", "soon", "-5", "1e9", "²", "9" * 4000):
        assert timedelta(0) <= asked_for(text, NOW) <= timedelta(days=4000)


def test_a_delivery_has_the_same_id_however_often_its_event_comes() -> None:
    first, second = (delivery_for(event(), "whk_1", NOW + timedelta(n)) for n in range(2))
    assert first.id == second.id
    assert first.id != delivery_for(event(), "whk_2", NOW).id


def test_the_body_is_type_timestamp_and_the_event() -> None:
    body = orjson.loads(payload(event()))
    assert set(body) == {"type", "timestamp", "data"}
    assert body["type"] == "input.requested"
    assert body["timestamp"] == "2026-11-01T12:00:00Z"
    assert Event.model_validate(body["data"]) == event()


def test_an_endpoint_gets_only_what_happened_after_it_was_made_and_what_it_asked_for() -> None:
    assert endpoint().wants(event())
    assert not endpoint().wants(event(at=NOW - timedelta(seconds=1)))
    assert not endpoint(types=["run.failed"]).wants(event())
    assert endpoint(types=["input.requested"]).wants(event())


def test_one_endpoint_gets_no_more_than_its_share_of_the_slots() -> None:
    due = [Due(f"d{n}", "slow") for n in range(5)] + [Due("other", "fast")]
    assert chosen(due, {"slow": 1}, 3) == ["d0", "d1", "other"]


def entry(**given: str) -> Entry:
    fields = {"id": "evt", "type": "run.started", "agent_id": "a", "run_id": "r", "body": "{}"}
    return Entry(1, **{**fields, "root_run_id": "root", **given})


def test_a_stream_shows_what_it_was_asked_for() -> None:
    assert Wanted().matches(entry())
    assert Wanted("a", "r", frozenset({"run.started"})).matches(entry())
    assert Wanted(run_id="root").matches(entry())
    assert not Wanted("b").matches(entry())
    assert not Wanted(run_id="x").matches(entry())
    assert not Wanted(types=frozenset({"run.failed"})).matches(entry())
    assert not Wanted(groups=frozenset({"input"})).matches(entry())


def test_types_are_known_by_both_of_their_names() -> None:
    assert types_of(["input_required", " run.failed "]) == {"input.requested", "run.failed"}
    assert set(ON_AGENTS.values()) == {"input_required", "input_resolved"}
    assert types_of([""]) == frozenset()
    with pytest.raises(Invalid, match=r"run\.failde"):
        types_of(["run.failde"])


def test_a_position_is_a_whole_number() -> None:
    assert number_of(None) is None
    assert number_of("17") == 17
    for text in ("-1", "1.5", "x", "²", "1" * 16):
        with pytest.raises(Invalid):
            number_of(text)
