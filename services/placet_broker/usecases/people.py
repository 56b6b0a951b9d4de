"""Who somebody is, as far as an answer depends on it: looked up only where it does."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from placet.domain.person import Person
from placet.domain.standing import Standing, alone
from placet.errors import NotAllowed, PlacetError
from placet.process.caller import Caller
from placet_broker.rules import answering, voting
from placet_broker.rules.answering import Answerer
from placet_broker.rules.record import Record, Vote


class Directory(Protocol):
    """The people of each namespace: their channels, their groups, and who stands in for whom."""

    async def standing(
        self, namespace: str, id: str, claimed_groups: Collection[str] = ()
    ) -> Standing:
        """Who goes by this id now; of somebody unknown, nothing but the id. Raises Unavailable."""

    async def members(self, namespace: str, names: Iterable[str]) -> frozenset[str] | None:
        """The people that these names come to; None where that can't be known."""


@dataclass(frozen=True, slots=True)
class Known:
    """Who somebody is, as it was read a moment ago."""

    namespace: str
    id: str
    standing: Standing


class People:
    """Decides who answers as whom, by the directory as it is at that moment."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def answerer(
        self, record: Record, caller: Caller, named: Person | None, known: Known | None = None
    ) -> Answerer:
        """Who answers, in whose place; `known` is used if it is about them.

        Raises:
            NotFound: the caller can neither read nor answer it.
            NotAllowed: the caller may not answer it, or not as `named`.
            Invalid: as `answering.claimed_id`.
        """
        if record.namespace != caller.namespace or not record.request_json:
            raise answering.unknown(record.id)
        try:
            return await self._answerer(record, caller, named, known)
        except NotAllowed as error:
            if await self.may_know(record, caller):
                raise
            raise answering.unknown(record.id) from error

    async def may_know(self, record: Record, caller: Caller) -> bool:
        """Whether the caller may see it: because it may read, or because it could answer."""
        if answering.may_read(record, caller):
            return True
        own = record.namespace == caller.namespace and bool(record.request_json)
        return own and await self._could(record, caller)

    async def is_same(self, namespace: str, id: str, person: str) -> bool:
        """Whether this id is that person: by name, or as a channel identity that is linked to them."""
        return (await self._directory.standing(namespace, id)).id == person

    async def check_may_approve(self, record: Record, answerer: Answerer) -> None:
        """Whether their yes counts under a quorum or four eyes. Raises NotAllowed."""
        if record.policy.strict:
            answering.check_may_approve(record, answerer, await self._authors(record))

    async def standing_votes(self, record: Record) -> tuple[Vote, ...]:
        """Those of its votes that still count: groups, links and delegations are read now.

        Each sits where its voter sits by now; of two that have come to one seat the later stands.
        """
        if not record.votes:
            return ()
        authors = await self._authors(record)
        standing: tuple[Vote, ...] = ()
        for vote in record.votes:
            seat = await self._seat_now(record, vote, authors)
            if seat is not None:
                standing = voting.with_vote(standing, replace(vote, seat=seat))
        return standing

    async def _seat_now(self, record: Record, vote: Vote, authors: list[Standing]) -> str | None:
        try:
            voter = await self._of(record, vote.by)
        except NotAllowed:
            return None  # disabled meanwhile
        return answering.seat_now(record, voter, authors)

    async def barred(self, record: Record, caller: Caller) -> tuple[str, str]:
        """Why the caller can't answer it at all, and why not with a yes; empty where they may."""
        try:
            who = await self.answerer(record, caller, None)
        except PlacetError as error:
            return str(error), str(error)
        try:
            await self.check_may_approve(record, who)
        except NotAllowed as error:
            return "", str(error)
        return "", ""

    async def names_of(self, caller: Caller) -> frozenset[str]:
        """Everything under which the caller, or somebody whose delegate they are, may be named."""
        who = await self._directory.standing(caller.namespace, caller.id, caller.claimed_groups)
        return frozenset().union(*(seat.names for seat in who.seats()))

    async def can_be_met(self, record: Record) -> bool:
        """Whether enough people may say yes for its policy, as far as that can be known."""
        policy, audience = record.policy, record.audience
        if not audience.names_somebody:
            return True
        names = {*audience.named, *policy.added} - {record.publisher}  # who asks answers nothing
        groups = any(name.startswith("group:") for name in audience.approvers)
        if not (policy.strict or groups):
            return bool(names)
        if not policy.strict and any(":" in n and not n.startswith("group:") for n in names):
            return True
        people = await self._directory.members(record.namespace, names)
        if people is None:
            return True
        people -= {record.publisher}
        if policy.exclude_initiator:
            people -= {author.id for author in await self._authors(record)}
        return len(people) >= policy.quorum

    async def _could(self, record: Record, caller: Caller) -> bool:
        """Whether the caller can answer it at all, as whomever."""
        if answering.for_others(caller):
            return answering.lacking(record, caller) is None
        try:
            await self._answerer(record, caller, None)
        except NotAllowed:
            return False
        return True

    async def _answerer(
        self, record: Record, caller: Caller, named: Person | None, known: Known | None = None
    ) -> Answerer:
        if (lacks := answering.lacking(record, caller)) is not None:
            raise NotAllowed(lacks)
        id = answering.claimed_id(record, caller, named)
        plain = answering.is_plain(record, caller, id)
        who = alone(id) if plain else await self._who(record, caller, id, known)
        if (why := answering.refusal(record, caller, who)) is not None:
            raise NotAllowed(why)
        seat = answering.seat_for(record, caller, who)
        if seat is None:
            raise NotAllowed(f"{who.id} is not among those who may answer this input")
        return Answerer(who, seat)

    async def _who(self, record: Record, caller: Caller, id: str, known: Known | None) -> Standing:
        if known and (known.namespace, known.id) == (record.namespace, id) and id != caller.id:
            return known.standing
        claimed = caller.claimed_groups if id == caller.id else frozenset()
        return await self._directory.standing(record.namespace, id, claimed)

    async def _of(self, record: Record, id: str) -> Standing:
        return await self._directory.standing(record.namespace, id)

    async def _authors(self, record: Record) -> list[Standing]:
        """Who started it, and under four eyes whoever told it something besides."""
        audience = record.audience
        asked = () if audience.initiator is None else (audience.initiator,)
        ids = audience.authors if record.policy.exclude_initiator else asked
        return [await self._author(record, id) for id in ids]

    async def _author(self, record: Record, id: str) -> Standing:
        """One of them, seen through a linked channel."""
        if ":" not in id:
            return alone(id)
        try:
            return await self._of(record, id)
        except NotAllowed:
            return alone(id)  # disabled, or no person: nobody who could approve either
