"""Credentials: API keys, sessions of people, AMQP users; read from the database at each use."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from placet.bus.topology import OWN_USERS
from placet.clock import Clock
from placet.domain.person import Person
from placet.errors import Conflict, Invalid, NotAllowed, NotFound, Unauthenticated
from placet.process.caller import (
    ALL_SCOPES,
    OPERATOR_SCOPES,
    PERSON_SCOPES,
    SERVICE_SCOPES,
    Caller,
    Scope,
)
from placet.process.idempotency import Once
from placet.store.port import Database, Document, Index

__all__ = [
    "ALL_SCOPES", "OPERATOR_SCOPES", "PERSON_SCOPES", "SERVICE_SCOPES", "SESSION_LIFE", "Auth",
    "Caller", "Scope", "check_nonce", "nonce_of", "person_of",
]  # fmt: skip

LINK_LIFE = timedelta(hours=1)
SESSION_LIFE = timedelta(hours=12)


class Auth:
    """The credentials of one installation, in the database `auth`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._clock = clock
        self._keys = database.collection("keys", [Index((("namespace", 1), ("created_at", 1)))])
        self._sessions = database.collection("sessions", [Index((("expires_at", 1),))])
        self._links = database.collection("links", [Index((("expires_at", 1),))])

    async def by_key(self, key: str) -> Caller:
        """Who holds this API key. Raises Unauthenticated: unknown, wrong or revoked."""
        prefix, _, rest = key.partition("_")
        id, _, secret = rest.partition("_")
        found = await self._keys.get(id) if prefix == "plc" and id and secret else None
        stored = found["hash"] if found and found.get("hash") else ""
        if not hmac.compare_digest(stored, _hash(key)) or found is None or found["revoked_at"]:
            raise Unauthenticated("the API key is unknown or revoked")
        return _caller(found, id)

    async def by_amqp_user(self, user: str) -> Caller | None:
        """What an AMQP user other than Placet's own may do; None: it has no mapping, or a revoked one."""
        found = await self._keys.get(f"amqp:{user}")
        return None if found is None or found["revoked_at"] else _caller(found, f"amqp:{user}")

    async def create_key(
        self,
        *,
        namespace: str,
        name: str,
        scopes: Iterable[str],
        person: str | None = None,
        service: str | None = None,
        by: Caller | None = None,
    ) -> tuple[str, Document]:
        """Make a key for a person or a service: the key, shown this once, and its record.

        `by` is who makes it, over REST; None is whoever has the database.

        Raises:
            Invalid: neither or both of person and service, or a scope that does not exist.
            NotAllowed: a scope that `by` lacks, or the name of one of Placet's own services.
        """
        key, document = self._key(secrets.token_hex(8), person, service)
        document = self._document(document, namespace, name, granted(scopes, by))
        await self._keys.insert(document)
        return key, shown(document)

    async def create_key_once(
        self,
        once: Once,
        *,
        namespace: str,
        name: str,
        scopes: Iterable[str],
        person: str | None = None,
        service: str | None = None,
        by: Caller | None = None,
    ) -> tuple[str | None, Document]:
        """As `create_key`; what `once` says was made before is not made again, and its key not shown.

        Raises as `create_key` does, and Conflict if another key was made then.
        """
        id = once.id[:16]
        key, document = self._key(id, person, service)
        document = self._document(document, namespace, name, granted(scopes, by))
        if await self._keys.insert(document | {"once": once.digest}):
            return key, shown(document)
        found = await self._keys.get(id)
        once.check(found.get("once") if found and found["namespace"] == namespace else None)
        return None, shown(found or document)

    @staticmethod
    def _key(id: str, person: str | None, service: str | None) -> tuple[str, Document]:
        key = f"plc_{id}_{secrets.token_urlsafe(32)}"
        return key, {"_id": id, "kind": "key", "hash": _hash(key), **_holder(person, service)}

    async def map_amqp_user(
        self,
        user: str,
        *,
        namespace: str,
        service: str,
        scopes: Iterable[str],
        by: Caller | None = None,
    ) -> Document:
        """Say which service and scopes an AMQP user has; replaces the namespace's earlier mapping.

        Raises as `create_key` does, and Conflict for a user that another namespace mapped. A
        mapping that is refused leaves the earlier one.
        """
        if user in OWN_USERS:
            raise NotAllowed(f"{user} is Placet's own")
        record = {"_id": f"amqp:{user}", "kind": "amqp", "hash": None, **_holder(None, service)}
        document = self._document(record, namespace, user, granted(scopes, by))
        changed = {name: value for name, value in document.items() if name != "_id"}
        replaced = await self._keys.update(
            document["_id"], {"namespace": namespace}, {"$set": changed}
        )
        if replaced is None and not await self._keys.insert(document):
            raise Conflict(f"{user} belongs to another namespace")
        return shown(document)

    async def list_keys(
        self, namespace: str, *, limit: int = 100, after: tuple[datetime, str] | None = None
    ) -> list[Document]:
        """The keys of a namespace, newest first, without hashes; `after` is the last of a page."""
        where: dict[str, Any] = {"namespace": namespace}
        if after is not None:
            at, id = after
            same = {"created_at": at, "_id": {"$lt": id}}
            where["$or"] = [{"created_at": {"$lt": at}}, same]
        found = await self._keys.find(where, sort=[("created_at", -1), ("_id", -1)], limit=limit)
        return [shown(key) for key in found]

    async def revoke_key(self, namespace: str, id: str) -> Document:
        """Make a key worthless at once. Raises NotFound."""
        where = {"namespace": namespace, "revoked_at": None}
        changed = await self._keys.update(id, where, {"$set": {"revoked_at": self._clock.now()}})
        found = changed or await self._keys.get(id)
        if found is None or found["namespace"] != namespace:
            raise NotFound(f"there is no key {id}")
        return shown(found)

    async def create_link(
        self, *, namespace: str, person: str, scopes: Iterable[str] = PERSON_SCOPES,
        life: timedelta = LINK_LIFE,
    ) -> str:  # fmt: skip
        """A token for one login of that person; only its hash is kept."""
        token = secrets.token_urlsafe(32)
        until = self._clock.now() + life
        record = {"_id": _hash(token), "namespace": namespace, "person": person, "service": None}
        await self._links.insert(
            {**record, "scopes": sorted(scopes), "expires_at": until, "used_at": None}
        )
        return token

    async def login(self, link: str) -> str:
        """Use a link up: the token of a new session.

        Raises:
            Unauthenticated: unknown, expired or used before. Two at once: one gets the session.
        """
        now = self._clock.now()
        where = {"used_at": None, "expires_at": {"$gt": now}}
        found = await self._links.update(_hash(link), where, {"$set": {"used_at": now}})
        if found is None:
            raise Unauthenticated("this link was used before or has expired; ask for a new one")
        token = secrets.token_urlsafe(32)
        kept = {name: found[name] for name in ("namespace", "person", "service", "scopes")}
        session = {"_id": _hash(token), **kept, "created_at": now, "expires_at": now + SESSION_LIFE}
        await self._sessions.insert(session)
        return token

    async def by_session(self, token: str) -> Caller:
        """Whose session this is. Raises Unauthenticated: unknown or over."""
        found = await self._sessions.get(_hash(token))
        if found is None or _past(found["expires_at"], self._clock.now()):
            raise Unauthenticated("the session is over; log in again")
        return _caller(found, "session:" + found["_id"][:12], by_session=True)

    async def logout(self, token: str) -> None:
        """End a session; one that does not exist is fine."""
        await self._sessions.delete(_hash(token), {})

    def _document(
        self, record: dict[str, Any], namespace: str, name: str, scopes: list[str]
    ) -> Document:
        now = self._clock.now()
        kept = {"namespace": namespace, "name": name, "scopes": scopes}
        return {**record, **kept, "created_at": now, "revoked_at": None}


