"""`Auth`: every credential of an installation behind one object, a concern in a module each."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from placet.clock import Clock
from placet.domain.standing import Standing
from placet.errors import NotAllowed
from placet.process.auth.directory import Directory, is_one_query
from placet.process.auth.identity import Identity
from placet.process.auth.keys import PREFIX, Keys
from placet.process.auth.sessions import Sessions
from placet.process.caller import Caller
from placet.store.port import Database, Document

if TYPE_CHECKING:
    from placet.process.auth.tokens import Tokens


class Auth:
    """The credentials of one installation, in the database `auth`; read from it at each use.

    `tokens` verifies those of an issuer; None: none are taken. `writes` says whether this process
    may write to the database, and so remember the groups that tokens tell.
    """

    def __init__(self, database: Database, clock: Clock, tokens: "Tokens | None" = None) -> None:
        self.tokens = tokens
        self.writes = False
        self.directory = Directory(database, claims_count=tokens is not None)
        people = self.directory.people
        self.keys = Keys(self.directory.entries, clock, people)
        self.sessions = Sessions(database, clock, people)
        people.when_disabled(self.keys.revoke_all_of)
        people.when_disabled(self.sessions.end_all_of)

    async def by_bearer(self, given: str) -> Caller:
        """Who sends this `Authorization: Bearer`: an API key, or a token of the issuer.

        Raises:
            Unauthenticated: it is neither, or it is not valid now.
            NotAllowed: a token of a person who is disabled.
            Unavailable: the issuer's keys can't be had.
        """
        if self.tokens is None or given.startswith(PREFIX):
            return await self.keys.by_key(given)
        found = await self.tokens.read(given)
        await self.admit(found)
        return found.caller()

    async def with_person(self, given: str, person: str | None) -> tuple[Caller, Standing | None]:
        """As `by_bearer`, and who that person of the caller's namespace is, looked up at the same time.

        None where that was not looked up, or the person is disabled: then whoever needs it looks it up.
        """
        guess = self.keys.lately(given)
        if guess is None or person is None:
            return await self.by_bearer(given), None
        if not is_one_query(person):
            return await asyncio.gather(
                self.by_bearer(given), self._standing(guess.namespace, person)
            )
        caller, entries = await self.keys.with_person(given, person)
        if entries is None:
            return caller, None
        return caller, await self._standing(caller.namespace, person, entries)

    async def _standing(
        self, namespace: str, person: str, entries: Sequence[Document] | None = None
    ) -> Standing | None:
        try:
            return await self.directory.standing(namespace, person, entries=entries)
        except NotAllowed:
            return None

    async def admit(self, found: Identity) -> None:
        """Let in whom a token names, and remember the groups that it tells where they changed.

        Raises NotAllowed: the person is disabled.
        """
        people = self.directory.people
        record = await people.check_enabled(found.namespace, found.id)
        if self.writes and _is_news(record, found):
            await people.keep_claims(found.namespace, found.id, found.groups, found.issued_at)

    async def close(self) -> None:
        """Let go of what fetches the issuer's keys."""
        if self.tokens is not None:
            await self.tokens.close()


def _is_news(record: Document | None, found: Identity) -> bool:
    """Whether a token tells other groups than are remembered, and is no older than those."""
    if record is None:
        return bool(found.groups)
    told_at = record["claimed_at"]
    newer: bool = told_at is None or told_at < found.issued_at
    return newer and bool(record["claimed_groups"] != sorted(found.groups))
