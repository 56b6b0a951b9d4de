"""How a held run ends: completed, failed, or cancelled by a person at a point."""

from typing import Any

from placet.domain.run import RunStatus
from placet.kernel import Cancel, Entry, Fail, Finish
from placet.kernel.journal import RunCancelled, RunCompleted, RunFailed
from placet.messages import EventType
from placet.process.crash import crash_point
from placet_runner.ports import Document, Image, Step
from placet_runner.rules.families import end_entries, next_turn, stop_entry
from placet_runner.rules.runs import close_entry, event_entry, is_child
from placet_runner.usecases.grip import Grip, Proposal
from placet_runner.usecases.inbox import HUSH, still_open, unread


async def end(grip: Grip, how: Finish | Fail | Cancel) -> None:
    """R13: the end, unless something arrived first.

    What was held for the agent when it completes is the input of its next run.
    """
    held = [message for message in unread(grip) if message.mode != HUSH]
    data: dict[str, Any] = {"applied": list(grip.state.applied)}
    document, fields = grip.image.document, dict[str, Any]()
    sent, taken = list[Document](), list[str]()
    match how:
        case Finish(text):
            status, kind, fields["text"] = RunStatus.COMPLETED, EventType.RUN_COMPLETED, text
            entry: Entry = RunCompleted(text=text)
            sent, taken = next_turn(document, held), [message.id for message in unread(grip)]
        case Fail(code, text):
            status, kind = RunStatus.FAILED, EventType.RUN_FAILED
            entry = RunFailed(code=code, message=text)
            fields["error"] = {"code": code, "message": text}
            data["undelivered"] = [message.id for message in held]
        case Cancel(by):
            status, kind, text = RunStatus.CANCELLED, EventType.RUN_CANCELLED, "cancelled"
            entry = RunCancelled(by=by)
            data["undelivered"] = [message.id for message in held]
    data |= {name: value for name, value in fields.items() if name == "error"}
    if grip.state.passed:
        data["passed"] = [each.model_dump(mode="json") for each in grip.state.passed]
    if status is not RunStatus.COMPLETED:
        sent += [_closed(document, entry) for entry in still_open(grip)]
    if document.get("parent"):
        fields["label"] = grip.state.taint.value
    sent += end_entries(document, status, text, grip.state.taint)
    sent.append(event_entry(document, kind, number=0, at=grip.hand.clock.now(), **data))

    async def row(image: Image, step: Step) -> Image | None:
        return await grip.hand.runs.end(image, status, step)

    if await grip.commit(row, Proposal([entry], sent=sent, fields=fields, read=taken), letting_go=True):
        crash_point("end.done")
        grip.done = True
        grip.hand.metrics.ended(status)


def _closed(document: Document, entry: Document) -> Document:
    if is_child(entry):
        return stop_entry(document, entry)
    return close_entry(document, entry, "cancelled")
