"""Messages, and questions that need no answer any more, of a run that is held."""

from typing import Any

from placet.agents.agent import Agent
from placet.agents.situation import situation
from placet.domain.run import HUSH, QUEUE, Message
from placet.kernel.closing import superseded
from placet.kernel.journal import MessageReceived, ToolFinished
from placet.kernel.turns import CallOutcome
from placet_runner.ports import Document, Image, Step
from placet_runner.rules.families import children_of, hush_entry
from placet_runner.rules.frozen import is_freeze
from placet_runner.rules.runs import (
    close_entry,
    covered_asks,
    gone_asks,
    gone_points,
    supersedable,
)
from placet_runner.usecases.freezing import frozen_calls, overtakable
from placet_runner.usecases.grip import Grip, Proposal


def unread(grip: Grip) -> list[Message]:
    """What nobody has taken in yet, in the order in which it came."""
    return [Message(**m) for m in grip.image.inbox if m["id"] not in grip.used_messages]


def deliverable(agent: Agent, grip: Grip) -> list[Message]:
    """Those of them that the stage takes; the others wait for a stage that does."""
    if not (found := unread(grip)):
        return []
    accepts = situation(agent, grip.state).stage.accepts_messages
    return [each for each in found if accepts or each.mode == HUSH or not grip.state.heard]


def overtaken(agent: Agent, grip: Grip) -> bool:
    """Whether a message is there that open questions must not keep waiting."""
    return any(message.mode != QUEUE for message in deliverable(agent, grip))


def still_open(grip: Grip) -> list[dict[str, Any]]:
    """What the run waits for that has to be told to end, as far as it was looked at: not freezes."""
    used = grip.used_inputs
    return [e for e in grip.image.open if e["id"] not in used and not is_freeze(e)]


async def read(agent: Agent, grip: Grip, *, busy: bool) -> bool:
    """Take messages in, or have what they overtake closed (R16, and below). True: look again.

    `busy`: calls run, or ask, that were started here: they are let end first.
    """
    found = deliverable(agent, grip)
    if not found or busy:
        return False
    if not grip.state.calls and not grip.state.stage.asking:
        for message in found:
            _hear(grip, message)
        return True
    if not overtaken(agent, grip):
        return False
    waiting = still_open(grip)
    if await _hush_below(grip, waiting, found):
        return True
    if questions := supersedable(waiting):
        await _supersede(grip, questions)
        return True
    if calls := overtakable(frozen_calls(grip)):
        for call in calls:
            grip.note(ToolFinished(result=superseded(call)))
            grip.hand.metrics.called(CallOutcome.SUPERSEDED)
        return True
    return _hear_hushes(grip, found)


def _hear(grip: Grip, message: Message) -> None:
    if message.mode != HUSH:
        grip.note(MessageReceived(id=message.id, text=message.text, sender=message.sender))
    grip.used_messages.append(message.id)


async def _supersede(grip: Grip, questions: list[Document]) -> None:
    if await grip.flush():
        closes = {e["id"]: close_entry(grip.image.document, e, "superseded") for e in questions}

        async def row(image: Image, step: Step) -> Image | None:
            return await grip.hand.runs.supersede(image, closes, step)

        if await grip.let_go(row):
            grip.hand.relay.post(grip.image.id, list(closes.values()))


async def _hush_below(grip: Grip, waiting: list[Document], found: list[Message]) -> bool:
    """Tell the runs below that a message came, before anything is let go: once for each message."""
    told = [
        hush_entry(grip.image.document, child, message.id)
        for message in found
        if message.mode != QUEUE and message.id not in grip.hushed
        for child in children_of(waiting)
    ]
    if told and await grip.commit(grip.hand.runs.append, Proposal(sent=told)):
        grip.hushed.update(message.id for message in found)
    return bool(told)


def _hear_hushes(grip: Grip, found: list[Message]) -> bool:
    """What only says that questions are to be closed is done with once none is left."""
    hushes = [message for message in found if message.mode == HUSH]
    for message in hushes:
        _hear(grip, message)
    return bool(hushes)


async def withdraw(agent: Agent, grip: Grip) -> bool:
    """R17: take back what need not be asked. True: look again.

    Its tool or its point is gone, or a grant covers it.
    """
    if not (waiting := still_open(grip)):
        return False
    points = {point.name for point in situation(agent, grip.state).stage.interaction_points}
    needless = {
        "tool_gone": gone_asks(waiting, agent.toolbox),
        "point_gone": gone_points(waiting, points),
        "covered": covered_asks(waiting, grip.state.calls),
    }
    closes = {
        entry["id"]: close_entry(grip.image.document, entry, "withdrawn", because)
        for because, entries in needless.items()
        for entry in entries
    }
    if not closes:
        return False

    async def row(image: Image, step: Step) -> Image | None:
        return await grip.hand.runs.withdraw(image, closes, step)

    if await grip.flush() and await grip.commit(row):
        grip.hand.relay.post(grip.image.id, list(closes.values()))
    return True
