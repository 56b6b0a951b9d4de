"""One-time links: one question and one answer to it, for one person who still has to show who they are."""

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from placet.clock import Clock
from placet.domain.answer import Action
from placet.domain.person import Person
from placet.errors import FieldError, Invalid, NotAllowed
from placet.ids import new_id
from placet.process.caller import Caller, Scope
from placet.process.idempotency import Once
from placet_broker.ports import Interactions, Outbox
from placet_broker.rules import answering, linking, outgoing
from placet_broker.rules.record import Link, Record
from placet_broker.usecases.answer_input import AnswerInput
from placet_broker.usecases.submission import Answered, Checks, Submission, settled_otherwise
from placet_broker.usecases.tries import TRIES, busy

CHANNEL = "link"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a link is to be for."""

    person: str
    action: Action
    content: Any
    life: timedelta
    once: Once | None = None
    """What makes it one, however often it is asked for."""


class LinkInput:
    """Makes links, shows what they are for, and answers by them. A link names a person and proves none."""

    def __init__(
        self,
        interactions: Interactions,
        outbox: Outbox,
        clock: Clock,
        checks: Checks,
        answer: AnswerInput,
    ) -> None:
        self._interactions = interactions
        self._outbox = outbox
        self._clock = clock
        self._checks = checks
        self._answer = answer

    async def create(
        self, input_id: str, caller: Caller, wanted: Wanted
    ) -> tuple[str | None, Link]:
        """A token, shown this once, and its link, of which only a hash is kept.

        No token where `once` says that the link was made before, whatever became of the input since.

        Raises:
            NotFound, NotAllowed: without `answer:as`, or for somebody who may not answer it so.
            Invalid: the content does not fit, too many links, or a life beyond 30 days.
            Conflict: it has settled, or another was made under that key.
        """
        caller.need(Scope.ANSWER_AS)
        record = await self._checks.find(input_id)
        if before := _made_before(record, wanted.once):
            return None, before
        await self._check_fits(record, caller, wanted)
        token = linking.token(record.id, secrets.token_urlsafe(32))
        made = self._made(record, wanted, token)
        for _ in range(TRIES):
            if not record.pending:
                raise settled_otherwise(record)
            links = (*record.links, made)
            if len(links) > linking.MOST_LINKS:
                detail = f"an input has at most {linking.MOST_LINKS} links"
                raise Invalid(detail, [FieldError("", detail)])
            if await self._interactions.relink(record, links, "linked", caller.id, made.id):
                return token, made
            record = await self._checks.find(input_id)
            if before := _made_before(record, wanted.once):
                return None, before
        raise busy(input_id)

    def _made(self, record: Record, wanted: Wanted, token: str) -> Link:
        return Link(
            id=wanted.once.named("lnk") if wanted.once else new_id("lnk"),
            hash=linking.hashed(token),
            person=wanted.person,
            action=wanted.action,
            content=wanted.content,
            digest=record.shown_digest,
            until=self._clock.now() + wanted.life,
            once=wanted.once.digest if wanted.once else None,
        )

    async def shown(self, token: str) -> tuple[Record, Link]:
        """What a link is for; looking changes nothing. Raises NotFound."""
        record = await self._interactions.get(linking.input_of(token))
        if record is None or not record.request_json:
            raise linking.unknown()
        return record, linking.found(record, token)

    async def want_code(self, token: str) -> None:
        """Have a code sent to the person: whoever made the link hears of it, and sends one.

        Raises NotFound; Conflict for a link that decides nothing any more.
        """
        record, link = await self.shown(token)
        now = self._clock.now()
        linking.check_alive(record, link, now)
        await self._outbox.publish(outgoing.code_wanted(record, link, now))

    async def code(self, input_id: str, link_id: str, caller: Caller) -> str:
        """A new code of a link, for whoever sends it to the person; an earlier one is worth nothing.

        Raises NotFound, NotAllowed without `answer:as` or for whoever could not make such a link now,
        Conflict for a dead link.
        """
        caller.need(Scope.ANSWER_AS)
        code = f"{secrets.randbelow(10**8):08}"
        for _ in range(TRIES):
            record = await self._checks.find(input_id)
            await self._checks.known(record, caller)
            link, now = linking.named(record, link_id), self._clock.now()
            linking.check_alive(record, link, now)
            await self._checks.who(record, caller, Person(id=link.person))
            record.check_room(caller.id)
            made = replace(
                link,
                code_hash=linking.hashed(f"{link.id} {code}"),
                code_until=now + linking.CODE_LIFE,
            )
            links = linking.changed(record.links, made)
            if await self._interactions.relink(record, links, "code made", caller.id, link.id):
                return code
        raise busy(input_id)

    async def by_code(self, token: str, code: str) -> Answered:
        """Answer as the person that the link names, who shows the code that was sent to them.

        Raises NotFound; NotAllowed for a wrong code, which is counted; Conflict for a dead link, and as
        every answer does.
        """
        for _ in range(TRIES):
            record, link = await self.shown(token)
            now = self._clock.now()
            linking.check_alive(record, link, now)
            try:
                linking.check_code(link, code, now)
            except NotAllowed:
                worse = linking.changed(record.links, replace(link, tries=link.tries + 1))
                if await self._interactions.relink(record, worse, "wrong code", None, link.id):
                    raise
                continue
            known = Caller(
                record.namespace,
                link.person,
                frozenset({Scope.INPUTS_ANSWER}),
                answering.LINKED + link.id,
            )
            return await self._answered(record, link, known)
        raise busy(record.id)

    async def by_session(self, token: str, caller: Caller) -> Answered:
        """Answer as whoever is logged in, if the link names them. Raises as `by_code`."""
        record, link = await self.shown(token)
        linking.check_alive(record, link, self._clock.now())
        if not await self._is_for(record, link, caller):
            await self._checks.keep_refused(record, caller, f"the link is for {link.person}")
            raise NotAllowed(f"this link is for {link.person}, and {caller.id} is logged in")
        return await self._answered(record, link, caller)

    async def _is_for(self, record: Record, link: Link, caller: Caller) -> bool:
        """Whether the link names the caller, by id or by a channel identity that is linked to them."""
        if caller.namespace != record.namespace:
            return False
        people = self._checks.people
        return caller.id == link.person or await people.is_same(
            record.namespace, link.person, caller.id
        )

    async def _answered(self, record: Record, link: Link, caller: Caller) -> Answered:
        answer = Submission(
            input_id=record.id,
            caller=caller,
            channel=CHANNEL,
            action=link.action,
            content=link.content,
            digest=link.digest,
            link=link.id,
        )
        return await self._answer(answer)

    async def _check_fits(self, record: Record, caller: Caller, wanted: Wanted) -> None:
        if not timedelta(0) < wanted.life <= linking.LONGEST_LIFE:
            detail = "a link is good for at most 30 days"
            raise Invalid(detail, [FieldError("/seconds", "too long")])
        named = Person(id=wanted.person)
        trial = Submission(
            record.id, caller, CHANNEL, wanted.action, wanted.content, named, record.shown_digest
        )
        who = await self._checks.who(record, caller, named)
        if not record.pending:
            raise settled_otherwise(record)
        await self._checks.said(record, trial, who)


def _made_before(record: Record, once: Once | None) -> Link | None:
    """The link that this very request made before. Raises Conflict if another had made it."""
    for link in record.links:
        if once is not None and link.id == once.named("lnk"):
            once.check(link.once)
            return link
    return None
