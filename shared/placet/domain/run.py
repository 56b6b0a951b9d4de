"""One turn of an agent on one input, as people and programs see it."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from placet.domain.base import DEFAULT_NAMESPACE, Value
from placet.domain.freeze import Freeze
from placet.domain.resolution import Input


class RunStatus(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def live(self) -> bool:
        """Whether it can still move."""
        return self in (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.INPUT_REQUIRED)


class WaitReason(StrEnum):
    """What a suspended run waits for."""

    TOOL_APPROVAL = "tool_approval"
    QUESTION = "question"
    TAINT_GATE = "taint_gate"
    INTERACTION_POINT = "interaction_point"
    CHILDREN = "children"
    REVIEW = "review"
    FROZEN = "frozen"


class Problem(Value):
    """Why a run failed."""

    code: str
    message: str


QUEUE, HUSH = "queue", "hush"
"""Modes of a message, besides `supersede`."""


class Message(Value):
    """What somebody says to a running agent."""

    id: str
    text: str
    sender: str | None = None
    mode: str = "supersede"
    """`supersede` closes what waits; `queue` keeps it and is read later; `hush` closes what waits and
    says nothing: a message to the root run, as a child run hears of it."""


class PassedPoint(Value):
    """A point that a run passed although nobody approved it."""

    stage: str
    point: str
    how: Literal["auto_approved", "proceeded_unanswered", "exhausted"]


class ChildRun(Value):
    """A run below another that has not ended."""

    run_id: str
    agent: str
    """The definition's name."""


class Run(Value):
    """A run as REST shows it."""

    id: str
    namespace: str = DEFAULT_NAMESPACE
    agent_id: str
    agent: str
    """The definition's name."""
    status: RunStatus
    wait_reasons: tuple[WaitReason, ...] = ()
    wait_reason: WaitReason | None = None
    inputs: tuple[Input, ...] = ()
    """What waits for a person, oldest first."""
    text: str | None = None
    """What the agent said last, once completed."""
    error: Problem | None = None
    initiator: str | None = None
    root_run_id: str = ""
    steps: int = 0
    """Model calls made so far."""
    created_at: datetime
    updated_at: datetime | None = None
    unattended: str | None = None
    """What becomes of calls that would ask while nobody is there; None while somebody is."""
    parent_run_id: str | None = None
    children: tuple[ChildRun, ...] = ()
    """The runs that it waits for."""
    frozen_by: tuple[Freeze, ...] = ()
    """The freezes that it waits for: calls of its do not start."""
    path: tuple[str, ...] = ()
    """Agent names from the root run to this one."""
    stage: str = "main"
    passed: tuple[PassedPoint, ...] = ()
    """Points that it passed although nobody approved them."""
    undelivered: tuple[Message, ...] = ()
    journal: tuple[dict[str, Any], ...] | None = None
    """Every finished step, where it was asked for."""
