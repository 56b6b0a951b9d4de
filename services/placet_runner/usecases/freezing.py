"""Calls that an operator keeps from starting: read at each dispatch, waited for without holding the run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from placet.domain.freeze import Freeze
from placet.errors import Unavailable
from placet.kernel import Act
from placet.kernel.call import CallState
from placet.kernel.journal import Frozen
from placet.messages import EventType
from placet.process import logs
from placet.process.backoff import waits
from placet_runner.rules.frozen import (
    covering,
    frozen_entry,
    halted,
    is_freeze,
    open_freezes,
)
from placet_runner.usecases.grip import FIRST_WAIT, LONGEST_WAIT, Grip, Proposal

_log = logs.get(__name__)

Held = Mapping[str, Sequence[Freeze]]
"""The active freezes that keep a call from starting, by the call's id; calls that may start are not in it."""


async def held_back(grip: Grip, calls: Sequence[CallState]) -> Held:
    """Which of these calls may not start, as of now: one read, none without calls.

    While the database is away it is not known, so nothing starts: this waits.
    """
    if not calls:
        return {}
    active, run = await _active(grip), grip.image.document
    found = {call.call.id: covering(active, run, call.call.tool) for call in calls}
    return {call_id: freezes for call_id, freezes in found.items() if freezes}


async def _active(grip: Grip) -> Sequence[Freeze]:
    for wait in waits(FIRST_WAIT, LONGEST_WAIT):
        try:
            return await grip.hand.freezes.active(grip.image.document["namespace"])
        except Unavailable as error:
            _log.warning("dispatch_waits", run_id=grip.image.id, reason=str(error))
            await grip.hand.clock.sleep(wait)
    raise AssertionError


def without(act: Act, held: Held) -> Act:
    """The moves that are left."""
    return replace(
        act,
        start=tuple(call for call in act.start if call.call.id not in held),
        delegate=tuple(call for call in act.delegate if call.call.id not in held),
    )


def freezing(grip: Grip, held: Held) -> Proposal:
    """What the run waits for because of these freezes, as far as it does not yet."""
    waited = {e["freeze"] for e in open_freezes(grip.image.waiting) if _stays(grip, e["id"])}
    every = {freeze.id: freeze for freezes in held.values() for freeze in freezes}
    new = [freeze for freeze in every.values() if freeze.id not in waited]
    return Proposal(
        entries=[Frozen(freeze_id=each.id, by=each.by, reason=each.reason) for each in new],
        asks=[frozen_entry(grip.image.id, each) for each in new],
    )


def overtakable(calls: Sequence[CallState]) -> list[CallState]:
    """Those of the frozen calls that a message closes: not what waits, nor what may have happened."""
    return [call for call in calls if not call.in_doubt and not call.waits]


def frozen_calls(grip: Grip) -> list[CallState]:
    """The calls that the freezes which the run waits for cover."""
    entries = [e for e in open_freezes(grip.image.waiting) if _stays(grip, e["id"])]
    return halted(entries, grip.image.document, grip.state.calls.values())


def take_lifted(grip: Grip) -> None:
    """Take in the freezes that were lifted, or that no call waits for any more, once each."""
    for entry in filter(is_freeze, grip.image.waiting):
        if not _stays(grip, entry["id"]):
            continue
        if (lifted := entry["resolution"]) is not None:
            if not grip.used_inputs:
                grip.event(EventType.RUN_RESUMED)
            grip.note(Frozen(freeze_id=entry["freeze"], by=lifted["lifted_by"] or "", lifted=True))
        elif halted([entry], grip.image.document, grip.state.calls.values()):
            continue
        grip.used_inputs.append(entry["id"])


def _stays(grip: Grip, entry_id: str) -> bool:
    """Whether the next write does not take this entry out."""
    return entry_id not in grip.used_inputs
