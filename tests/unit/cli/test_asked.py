"""What the terminal says of an approval that may trust a tool, and of one that did."""

from datetime import UTC, datetime

import pytest

from placet.cli.asked import ended, lines
from placet.domain.answer import Action, reduce
from placet.domain.interaction import ApprovalRequest, FormRequest, ToolCall
from placet.domain.resolution import Resolution

pytestmark = pytest.mark.unit
AT = datetime(2026, 1, 2, tzinfo=UTC)


def asked(*, trust: bool) -> ApprovalRequest:
    return ApprovalRequest(
        id="inp_" + "0" * 32,
        call=ToolCall(id="c", tool="send", args={"to": "bob"}),
        agent_id="agt_x",
        run_id="run_x",
        requested_at=AT,
        accepts="words",
        trust=trust,
    )


@pytest.mark.parametrize("trust", [True, False])
def test_what_trust_means_is_said_where_it_can_be_given_and_nowhere_else(trust: bool) -> None:
    said = "\n".join(lines(asked(trust=trust)))
    assert ("with any arguments" in said) is trust
    assert ("no classifier judges it" in said) is trust


@pytest.mark.parametrize(("word", "trusts"), [("t", True), ("y", False)])
def test_an_answer_that_trusted_is_told_from_a_plain_yes(word: str, trusts: bool) -> None:
    request = asked(trust=True)
    outcome = reduce(request, Action.ACCEPT, word)
    resolution = Resolution(
        input_id=request.id, run_id=request.run_id, digest="", outcome=outcome, at=AT
    )
    assert ("trusted from now on" in "\n".join(ended(resolution))) is trusts


def test_a_field_names_what_it_takes_however_its_choices_are_written() -> None:
    urgency = {"oneOf": [{"const": 1, "title": "Today"}, {"const": 2, "title": "This week"}]}
    notify = {"type": "array", "items": {"oneOf": [{"const": "mail"}, {"const": "chat"}]}}
    fields = {"urgency": urgency, "notify": notify, "only": {"const": "yes"}, "free": {}}
    form = {"type": "object", "properties": fields}
    said = "\n".join(lines(FormRequest(message="?", form=form, requested_at=AT)))
    assert "(1 (Today) | 2 (This week))" in said
    assert "(mail | chat)" in said
    assert "only [dim](yes)" in said
    assert "free [dim](any)" in said
