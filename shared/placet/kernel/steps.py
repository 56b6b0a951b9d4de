"""What a run can do next, and what has to be known of its tools to say so."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from placet.domain.audience import AnswerPolicy
from placet.domain.consent import ConsentRules, enough
from placet.domain.label import Label
from placet.domain.risk import ToolRisk
from placet.gate.names import same_tool
from placet.kernel.call import CallState
from placet.kernel.journal import Entry
from placet.kernel.staging import Present
from placet.kernel.turns import CallResult


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What `decide` needs to know about a tool that exists now."""

    schema_digest: str
    retry: Literal["safe", "ask"] = "ask"
    denied_by: str | None = None
    """The layer of the policy that denies it now, whatever was said before."""
    label: Label = Label.PUBLIC
    """Of what it returns."""
    delegates: bool = False
    """Whether its calls are done by other runs."""
    consent: tuple[ConsentRules, ...] = ()
    """Whom this definition, and those of the runs above, ask about its calls now."""

    def asks_more_than(self, asked: AnswerPolicy, tool: str, risk: ToolRisk) -> bool:
        """Whether a yes under that policy is not enough for such a call by now."""
        return not enough(asked, self.consent, same_tool(tool), risk)


@dataclass(frozen=True, slots=True)
class Judge:
    """Let the gate look at these calls."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class Act:
    """Put these questions, start these calls, close these without running them: in one write."""

    ask: tuple[CallState, ...] = ()
    review: tuple[CallState, ...] = ()
    start: tuple[CallState, ...] = ()
    close: tuple[CallResult, ...] = ()
    changed: tuple[CallState, ...] = ()
    """Their tools have changed: put the difference to a person."""
    delegate: tuple[CallState, ...] = ()
    """Have these done by child runs."""


@dataclass(frozen=True, slots=True)
class Record:
    """These facts follow from what is known: note them, and look again."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until a question is answered or a running call ends."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is complete."""

    text: str


@dataclass(frozen=True, slots=True)
class Fail:
    """The run can't go on."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """A person ended the run at a point."""

    by: str | None


@dataclass(frozen=True, slots=True)
class Ended:
    """It has ended already."""


Next: TypeAlias = Judge | Act | Record | Present | CallModel | Wait | Finish | Fail | Cancel | Ended
