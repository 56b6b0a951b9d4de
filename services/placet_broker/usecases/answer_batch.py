"""Several answers at once: all of them settle, or none does."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from placet.clock import Clock
from placet.errors import Conflict, FieldError, Invalid, NotAllowed, PlacetError, Unavailable
from placet_broker.ports import Interactions, Observer
from placet_broker.rules.record import Record
from placet_broker.rules.settling import Settlement
from placet_broker.rules.voting import Ballot
from placet_broker.usecases.answer_input import AnswerInput
from placet_broker.usecases.endings import Endings
from placet_broker.usecases.submission import (
    Answered,
    Checks,
    Said,
    Submission,
    fits_what_stands,
    settled_otherwise,
)
from placet_broker.usecases.tries import TRIES


@dataclass(frozen=True, slots=True)
class _Part:
    """One answer of a batch, checked, and the interaction as it was last read."""

    pointer: str
    record: Record
    submission: Submission
    said: Said


_Step = tuple[Record, Settlement | Ballot]
"""What is written to the interaction as it was read."""


class AnswerBatch:
    """B10: one transaction of answers. A part that has settled in the same way counts as done."""

    def __init__(
        self,
        interactions: Interactions,
        clock: Clock,
        metrics: Observer,
        checks: Checks,
        endings: Endings,
        one: AnswerInput,
    ) -> None:
        self._interactions = interactions
        self._clock = clock
        self._metrics = metrics
        self._checks = checks
        self._endings = endings
        self._one = one

    async def all_or_none(self, submissions: Sequence[Submission]) -> list[Answered]:
        """Settle every one of them, durably, or nothing at all; in the order given.

        Raises, in this order of checks:
            NotFound, NotAllowed: for one of them; it is named.
            Invalid: some do not fit, or one input is answered twice; `errors` point into the batch,
                such as `/answers/1/content/name`.
            TooLarge: no message could hold one of the outcomes.
            Conflict: some were shown otherwise or have settled otherwise; `body["conflicts"]` lists
                which, each with its `pointer` and `input`.
            Unavailable: nothing is certain; the same batch may be sent again.
        """
        try:
            answered = await self._settle(await self._checked(submissions))
        except PlacetError as error:
            for submission in submissions:
                self._metrics.answered(submission.channel, error.code)
            raise
        for submission, each in zip(submissions, answered, strict=True):
            self._metrics.answered(submission.channel, "settled" if each.settled_now else "same")
        return answered

    async def each(self, submissions: Sequence[Submission]) -> list[Answered | PlacetError]:
        """Settle each on its own; what it came to, or why it was refused, in the order given."""
        _check_distinct(submissions)
        results = await asyncio.gather(
            *(self._one(submission) for submission in submissions), return_exceptions=True
        )
        return [_expected(result) for result in results]

    async def _checked(self, submissions: Sequence[Submission]) -> list[_Part]:
        _check_distinct(submissions)
        found = await asyncio.gather(
            *(self._checks.find(each.input_id, each.agent) for each in submissions),
            return_exceptions=True,
        )
        parts: list[_Part] = []
        errors: list[FieldError] = []
        conflicts: list[tuple[str, Conflict]] = []
        for number, (record, submission) in enumerate(zip(found, submissions, strict=True)):
            if isinstance(record, BaseException):
                raise record
            pointer = f"/answers/{number}"
            try:
                parts.append(await self._part(pointer, record, submission))
            except Invalid as error:
                errors += error.errors
            except Conflict as error:
                conflicts.append((pointer, error))
        if errors:
            raise Invalid(f"nothing was answered: {errors[0].pointer}: {errors[0].detail}", errors)
        if conflicts:
            raise _conflict(conflicts)
        return parts

    async def _part(self, pointer: str, record: Record, submission: Submission) -> _Part:
        at = pointer
        try:
            who = await self._checks.who(record, submission.caller, submission.named)
            at = f"{pointer}/content"
            said = await self._checks.said(record, submission, who)
            return _Part(pointer, record, submission, said)
        except NotAllowed as error:
            raise NotAllowed(f"{record.id}: {error}", code=error.reason) from error
        except Invalid as error:
            raise Invalid(str(error), list(_placed(at, error))) from error

    async def _settle(self, parts: list[_Part]) -> list[Answered]:
        for _ in range(TRIES):
            late = [each for each in parts if not _may_stand(each)]
            if late:
                raise _conflict([(each.pointer, settled_otherwise(each.record)) for each in late])
            steps = await self._steps(parts)
            images = await self._interactions.settle_all(steps)
            if None not in images:
                return self._answered(parts, steps, images)
            missed = {
                record.id for (record, _), image in zip(steps, images, strict=True) if image is None
            }
            parts = [await self._again(part, missed) for part in parts]
        raise Unavailable("these inputs change all the time; try again")

    async def _steps(self, parts: Sequence[_Part]) -> list[_Step]:
        """What each part that changes something writes."""
        now = self._clock.now()
        steps = [
            (part.record, await self._checks.decide(part.record, part.said, now))
            for part in parts
            if part.record.pending
        ]
        return [(record, step) for record, step in steps if step is not None]

    async def _again(self, part: _Part, missed: set[str]) -> _Part:
        """The part as it is now, checked again. Raises as the checks do."""
        if part.record.id not in missed:
            return part
        current = await self._endings.after_miss(part.record)
        return await self._part(part.pointer, current, part.submission)

    def _answered(
        self, parts: Sequence[_Part], steps: Sequence[_Step], images: Sequence[Record | None]
    ) -> list[Answered]:
        written = {image.id: image for image in images if image is not None}
        for record, step in steps:
            # Not by the image: it may tell of somebody else's later write.
            if isinstance(step, Settlement):
                self._endings.settled(written[record.id])
        return [
            Answered(written.get(each.record.id, each.record), each.record.id in written)
            for each in parts
        ]


def _may_stand(part: _Part) -> bool:
    return part.record.pending or fits_what_stands(part.record, part.said)


def _check_distinct(submissions: Sequence[Submission]) -> None:
    counted = Counter(each.input_id for each in submissions)
    errors = [
        FieldError(f"/answers/{number}/id", f"{each.input_id} is answered twice")
        for number, each in enumerate(submissions)
        if counted[each.input_id] > 1
    ]
    if errors:
        raise Invalid("a batch answers each input once", errors)


def _placed(pointer: str, error: Invalid) -> Iterator[FieldError]:
    """The field errors of one answer, as pointers into the batch."""
    for each in error.errors or [FieldError("", str(error))]:
        yield FieldError(pointer + each.pointer, each.detail)


def _conflict(found: Sequence[tuple[str, Conflict]]) -> Conflict:
    first = found[0][1]
    listed = [{"pointer": pointer, "detail": str(each), **each.body} for pointer, each in found]
    which = ", ".join(pointer for pointer, _ in found)
    return Conflict(
        f"nothing was answered, because of {which}: {first}",
        code=first.reason,
        body={**first.body, "conflicts": listed},
    )


def _expected(result: Answered | BaseException) -> Answered | PlacetError:
    if isinstance(result, BaseException) and not isinstance(result, PlacetError):
        raise result
    return result
