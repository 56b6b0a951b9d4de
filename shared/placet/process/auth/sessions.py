"""Sessions of people in browsers, the one-time links that begin them, and the nonce of their forms."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import timedelta

from placet.clock import Clock
from placet.errors import NotAllowed, Unauthenticated
from placet.process.auth.people import People
from placet.process.auth.records import caller_of, hashed
from placet.process.caller import PERSON_SCOPES, Caller
from placet.store.port import Collection, Database, Index

LINK_LIFE = timedelta(hours=1)
SESSION_LIFE = timedelta(hours=12)


class Sessions:
    """Logged-in browsers; only hashes of tokens are kept."""

    def __init__(self, database: Database, clock: Clock, people: People) -> None:
        self._clock = clock
        self._people = people
        by_end = Index((("expires_at", 1),))
        by_person = Index((("namespace", 1), ("person", 1)))
        self._sessions = database.collection("sessions", [by_end, by_person])
        self._links = database.collection("links", [by_end, by_person])

    async def create_link(
        self, *, namespace: str, person: str, scopes: Iterable[str] = PERSON_SCOPES,
        life: timedelta = LINK_LIFE,
    ) -> str:  # fmt: skip
        """A token for one login of that person; only its hash is kept."""
        token = secrets.token_urlsafe(32)
        until = self._clock.now() + life
        record = {"_id": hashed(token), "namespace": namespace, "person": person, "service": None}
        await self._links.insert(
            {**record, "scopes": sorted(scopes), "expires_at": until, "used_at": None}
        )
        return token

    async def login(self, link: str) -> str:
        """Use a link up: the token of a new session.

        Raises:
            Unauthenticated: unknown, expired or used before. Two at once: one gets the session.
            NotAllowed: the person is disabled.
        """
        now = self._clock.now()
        where = {"used_at": None, "expires_at": {"$gt": now}}
        found = await self._links.update(hashed(link), where, {"$set": {"used_at": now}})
        if found is None:
            raise Unauthenticated("this link was used before or has expired; ask for a new one")
        return await self.begin(found["namespace"], found["person"], found["scopes"])

    async def begin(
        self,
        namespace: str,
        person: str,
        scopes: Iterable[str],
        claimed_groups: Iterable[str] = (),
    ) -> str:
        """The token of a new session of somebody who has proved who they are.

        Raises NotAllowed: the person is disabled.
        """
        now = self._clock.now()
        token = secrets.token_urlsafe(32)
        await self._sessions.insert(
            {
                "_id": hashed(token),
                "namespace": namespace,
                "person": person,
                "service": None,
                "scopes": sorted(scopes),
                "claimed_groups": sorted(claimed_groups),
                "created_at": now,
                "expires_at": now + SESSION_LIFE,
            }
        )
        # After the insert: who disables somebody either finds this session or is seen here.
        try:
            await self._people.check_enabled(namespace, person)
        except NotAllowed:
            await self.logout(token)
            raise
        return token

    async def by_session(self, token: str) -> Caller:
        """Whose session this is. Raises Unauthenticated: unknown or over."""
        found = await self._sessions.get(hashed(token))
        if found is None or found["expires_at"] <= self._clock.now():
            raise Unauthenticated("the session is over; log in again")
        return caller_of(found, "session:" + found["_id"][:12], by_session=True)

    async def logout(self, token: str) -> None:
        """End a session; one that does not exist is fine."""
        await self._sessions.delete(hashed(token), {})

    async def end_all_of(self, namespace: str, person: str) -> None:
        """End every session and link of a person; safe to repeat."""
        for kept in (self._sessions, self._links):
            await _delete_all(kept, namespace, person)


async def _delete_all(kept: Collection, namespace: str, person: str) -> None:
    where = {"namespace": namespace, "person": person}
    while found := await kept.find(where, limit=100, fields=["_id"]):
        for each in found:
            await kept.delete(each["_id"], {})


def nonce_of(session: str) -> str:
    """The nonce that the forms of a session carry; knowing it does not give the session."""
    return hashlib.sha256(b"placet form " + session.encode()).hexdigest()


def check_nonce(session: str, given: object) -> None:
    """Raise NotAllowed unless a form carries its session's nonce."""
    if not isinstance(given, str) or not hmac.compare_digest(nonce_of(session), given):
        raise NotAllowed("the form is stale or foreign; load the page again")
