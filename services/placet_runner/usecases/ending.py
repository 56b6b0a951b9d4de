"""How a held run ends: completed, failed, or cancelled by a person at a point."""

from placet.domain.run import HUSH, RunStatus
from placet.errors import TooLarge
from placet.kernel import Cancel, Entry, Fail, Finish
from placet.kernel.journal import RunCancelled, RunCompleted, RunFailed
from placet.messages import EventType
from placet.process.crash import crash_point
from placet_runner.ports import Document, Image, Step
from placet_runner.rules.families import again_entry, end_entries, ending_entry, next_turn
from placet_runner.rules.runs import event_entry
from placet_runner.usecases.grip import Grip, Proposal
from placet_runner.usecases.inbox import still_open, unread

_STATUS: dict[type, RunStatus] = {
    Finish: RunStatus.COMPLETED,
    Fail: RunStatus.FAILED,
    Cancel: RunStatus.CANCELLED,
}


async def end(grip: Grip, how: Finish | Fail | Cancel) -> None:
    """R13: the end, unless something arrived first.

    What was held for the agent when it completes is the input of its next run.
    """
    status = _STATUS[type(how)]

    async def row(image: Image, step: Step) -> Image | None:
        return await grip.hand.runs.end(image, status, step)

    if await grip.commit(row, _last(grip, how, status), letting_go=True):
        crash_point("end.done")
        grip.done = True
        grip.hand.metrics.ended(status)


async def end_oversized(grip: Grip, error: TooLarge) -> None:
    """R13 where a write was refused for its size: without the facts of that write, if it must be.

    Raises TooLarge where not even that can be written.
    """
    how = Fail("too_large", f"the run can't be kept any more: {error}")
    try:
        await end(grip, how)
    except TooLarge:
        grip.pending, grip.outbox = [], []
        await end(grip, how)


def _last(grip: Grip, how: Finish | Fail | Cancel, status: RunStatus) -> Proposal:
    """What the last write brings: the entry, what people see, and who is told."""
    document, taint = grip.image.document, grip.state.taint
    held = [message for message in unread(grip) if message.mode != HUSH]
    entry, text, fields = _entry(how)
    data: Document = {"applied": list(grip.state.applied)}
    data |= {name: value for name, value in fields.items() if name == "error"}
    if grip.state.passed:
        data["passed"] = [each.model_dump(mode="json") for each in grip.state.passed]
    sent, asks, read = list[Document](), list[Document](), list[str]()
    if status is RunStatus.COMPLETED:
        asks = [next_turn(document, held)] if held else []
        sent = [again_entry(document, entry) for entry in asks]
        read = [message.id for message in unread(grip)]
    else:
        data["undelivered"] = [message.id for message in held]
        sent = [ending_entry(document, entry) for entry in still_open(grip)]
    if document.get("parent"):
        fields["label"] = taint.value  # for the parent, should it have to be told again
    sent += end_entries(document, status, text, taint)
    kind = EventType(f"run.{status}")
    sent.append(event_entry(document, kind, number=0, at=grip.hand.clock.now(), **data))
    return Proposal([entry], asks=asks, sent=sent, fields=fields, read=read)


def _entry(how: Finish | Fail | Cancel) -> tuple[Entry, str, Document]:
    """The last entry, the last words, and the fields of the document that say so."""
    match how:
        case Finish(text):
            return RunCompleted(text=text), text, {"text": text}
        case Fail(code, text):
            fields = {"error": {"code": code, "message": text}}
            return RunFailed(code=code, message=text), text, fields
        case Cancel(by):
            return RunCancelled(by=by), "", {}
