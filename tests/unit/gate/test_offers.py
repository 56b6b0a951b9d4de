"""What a prompt offers beyond this one time, in which words, and the grant that an answer gives."""

from typing import Any

import pytest

from placet.domain.answer import Action, reduce
from placet.domain.grant import Grant
from placet.domain.interaction import ApprovalDecision, ApprovalRequest, InputState, ToolCall
from placet.domain.outcome import Outcome
from placet.domain.person import Person
from placet.domain.resolution import Resolution
from placet.domain.risk import ToolRisk
from placet.gate import AllowList, Facts, Offer, Policy, granted, offer
from placet.gate.shell import SafeList
from placet.kernel.asking import Asker, approval
from placet.kernel.call import CallState
from tests.unit.gate.made import AT, call, judged, layer, line, of, word

pytestmark = pytest.mark.unit

ASKS = Policy(asks_by_default=True, safe=SafeList.of(()))
CRITICAL = ToolRisk.CRITICAL
BY_HAND = "no command on this line can be granted; it will ask again"


def offered(facts: Facts, policy: Policy = ASKS) -> Offer:
    verdict = judged(facts, policy)
    assert verdict.decision == "ask"
    return offer(facts, verdict)


def answer(**outcome: Any) -> Resolution:
    said = {
        "state": InputState.ANSWERED,
        "content": True,
        "decision": ApprovalDecision.APPROVED,
        **outcome,
    }
    return Resolution(input_id="inp_1", outcome=Outcome(**said), by=Person(id="alice"), at=AT)


def given_for(facts: Facts, **outcome: Any) -> Grant | None:
    return granted(facts, offered(facts), answer(**outcome))


# What is offered


def test_l12_the_scopes_in_their_order_then_deny() -> None:
    assert offered(call()).options("drop") == (
        "Allow once",
        "Allow drop with any arguments for this stage",
        "Allow drop with any arguments for this run",
        "Deny",
    )


def test_l13_ap62_a_scoped_option_names_the_commands_that_it_grants() -> None:
    options = offered(line("ls -la && cat x | wc -l")).options("bash")
    keys = "`ls` with any arguments, `cat` with any arguments, `wc` with any arguments"
    assert options[1:3] == (f"Allow {keys} for this stage", f"Allow {keys} for this run")


def test_l13_up_to_three_are_named_and_the_rest_is_counted() -> None:
    options = offered(line("ls; cat x; wc y; head z; tail z")).options("bash")
    assert options[2].endswith("`wc` with any arguments, +2 more for this run")
    assert "head" not in options[2]


@pytest.mark.parametrize(
    ("facts", "policy", "note"),
    [
        (line("curl x | sh"), ASKS, BY_HAND),
        (line("eval ls"), ASKS, BY_HAND),
        (line("ls $(id)"), ASKS, BY_HAND),
        (line("ls > f"), ASKS, BY_HAND),
        (line("sudo ls"), ASKS, BY_HAND),
        (line("python3 x.py"), ASKS, BY_HAND),
        (line(""), ASKS, BY_HAND),
        (call(needs_approval=True), ASKS, "asked about each time"),
        (call(condition_failed="x"), ASKS, "asked about each time"),
        (call(), Policy(allowed=AllowList.of(["!drop"])), "asked about each time"),
        (line("ls"), Policy(allowed=AllowList.of(["!bash"])), "asked about each time"),
    ],
)
def test_l13_ap61_where_nothing_can_be_granted_only_once_is_offered_and_says_so(
    facts: Facts, policy: Policy, note: str
) -> None:
    found = offered(facts, policy)
    options = found.options(facts.tool)
    assert (found.scopes, found.keys, found.trustable) == (("once",), (), False)
    assert len(options) == 2
    assert options[0].startswith("Allow once (")
    assert note in options[0]


@pytest.mark.parametrize(
    ("facts", "exact"),
    [
        (call(), False),
        (call(risk=ToolRisk.HIGH), True),
        (call(risk=CRITICAL), True),
        (line("ls && cat x"), False),
        (line("ls && cat x", risk=ToolRisk.HIGH), True),
        (line("ls && mkdir x"), True),
        (line("git status"), True),
        (of("hub", "list"), False),
    ],
)
def test_a_grant_is_of_exactly_this_call_for_a_risky_tool_and_a_program_that_is_not_shipped(
    facts: Facts, exact: bool
) -> None:
    found = offered(facts)
    assert found.exact is exact
    assert ("exactly this call" in found.options(facts.tool)[1]) is exact


def test_ap79_ap80_only_a_tool_that_asks_now_and_then_and_is_no_shell_can_be_trusted() -> None:
    assert offered(call()).trustable
    assert offered(of("hub", "drop")).trustable
    assert not offered(line("ls")).trustable
    assert not offered(call(), Policy(allowed=AllowList.of(["*", "!drop"]))).trustable


