"""What an attack on the gate found, as far as the gate alone shows it."""

from datetime import UTC, datetime

import pytest

from placet.domain.grant import Grant
from placet.domain.label import Label
from placet.domain.risk import ToolRisk
from placet.gate import (
    AllowList,
    Decision,
    Facts,
    Layer,
    Policy,
    Source,
    SourcePolicy,
    Standing,
    gate,
)

pytestmark = pytest.mark.unit

AT = datetime(2026, 1, 1, tzinfo=UTC)
STRICT = Layer(threshold=ToolRisk.SAFE)
ALLOWS = Layer(tools={"gh__delete": Decision.ALLOW, "pay": Decision.ALLOW})


def decided(facts: Facts, policy: Policy, *grants: Grant) -> Decision:
    verdict = gate(facts, policy, Standing(grants))
    assert verdict is not None
    return verdict.decision


@pytest.mark.parametrize(
    "policy",
    [
        Policy(operator=STRICT, agent=ALLOWS),
        Policy(operator=STRICT, allowed=AllowList.of(["*"])),
        Policy(operator=STRICT, allowed=AllowList.of(["pay"])),
        Policy(ancestors=(STRICT,), agent=ALLOWS),
    ],
)
def test_a_definition_lifts_no_threshold_of_the_operator_or_of_an_ancestor(policy: Policy) -> None:
    assert decided(Facts(tool="pay", risk=ToolRisk.HIGH), policy) is Decision.ASK


def test_the_operator_s_own_allow_lifts_the_operator_s_threshold() -> None:
    operator = Layer(tools={"pay": Decision.ALLOW}, threshold=ToolRisk.SAFE)
    assert decided(Facts(tool="pay"), Policy(operator=operator)) is Decision.ALLOW


def test_a_definition_lifts_no_rule_of_the_operator_for_a_source() -> None:
    rule = {"gh": Source(SourcePolicy.UNLESS_READ_ONLY)}
    policy = Policy(agent=ALLOWS, sources=rule, operator_sources=rule)
    facts = Facts(tool="gh__delete", source="gh", raw="delete", destructive=True)
    assert decided(facts, policy) is Decision.ASK


def test_a_clearance_for_exactly_one_call_clears_no_other() -> None:
    clearance = Grant(
        id="g", tool="send", clearance=Label.PRIVATE, exact="sha256:this", scope="run", at=AT,
        input_id="i",
    )  # fmt: skip
    policy = Policy(taint=True)
    facts = Facts(tool="send", outbound=True, taint=Label.PRIVATE, digest="sha256:this")
    other = facts.model_copy(update={"digest": "sha256:other"})
    assert decided(facts, policy, clearance) is Decision.ALLOW
    assert decided(other, policy, clearance) is Decision.ASK
