"""Who may answer a question, how many of them it takes, and what time does about it."""

import operator
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from placet.domain.base import Value
from placet.domain.naming import Name, checked_name

MOST_NAMES = 100
"""Names that one audience may hold."""
MOST_STEPS = 10
LONGEST = 2_592_000
"""Seconds: nothing is waited for longer than 30 days."""

Label = Annotated[str, Field(min_length=1, max_length=60), AfterValidator(checked_name)]
"""A word to find a question by, such as `billing`."""
Names = Annotated[tuple[Name, ...], Field(max_length=MOST_NAMES)]
Seconds = Annotated[int, Field(ge=1, le=LONGEST, strict=True)]


class Priority(StrEnum):
    """How urgent an answer is; a list can be narrowed to one."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"

    def raised_to(self, other: "Priority | None") -> "Priority":
        """The more urgent of the two: time never makes a question less urgent."""
        words = list(Priority)
        return self if other is None else max(self, other, key=words.index)


class Audience(Value):
    """Who may answer: the initiator and the approvers named; nobody named means whoever may answer inputs."""

    initiator: str | None = None
    approvers: tuple[str, ...] = ()
    """People by id, `group:NAME`, `service:NAME`, `slack:ID`, `telegram:ID`, `discord:ID`."""
    spoke: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """Others whose words the run goes by, such as who started it before the initiator told it
    something. It lets nobody answer; under four eyes they can't approve either."""

    @property
    def authors(self) -> tuple[str, ...]:
        """Whose wish it is that is put to others under four eyes, the initiator first."""
        initiator = () if self.initiator is None else (self.initiator,)
        return tuple(dict.fromkeys((*initiator, *self.spoke)))

    @property
    def names_somebody(self) -> bool:
        """Whether an answer must say who answers."""
        return self.initiator is not None or bool(self.approvers)

    @property
    def named(self) -> tuple[str, ...]:
        """Everybody named, the initiator first, each once."""
        initiator = () if self.initiator is None else (self.initiator,)
        return tuple(dict.fromkeys((*initiator, *self.approvers)))

    def admits(self, names: Collection[str]) -> bool:
        """Whether somebody who goes by these names is named."""
        return any(name in names for name in self.named)

    def with_approvers(self, added: Iterable[str], removed: Collection[str] = ()) -> Self:
        """The same with others named besides, and some not any more."""
        kept = (name for name in (*self.approvers, *added) if name not in removed)
        return self.model_copy(update={"approvers": tuple(dict.fromkeys(kept))})


class EscalationStep(Value):
    """What becomes of a question that has waited: more people, more urgent, told again, or no answer."""

    after_seconds: Seconds | None = None
    """Since it was asked. None: when its deadline passes, which needs `on_expiry` `escalate`."""
    add: Names = ()
    """Who may answer from then on besides."""
    priority: Priority | None = None
    """Raised to this; never lowered."""
    notify: Names = ()
    """Who is told, besides those who may answer."""
    deny: bool = Field(default=False, strict=True)
    """It ends unanswered: nobody's yes and nobody's no."""

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if not (self.add or self.priority or self.notify or self.deny):
            msg = "an escalation step adds people, raises the priority, notifies, or denies"
            raise ValueError(msg)
        return self


class AnswerPolicy(Value):
    """How many must say yes, who can't, and what happens while nobody answers."""

    quorum: int = Field(default=1, ge=1, le=20, strict=True)
    """Distinct people whose yes it takes; one no settles."""
    exclude_initiator: bool = Field(default=False, strict=True)
    """Four eyes: whoever asked for the work, or told it something, can't approve it, but may refuse it."""
    reminders: Annotated[tuple[Seconds, ...], Field(max_length=MOST_STEPS)] = Field(
        default=(), exclude_if=operator.not_
    )
    """Seconds after it was asked."""
    escalation: Annotated[tuple[EscalationStep, ...], Field(max_length=MOST_STEPS)] = Field(
        default=(), exclude_if=operator.not_
    )
    """What happens, in this order."""

    @field_validator("reminders")
    @classmethod
    def _in_order(cls, given: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(given)))

    @field_validator("escalation")
    @classmethod
    def _climbing(cls, steps: tuple[EscalationStep, ...]) -> tuple[EscalationStep, ...]:
        times = [step.after_seconds for step in steps if step.after_seconds is not None]
        if times != sorted(times):
            msg = "escalation steps stand in the order of their times"
            raise ValueError(msg)
        return steps

    @property
    def strict(self) -> bool:
        """Whether it matters which person it is: not every credential can then approve."""
        return self.quorum > 1 or self.exclude_initiator

    @property
    def added(self) -> tuple[str, ...]:
        """Everybody whom a step may add."""
        return tuple(dict.fromkeys(name for step in self.escalation for name in step.add))

    def satisfied_by(self, other: "AnswerPolicy") -> bool:
        """Whether people who approved under `other` are enough for this one."""
        eyes = other.exclude_initiator or not self.exclude_initiator
        return self.quorum <= other.quorum and eyes

    def stricter_by(self, other: "AnswerPolicy") -> "AnswerPolicy":
        """The stricter of both about who approves; its own times."""
        return self.model_copy(
            update={
                "quorum": max(self.quorum, other.quorum),
                "exclude_initiator": self.exclude_initiator or other.exclude_initiator,
            }
        )


ONE_YES = AnswerPolicy()
"""Whoever may answer says yes, once."""