# What an answer grants


def test_l30_once_grants_nothing() -> None:
    assert given_for(call(), scope="once") is None
    assert given_for(call()) is None


def test_ap63_a_named_grant_is_of_the_commands_on_the_line_and_no_more() -> None:
    facts = line("ls && git status")
    grant = given_for(facts, scope="run", grant="named")
    assert grant is not None
    assert (grant.tool, grant.keys, grant.exact) == ("bash", ("ls", "git status"), "")
    again = Policy(agent=layer(bash="ask"), safe=SafeList.of(()))
    assert word(line("git status -s; ls"), again, grant) == "allow"
    assert word(line("git push"), again, grant) == "ask"
    assert word(line("ls && curl x"), again, grant) == "ask"


def test_a_grant_says_who_gave_it_when_by_which_answer_and_for_what() -> None:
    facts = call(schema_digest="s", digest="d", stage="build", risk=ToolRisk.HIGH)
    grant = given_for(facts, scope="stage")
    assert grant is not None
    assert grant.id.startswith("grt_")
    assert (grant.by and grant.by.id, grant.at, grant.input_id) == ("alice", AT, "inp_1")
    assert (grant.scope, grant.stage, grant.schema_digest) == ("stage", "build", "s")
    assert (grant.exact, grant.risk) == ("d", "high"), "exactly this call: it is risky"
    assert given_for(facts, scope="stage") == grant, "the same answer gives the same grant"


def test_an_answer_may_name_what_is_offered_exactly_and_the_other_way_round() -> None:
    risky, harmless = call(risk=CRITICAL, digest="d"), call(digest="d")
    named = given_for(risky, scope="run", grant="named")
    exact = given_for(harmless, scope="run", grant="exact")
    assert named is not None
    assert exact is not None
    assert (named.exact, exact.exact) == ("", "d")


@pytest.mark.parametrize("text", ["curl x | sh", "ls $(id)", "sudo ls"])
@pytest.mark.parametrize("kind", ["named", "exact", None])
def test_l31_a_scope_for_a_line_with_nothing_to_name_is_recorded_as_nothing(
    text: str, kind: str | None
) -> None:
    assert given_for(line(text), scope="run", grant=kind) is None


@pytest.mark.parametrize(
    "outcome",
    [
        {"state": InputState.DECLINED, "decision": ApprovalDecision.DENIED},
        {"state": InputState.DECLINED, "decision": ApprovalDecision.SKIPPED},
        {"state": InputState.EXPIRED, "decision": None},
        {"decision": None, "content": {"scope": "run"}},
    ],
)
def test_l16_what_is_no_yes_grants_nothing_whatever_scope_it_says(outcome: dict[str, Any]) -> None:
    assert granted(call(), offered(call()), answer(scope="run", **outcome)) is None


# The prompt


def prompt(facts: Facts, args: dict[str, Any] | None = None, tool: str = "") -> ApprovalRequest:
    made = ToolCall(id="c1", tool=tool or facts.tool, args=args or {})
    state = CallState(made, judged(facts, ASKS), facts.risk, facts.schema_digest, facts)
    return approval(Asker("agt_1", "ops", "run_1"), state, AT)


def test_c15_the_prompt_asks_to_allow_the_named_tool_and_shows_source_arguments_and_digest() -> (
    None
):
    request = prompt(of("hub", "drop", risk=CRITICAL), {"name": "x"})
    assert request.message == "Allow hub__drop to run?"
    assert (request.call.tool, request.call.args) == ("hub__drop", {"name": "x"})
    assert request.risk == "critical"
    assert request.digest.startswith("sha256:")
    assert "no rule" in request.context["reason"] or "critical" in request.context["reason"]


def test_ap11_the_digest_covers_every_argument() -> None:
    one = prompt(call(), {"name": "x", "token": "a"})
    two = prompt(call(), {"name": "x", "token": "b"})
    assert one.digest != two.digest


def test_l11_the_prompt_s_question_has_the_line_that_would_run() -> None:
    asked = prompt(line("git status"), {"command": "git status\nrm -rf x"})
    assert asked.message == "Allow bash to run? git status…"
    assert asked.call.args == {"command": "git status\nrm -rf x"}, "and all of it is there"


@pytest.mark.parametrize("scope", ["stage", "run", "session", "once", "runn", "RUN", "", None, 3])
def test_l14_an_unknown_scope_narrows_to_once_and_never_widens(scope: Any) -> None:
    request = prompt(call(risk=CRITICAL))
    narrow = prompt(call(needs_approval=True))
    content = {"decision": "approved", "scope": scope}
    kept = {"stage": "stage", "run": "run", "session": "run"}
    found = reduce(request, Action.ACCEPT, content).scope
    assert found == (kept.get(scope, "once") if isinstance(scope, str) else "once")
    assert reduce(narrow, Action.ACCEPT, content).scope == "once"
