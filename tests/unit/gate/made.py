"""Calls, layers and grants for the tests of the gate; what does not matter is filled in."""

from datetime import UTC, datetime
from typing import Any

from placet.domain.grant import Grant
from placet.gate import Decision, Facts, Layer, Policy, Role, Standing, Verdict, gate
from placet.gate.names import exposed

NOTHING_SAID = Policy()
AT = datetime(2026, 3, 14, tzinfo=UTC)


def call(tool: str = "drop", **known: Any) -> Facts:
    """A call of an agent's own tool."""
    return Facts(tool=tool, **known)


def line(text: str, **known: Any) -> Facts:
    """A call of the shell tool."""
    return Facts(tool="bash", role=Role.SHELL, line=text, **known)


def of(source: str, raw: str, **known: Any) -> Facts:
    """A call of a discovered tool."""
    return Facts(tool=exposed(source, raw), source=source, raw=raw, **known)


def layer(**words: str) -> Layer:
    """One layer's `tool_permissions`."""
    return Layer({tool: Decision(word) for tool, word in words.items()})


def grant(tool: str = "drop", **parts: Any) -> Grant:
    """A grant for the run."""
    given = {"id": "grt_1", "scope": "run", "at": AT, "input_id": "inp_1"}
    return Grant(tool=tool, **{**given, **parts})


def judged(facts: Facts, policy: Policy = NOTHING_SAID, *grants: Grant, **trusted: str) -> Verdict:
    """The verdict, where no classifier has to be asked first."""
    verdict = gate(facts, policy, Standing(grants, trusted))
    assert verdict is not None
    return verdict


def word(facts: Facts, policy: Policy = NOTHING_SAID, *grants: Grant, **trusted: str) -> str:
    """`allow`, `ask` or `deny`."""
    return judged(facts, policy, *grants, **trusted).decision.value