def granted(scopes: Iterable[str], by: Caller | None) -> list[str]:
    """The scopes that a new credential gets, sorted.

    Raises Invalid for one that does not exist, NotAllowed for one that `by` lacks.
    """
    wanted = sorted({str(scope) for scope in scopes})
    if unknown := [scope for scope in wanted if scope not in ALL_SCOPES]:
        raise Invalid(
            f"unknown scope {', '.join(unknown)}; there are {', '.join(sorted(ALL_SCOPES))}"
        )
    if by is not None:
        by.need_to_grant(wanted)
    return wanted


def nonce_of(session: str) -> str:
    """The nonce that the forms of a session carry; knowing it does not give the session."""
    return hashlib.sha256(b"placet form " + session.encode()).hexdigest()


def check_nonce(session: str, given: object) -> None:
    """Raise NotAllowed unless a form carries its session's nonce."""
    if not isinstance(given, str) or not hmac.compare_digest(nonce_of(session), given):
        raise NotAllowed("the form is stale or foreign; load the page again")


def person_of(caller: Caller) -> Person:
    """The caller as who acted."""
    return Person(id=caller.id)


def shown(key: Document) -> Document:
    """A key's record without its hash."""
    return {
        ("id" if name == "_id" else name): value
        for name, value in key.items()
        if name not in ("hash", "once")
    }


def _holder(person: str | None, service: str | None) -> dict[str, str | None]:
    if (person is None) == (service is None):
        raise Invalid("a key belongs to a person or to a service: give one of the two")
    holder = person or service or ""
    if not holder or ":" in holder or len(holder) > _LONGEST_NAME:
        raise Invalid(
            f"the name of a person or service has 1 to {_LONGEST_NAME} characters and no colon"
        )
    if service in OWN_USERS:
        raise NotAllowed(f"{service} is the name of one of Placet's own services")
    return {"person": person, "service": service}


_LONGEST_NAME = 100


def _caller(record: Document, credential: str, *, by_session: bool = False) -> Caller:
    return Caller(
        namespace=record["namespace"],
        id=record["person"] or f"service:{record['service']}",
        scopes=frozenset(record["scopes"]),
        credential=credential,
        by_session=by_session,
    )


def _past(until: datetime, now: datetime) -> bool:
    return until <= now


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
