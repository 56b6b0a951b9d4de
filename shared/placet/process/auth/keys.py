"""API keys, and which services AMQP users stand for; read from the database at each use."""

import hmac
import secrets
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Required, TypedDict, Unpack

from placet.bus.topology import OWN_USERS
from placet.clock import Clock, in_ms
from placet.errors import Conflict, FieldError, Invalid, NotAllowed, NotFound, Unauthenticated
from placet.process.auth.entries import KEY, Entries
from placet.process.auth.people import People
from placet.process.auth.records import Place, caller_of, granted, hashed, older_than
from placet.process.caller import Caller
from placet.process.idempotency import Once
from placet.store.port import Document

PREFIX = "plc_"
LONGEST_LIFE = timedelta(days=3653)
MOST_REMEMBERED = 10_000
_LONGEST_NAME = 100
_TOLD = (
    "name", "namespace", "person", "service", "scopes", "created_at", "expires_at", "revoked_at",
)  # fmt: skip
_OWN = {"kind": KEY}
"""What of the directory is a credential: a key, or the mapping of an AMQP user, which has no hash."""


class Wanted(TypedDict, total=False):
    """What a new key is to be."""

    namespace: Required[str]
    name: Required[str]
    scopes: Required[Iterable[str]]
    person: str | None
    service: str | None
    expires_at: datetime | None
    by: Caller | None
    """Who makes it, over REST; None is whoever has the database."""


