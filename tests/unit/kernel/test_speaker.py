"""Whom a run works for, and that what was allowed to one person is not allowed to the next."""

from datetime import UTC, datetime

import pytest

from placet.domain.grant import Grant
from placet.kernel import fold
from placet.kernel.journal import Entry, GrantGiven, MessageReceived, RunStarted, TrustGiven
from placet.kernel.state import State

pytestmark = pytest.mark.unit

GRANT = Grant(
    id="grt_1",
    tool="send",
    schema_digest="sha256:1",
    keys=(),
    scope="run",
    stage="main",
    at=datetime(2026, 1, 1, tzinfo=UTC),
    input_id="inp_1",
)
ALLOWED: list[Entry] = [
    TrustGiven(tool="send", schema_digest="sha256:1", person="alice"),
    GrantGiven(grant=GRANT),
]


def heard(*senders: str | None) -> State:
    """A run that was started by the first and then heard the others; the first allowed something."""
    first, *later = [
        MessageReceived(id=f"msg_{n}", text="go", sender=sender) for n, sender in enumerate(senders)
    ]
    return fold([RunStarted(), *ALLOWED[:1], first, *ALLOWED[1:], *later])


def allowed(state: State) -> tuple[list[str], list[str]]:
    return list(state.trusted), [grant.id for grant in state.grants]


def test_what_was_trusted_before_the_first_message_holds_for_whoever_sent_it() -> None:
    assert allowed(heard("alice")) == (["send"], ["grt_1"])


def test_more_from_the_same_person_changes_nothing() -> None:
    state = heard("alice", "alice")
    assert (state.speaker, allowed(state)) == ("alice", (["send"], ["grt_1"]))


def test_a_message_of_nobody_in_particular_ends_it_and_the_run_works_for_its_initiator() -> None:
    for senders in (("alice", None), ("alice", "bob", None)):
        state = heard(*senders)
        assert (state.speaker, allowed(state)) == ("alice", ([], []))


def test_what_the_next_person_allows_holds_as_long_as_that_person_speaks() -> None:
    state = heard("alice", "bob")
    for entry in ALLOWED:
        state.apply(entry)
    state.apply(MessageReceived(id="msg_9", text="and then", sender="bob"))
    assert allowed(state) == (["send"], ["grt_1"])


def test_a_message_of_somebody_else_ends_what_was_allowed() -> None:
    state = heard("alice", "bob")
    assert (state.initiator, state.speaker, allowed(state)) == ("alice", "bob", ([], []))


def test_what_has_ended_does_not_come_back_with_the_first_person() -> None:
    state = heard("alice", "bob", "alice")
    assert (state.speaker, allowed(state)) == ("alice", ([], []))


def test_a_run_that_nobody_in_particular_started_is_its_next_speaker_s() -> None:
    state = heard(None, "bob")
    assert (state.speaker, allowed(state)) == ("bob", ([], []))
