"""A run and its grants as people see them."""

from collections import Counter
from collections.abc import Sequence

from placet.domain.base import DEFAULT_NAMESPACE
from placet.domain.grant import GivenGrant
from placet.domain.interaction import Kind, RequestAdapter
from placet.domain.resolution import Input
from placet.domain.run import (
    HUSH,
    ChildRun,
    Message,
    PassedPoint,
    Problem,
    Run,
    RunStatus,
    WaitReason,
)
from placet_runner.rules.frozen import freeze_of, is_freeze, open_freezes
from placet_runner.rules.runs import Document, is_child


def grants_of(history: Sequence[Document], revoked: Sequence[Document]) -> list[GivenGrant]:
    """The grants of a run as people see them, in the order in which they were given."""
    uses: Counter[str] = Counter()
    for entry in history:
        if entry["type"] == "call.judged":
            uses.update(set(entry["verdict"].get("grants", ())))
    taken = {each["id"]: each for each in revoked}
    given = [entry["grant"] for entry in history if entry["type"] == "grant.given"]
    return [
        GivenGrant(
            **grant,
            uses=uses[grant["id"]],
            revoked_at=taken.get(grant["id"], {}).get("at"),
            revoked_by=taken.get(grant["id"], {}).get("by"),
        )
        for grant in given
    ]


def run_view(
    document: Document,
    *,
    journal: Sequence[Document] | None = None,
    below: Sequence[Document] = (),
) -> Run:
    """A run as REST shows it; `below` are the live runs under it, whose questions it lists too."""
    live = RunStatus(document["status"]).live
    waiting = [entry for entry in document["waiting"] if entry["resolution"] is None]
    reasons = tuple(dict.fromkeys(map(_reason, waiting))) if live else ()
    asked = [e for each in (document, *below) for e in each["waiting"] if e["resolution"] is None]
    inputs = [_input(e) for e in asked if not is_child(e) and not is_freeze(e)] if live else []
    error, parent = document.get("error"), document.get("parent")
    return Run(
        id=document["_id"],
        namespace=document.get("namespace", DEFAULT_NAMESPACE),
        agent_id=document["agent_id"],
        agent=document["agent"],
        status=RunStatus(document["status"]),
        wait_reasons=reasons,
        wait_reason=reasons[0] if reasons else None,
        inputs=tuple(sorted(inputs, key=lambda each: each.request.requested_at)),
        text=document.get("text"),
        error=Problem(**error) if error else None,
        initiator=document.get("initiator"),
        root_run_id=document["root_run_id"],
        parent_run_id=parent["run_id"] if parent else None,
        children=tuple(_child(entry) for entry in waiting if live and is_child(entry)),
        frozen_by=tuple(map(freeze_of, open_freezes(waiting))) if live else (),
        path=tuple(document["path"]),
        unattended=document.get("heritage", {}).get("unattended"),
        stage=document.get("stage", "main"),
        passed=tuple(PassedPoint(**each) for each in document.get("passed", ())),
        steps=document.get("steps", 0),
        created_at=document["created_at"],
        updated_at=document.get("updated_at"),
        undelivered=() if live else undelivered(document),
        journal=tuple(journal) if journal is not None else None,
    )


def undelivered(document: Document) -> tuple[Message, ...]:
    """The messages that nobody read."""
    kept = [Message(**message) for message in document["inbox"]]
    return tuple(message for message in kept if message.mode != HUSH)


def _reason(entry: Document) -> WaitReason:
    if entry.get("point"):
        return WaitReason.INTERACTION_POINT
    match entry["kind"]:
        case Kind.TOOL_APPROVAL if entry.get("tainted"):
            return WaitReason.TAINT_GATE
        case Kind.TOOL_APPROVAL:
            return WaitReason.TOOL_APPROVAL
        case Kind.REVIEW:
            return WaitReason.REVIEW
        case _ if is_freeze(entry):
            return WaitReason.FROZEN
        case _ if is_child(entry):
            return WaitReason.CHILDREN
        case _:
            return WaitReason.QUESTION


def _child(entry: Document) -> ChildRun:
    return ChildRun(run_id=entry["id"], agent=entry["request"]["agent"])


def _input(entry: Document) -> Input:
    return Input(id=entry["id"], request=RequestAdapter.validate_python(entry["request"]))
