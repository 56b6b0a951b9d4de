"""A person or a service answers: the one way in for REST, the bus, the page and every channel."""

import contextlib
from datetime import timedelta

from placet.clock import Clock
from placet.errors import NotFound, PlacetError
from placet.process.caller import Caller
from placet.process.crash import crash_point
from placet_broker.ports import Interactions, Observer
from placet_broker.rules.record import Record
from placet_broker.rules.settling import Settlement
from placet_broker.rules.voting import Ballot
from placet_broker.usecases.endings import Endings
from placet_broker.usecases.submission import (
    Ahead,
    Answered,
    Checks,
    Submission,
    fits_what_stands,
    settled_otherwise,
    takes_secrets,
)
from placet_broker.usecases.tries import TRIES, busy

MARGIN = timedelta(seconds=0.5)
"""More than the clocks of two brokers differ by."""


class AnswerInput:
    """B3 and B4: the first valid answer settles, or the last yes of several; another learns how it ended."""

    def __init__(
        self,
        interactions: Interactions,
        clock: Clock,
        metrics: Observer,
        checks: Checks,
        endings: Endings,
    ) -> None:
        self._interactions = interactions
        self._clock = clock
        self._metrics = metrics
        self._checks = checks
        self._endings = endings

    async def __call__(self, submission: Submission) -> Answered:
        """Settle, durably.

        Raises, in this order of checks:
            NotFound: there is none, or none that the caller may know of.
            NotAllowed: the caller may not answer it; the try is kept with the interaction.
            Invalid: the content does not fit; it stays pending.
            TooLarge: no message could hold the outcome; it stays pending.
            Conflict: `shown_differs`, or `settled` another way; `body["input"]` is the input.
            Unavailable: nothing is certain; the same answer may be sent again.
        """
        try:
            answered = await self._answer(submission)
        except PlacetError as error:
            self._metrics.answered(submission.channel, error.code)
            raise
        self._metrics.answered(submission.channel, "settled" if answered.settled_now else "same")
        return answered

    async def ahead(self, input_id: str) -> Ahead:
        """For `Submission.ahead`, to be read while the credential is looked up."""
        began = self._clock.now()
        record = await self._interactions.get(input_id)
        return Ahead(record, record is not None and record.changed_at < began - MARGIN)

    async def asked(self, input_id: str, caller: Caller) -> Record:
        """What the caller is about to answer; a try of somebody who may not know of it is kept.

        Raises NotFound.
        """
        return await self._checks.known(await self._checks.find(input_id), caller)

    async def turned_away(self, input_id: str, who: str, why: str) -> None:
        """Keep a try of somebody who is no caller at all; nothing where there is no such input."""
        with contextlib.suppress(NotFound):
            await self._checks.keep_refused(await self._checks.find(input_id), who, why)

    async def takes_secrets(self, input_id: str) -> bool:
        """Whether an answer to this input may hold what no queue may keep; False where there is none."""
        try:
            return takes_secrets((await self._checks.find(input_id)).request())
        except NotFound:
            return False

    async def _answer(self, submission: Submission) -> Answered:
        sent, known = submission, submission.ahead.known
        record = await self._checks.find(sent.input_id, sent.agent, sent.ahead.record)
        for _ in range(TRIES):
            who = await self._checks.who(record, sent.caller, sent.named, known)
            said = await self._checks.said(record, sent, who)
            if not record.pending:
                if not fits_what_stands(record, said):
                    raise settled_otherwise(record)
                return Answered(record, settled_now=False)
            step = await self._checks.decide(record, said, self._clock.now())
            if step is None:
                return Answered(record, settled_now=False)
            written = await self._write(record, step)
            if written is not None:
                return Answered(written, settled_now=True)
            # Whatever came between, all is checked again: who may answer, and what was shown.
            record, known = await self._endings.after_miss(record), None
        raise busy(record.id)

    async def _write(self, record: Record, step: Settlement | Ballot) -> Record | None:
        if isinstance(step, Ballot):
            voted = await self._interactions.vote(record, step)
            if voted is not None:
                crash_point("vote.done")
            return voted
        settled = await self._interactions.settle(record, step)
        if settled is not None:
            self._endings.settled(settled)
        return settled
