"""What a run has from the runs above it, and from whoever started it."""

import operator
from typing import Literal

from pydantic import Field

from placet.domain.base import JsonObject, Value
from placet.domain.consent import NO_RULES, ConsentRule, ConsentRules
from placet.domain.label import Label
from placet.domain.risk import ToolRisk
from placet.domain.run import Message, RunStatus

UnattendedApproval = Literal["deny", "ask", "allow"]


class Bound(Value):
    """What a run says of tools, as it holds for every run below it."""

    denies: tuple[str, ...] = ()
    always_ask: tuple[str, ...] = ()
    threshold: ToolRisk = ToolRisk.HIGH
    taint: bool = Field(default=False, exclude_if=operator.not_)
    """Whether outbound calls are held back that would carry data above their clearance."""
    approvers: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """Whom its definition names for all that it asks; `consent` says it of newer runs, and more."""
    consent: ConsentRules = Field(default=NO_RULES, exclude_if=lambda rules: rules == NO_RULES)
    """Whom its definition asks about which call."""

    @property
    def rules(self) -> ConsentRules:
        """Whom it asks about which call, whichever version wrote it."""
        if not self.approvers:
            return self.consent
        return ConsentRules(general=ConsentRule(approvers=self.approvers))


class Heritage(Value):
    """What a run can't choose for itself; the same for the whole of its life."""

    unattended: UnattendedApproval | None = None
    """Nobody is there: what becomes of an ask; None while somebody is."""
    bounds: tuple[Bound, ...] = ()
    """Of every run above, the nearest last."""
    refused: tuple[JsonObject, ...] = ()
    """Calls that a person refused to a run above: `key`, and the `result` that the same call gets."""
    taint: Label = Label.PUBLIC
    """The highest label of what the run above had been told when it delegated."""
    spoke: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """Who had told the runs above something when they delegated."""

    @property
    def consent(self) -> tuple[ConsentRules, ...]:
        """Whom the runs above ask about which call, the nearest last."""
        return tuple(bound.rules for bound in self.bounds)


NO_HERITAGE = Heritage()


class Birth(Value):
    """What a run is made from, where a run starts it: a child for a call, or its agent's next turn."""

    agent: str
    agent_id: str
    messages: tuple[Message, ...]
    """Its input; what was held for the agent, for a next turn."""
    initiator: str | None = None
    after_run_id: str | None = None
    """The run of the same agent before it."""
    parent_run_id: str | None = None
    call_id: str = ""
    """The parent's call that waits for it."""
    root_run_id: str = ""
    root_agent_id: str = ""
    path: tuple[str, ...] = ()
    """Agent names from the root run to this one."""
    heritage: Heritage = NO_HERITAGE


LONGEST_WORDS = 32_768
"""Characters of what a child run said last that its parent hears."""
CUT = f"\n[The rest is left out: only the first {LONGEST_WORDS:,} characters are passed on.]"


def last_words(text: str) -> str:
    """What a child run said last, as its parent hears it: a run may wait for many of them."""
    return text if len(text) <= LONGEST_WORDS else text[:LONGEST_WORDS] + CUT


class ChildEnd(Value):
    """How a child run ended, as its parent hears it."""

    run_id: str
    status: RunStatus
    text: str = ""
    """What it said last, or why it failed."""
    label: Label = Label.PUBLIC
    """The highest label of what it had been told."""