class Keys:
    """Hashed keys of people and services, and the mappings of AMQP users: entries of the directory."""

    def __init__(self, entries: Entries, clock: Clock, people: People) -> None:
        self._clock = clock
        self._people = people
        self._entries = entries
        self._lately: dict[str, Caller] = {}

    def lately(self, key: str) -> Caller | None:
        """Who held this very key when it was last read here: a guess to read ahead by, no proof."""
        return self._lately.get(hashed(key)) if key.startswith(PREFIX) else None

    async def by_key(self, key: str) -> Caller:
        """Who holds this API key. Raises Unauthenticated: unknown, wrong, revoked or expired."""
        id = _id_of(key)
        return self._holder(key, await self._entries.kept.get(id) if id else None)

    async def with_person(self, key: str, person: str) -> tuple[Caller, Sequence[Document] | None]:
        """Who holds this API key, and in the same read what is said of a person of its namespace.

        None: nothing was read of the person, as the key was not used here lately. Raises as `by_key`.
        """
        guess, id = self.lately(key), _id_of(key)
        if guess is None:
            return await self.by_key(key), None
        entries = await self._entries.about(guess.namespace, {person, _name_of(id)})
        found = next((entry for entry in entries if entry["_id"] == id), None)
        return self._holder(key, found), entries

    def _holder(self, key: str, found: Document | None) -> Caller:
        """Who holds the key, by what is kept of it. Raises Unauthenticated."""
        stored, given = found["hash"] if found and found.get("hash") else "", hashed(key)
        if not hmac.compare_digest(stored, given) or found is None or found["revoked_at"]:
            self._lately.pop(given, None)
            raise Unauthenticated("the API key is unknown or revoked")
        until = found.get("expires_at")
        if until is not None and until <= self._clock.now():
            self._lately.pop(given, None)
            raise Unauthenticated(f"the API key {found['name']!r} has expired; make a new one")
        holder = caller_of(found, found["_id"])
        if len(self._lately) >= MOST_REMEMBERED:
            self._lately.clear()
        self._lately[given] = holder
        return holder

    async def by_amqp_user(self, user: str) -> Caller | None:
        """What an AMQP user other than Placet's own may do; None: it has no mapping, or a revoked one."""
        found = await self._entries.kept.get(f"amqp:{user}")
        return None if found is None or found["revoked_at"] else caller_of(found, f"amqp:{user}")

    async def create(self, **wanted: Unpack[Wanted]) -> tuple[str, Document]:
        """Make a key for a person or a service: the key, shown this once, and its record.

        Raises:
            Invalid: neither or both of person and service, a scope that does not exist, or an
                end that has passed.
            NotAllowed: a scope that `by` lacks, the name of one of Placet's own services, or a
                person who is disabled.
        """
        key, document = self._new(secrets.token_hex(8), **wanted)
        await self._insert(document)
        return key, _shown(document)

    async def create_once(
        self, once: Once, **wanted: Unpack[Wanted]
    ) -> tuple[str | None, Document]:
        """As `create`; what `once` says was made before is not made again, and its key not shown.

        Raises as `create` does, and Conflict if another key was made then.
        """
        key, document = self._new(once.id[:16], **wanted)
        document["once"] = once.digest
        if await self._insert(document):
            return key, _shown(document)
        found = await self._entries.kept.get(document["_id"])
        own = found is not None and found["namespace"] == document["namespace"]
        once.check(found.get("once") if found and own else None)
        return None, _shown(found or document)

    def _new(self, id: str, **wanted: Unpack[Wanted]) -> tuple[str, Document]:
        holder = _held_by(wanted.get("person"), wanted.get("service"))
        expires_at = self._end(wanted.get("expires_at"))
        key = f"{PREFIX}{id}_{secrets.token_urlsafe(32)}"
        record = {"_id": id, "hash": hashed(key), "about": [_name_of(id)], **holder}
        scopes = granted(wanted["scopes"], wanted.get("by"))
        document = self._document(record, wanted["namespace"], wanted["name"], scopes)
        return key, {**document, "expires_at": expires_at}

    async def _insert(self, document: Document) -> bool:
        """Store a new key; False if its id is taken. Raises NotAllowed for a person who is disabled."""
        if not await self._entries.kept.insert(document):
            return False
        if document["person"] is not None:
            # After the insert: who disables somebody either finds this key or is seen here.
            try:
                await self._people.check_enabled(document["namespace"], document["person"])
            except NotAllowed:
                await self._entries.kept.delete(document["_id"], {})
                raise
        return True

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

        Raises as `create` does, and Conflict for a user that another namespace mapped. A
        mapping that is refused leaves the earlier one.
        """
        if user in OWN_USERS:
            raise NotAllowed(f"{user} is Placet's own")
        record = {"_id": f"amqp:{user}", "hash": None, **_held_by(None, service)}
        document = self._document(record, namespace, user, granted(scopes, by))
        changed = {name: value for name, value in document.items() if name != "_id"}
        replaced = await self._entries.kept.update(
            document["_id"], {"namespace": namespace}, {"$set": changed}
        )
        if replaced is None and not await self._entries.kept.insert(document):
            raise Conflict(f"{user} belongs to another namespace")
        return _shown(document)

    async def page(
        self, namespace: str, *, limit: int = 100, after: Place | None = None
    ) -> list[Document]:
        """The keys of a namespace, newest first, without hashes; `after` is where a page ended."""
        found = await self._entries.kept.find(
            {"namespace": namespace, **_OWN, **older_than(after)},
            sort=[("created_at", -1), ("key", -1)],
            limit=limit,
        )
        return [_shown(key) for key in found]

    async def revoke(self, namespace: str, id: str) -> Document:
        """Make a key worthless at once. Raises NotFound."""
        where = {"namespace": namespace, "revoked_at": None, **_OWN}
        changed = await self._entries.kept.update(
            id, where, {"$set": {"revoked_at": self._clock.now()}}
        )
        found = changed or await self._entries.kept.get(id)
        if found is None or found["namespace"] != namespace or found["kind"] != KEY:
            raise NotFound(f"there is no key {id}")
        return _shown(found)

    async def revoke_all_of(self, namespace: str, person: str) -> None:
        """Make every key of a person worthless; safe to repeat."""
        where = {"namespace": namespace, "of": person, "revoked_at": None, **_OWN}
        while found := await self._entries.kept.find(where, limit=100, fields=["_id"], by="of"):
            for key in found:
                await self.revoke(namespace, key["_id"])

    def _end(self, given: datetime | None) -> datetime | None:
        """When a new key ends, as it is kept. Raises Invalid."""
        now = self._clock.now()
        if given is None:
            return None
        if not now < given <= now + LONGEST_LIFE:
            detail = "a key ends in the future, within ten years"
            raise Invalid(detail, [FieldError("/expires_at", detail)])
        return in_ms(given.astimezone(UTC))

    def _document(
        self, record: dict[str, Any], namespace: str, name: str, scopes: list[str]
    ) -> Document:
        now = self._clock.now()
        kept = {"namespace": namespace, "name": name, "scopes": scopes, "kind": KEY}
        kept |= {"key": record["_id"], "of": record["person"]}
        return {**record, **kept, "created_at": now, "expires_at": None, "revoked_at": None}


def _id_of(key: str) -> str:
    """The id that a key of ours begins with; empty for what is none."""
    prefix, _, rest = key.partition("_")
    id, _, secret = rest.partition("_")
    return id if prefix == "plc" and secret else ""


def _name_of(id: str) -> str:
    """What a key's entry is about; nobody's name, as it has a colon and is no channel's."""
    return f"key:{id}"


def _shown(record: Document) -> Document:
    """What is told of a credential: all but its hash, and what only the directory needs."""
    told = {name: record[name] for name in _TOLD if name in record}
    return {"id": record["_id"], "kind": "key" if record["hash"] else "amqp", **told}


def _held_by(person: str | None, service: str | None) -> dict[str, str | None]:
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
