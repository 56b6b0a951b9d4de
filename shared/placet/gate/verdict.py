"""What the gate says about one call, and why."""

from enum import StrEnum
from typing import Literal

from placet.domain.base import Value


class Decision(StrEnum):
    """What the gate says."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Level(StrEnum):
    """Which signal spoke. The first one that speaks decides."""

    DENY = "deny"
    ALWAYS = "always"
    """Asked before each call: nothing that was allowed earlier covers it."""
    EXPLICIT = "explicit"
    RISK = "risk"
    CLASSIFIER = "classifier"
    DEFAULT = "default"
    TAINT = "taint"
    """Allowed otherwise: the data that the run holds must not leave by this call."""


class Reason(Value):
    """Why: a stable code for programs and a sentence for people."""

    code: str
    sentence: str


class Verdict(Value):
    """What was decided about one call. An `ask` that something lifted keeps what would have asked."""

    decision: Decision
    reason: Reason
    level: Level = Level.DEFAULT
    lifted: Reason | None = None
    """An allowed call: why it would have asked."""
    grants: tuple[str, ...] = ()
    """Ids of the grants that cover it."""

    @property
    def every_time(self) -> bool:
        """Whether only this one call can be allowed: once, or deny."""
        return self.level in (Level.DENY, Level.ALWAYS)


Word = Literal["allow", "ask", "deny"]


def said(decision: Decision, level: Level, code: str, sentence: str) -> Verdict:
    """A verdict."""
    return Verdict(decision=decision, level=level, reason=Reason(code=code, sentence=sentence))
