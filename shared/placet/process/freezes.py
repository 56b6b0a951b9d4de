"""Freezes as they are kept, in the database `auth`: the broker writes them, every service reads them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from placet.clock import Clock
from placet.domain.freeze import Freeze
from placet.errors import Conflict, NotFound
from placet.ids import new_id
from placet.process.idempotency import Once
from placet.store.port import Database, Document, Index

MOST_ACTIVE = 100
"""Freezes of one namespace that may be active at once."""
_PAGE = 1000
_INDEXES = (
    Index((("lifted_at", 1), ("namespace", 1))),
    Index((("namespace", 1), ("at", -1), ("_id", -1))),
)
Place = tuple[datetime, str]
"""When a freeze began, and its id: where a page ended."""


class StoredFreezes:
    """The freezes of one installation. Reads see every freeze whose making or lifting has returned."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """`clock` should tell the database's time."""
        self._freezes = database.collection("freezes", _INDEXES)
        self._clock = clock

    async def freeze(
        self,
        namespace: str,
        *,
        agent: str | None,
        tools: Sequence[str],
        reason: str,
        by: str,
        once: Once | None = None,
    ) -> tuple[Freeze, bool]:
        """Keep calls from starting, from now on: the freeze, and True.

        Or the one that `once` says was made before, as it stands now, and False. Raises Conflict: 100
        are active already, or another was made then.
        """
        id = once.named("frz") if once else new_id("frz")
        if once is not None and (before := await self._made(id, once)):
            return before, False
        active = await self._freezes.count(_active(namespace), limit=MOST_ACTIVE)
        if active >= MOST_ACTIVE:
            detail = f"{MOST_ACTIVE} freezes are active; lift some, or freeze a whole agent"
            raise Conflict(detail, code="too_many_freezes")
        made = Freeze(
            id=id,
            namespace=namespace,
            agent=agent,
            tools=tuple(dict.fromkeys(tools)),
            reason=reason,
            by=by,
            at=self._clock.now(),
        )
        fields = made.model_dump(exclude={"id"})
        document = {"_id": id, **fields, "tools": list(made.tools)}
        if once is not None:
            document["once"] = once.digest
        if await self._freezes.insert(document) or once is None:
            return made, True
        return await self._made(id, once) or made, False

    async def lift(self, namespace: str, id: str, by: str) -> Freeze:
        """End a freeze; one that is lifted stays as it was lifted. Raises NotFound."""
        lifted = {"lifted_at": self._clock.now(), "lifted_by": by}
        written = await self._freezes.update(id, _active(namespace), {"$set": lifted})
        return _freeze(written) if written else await self.get(namespace, id)

    async def get(self, namespace: str, id: str) -> Freeze:
        """One freeze. Raises NotFound, also for another namespace's."""
        found = await self._freezes.get(id)
        if found is None or found["namespace"] != namespace:
            raise NotFound(f"there is no freeze {id}")
        return _freeze(found)

    async def page(
        self, namespace: str, *, active: bool | None, after: Place | None, limit: int
    ) -> list[Freeze]:
        """Freezes of a namespace, newest first; only the active or the lifted ones, if that is said."""
        where: dict[str, Any] = {"namespace": namespace}
        if active is not None:
            where["lifted_at"] = None if active else {"$ne": None}
        if after:
            at, id = after
            where["$or"] = [{"at": {"$lt": at}}, {"at": at, "_id": {"$lt": id}}]
        found = await self._freezes.find(where, sort=[("at", -1), ("_id", -1)], limit=limit)
        return list(map(_freeze, found))

    async def active(self, namespace: str) -> Sequence[Freeze]:
        """Those that keep calls of a namespace from starting, oldest first."""
        return await self._all(_active(namespace))

    async def active_ids(self) -> Sequence[str]:
        """Those that are active in any namespace."""
        return [each.id for each in await self._all({"lifted_at": None})]

    async def get_many(self, ids: Sequence[str]) -> dict[str, Freeze]:
        """Those of these freezes that exist, by id."""
        found = await self._freezes.get_many(ids)
        return {id: _freeze(document) for id, document in found.items()}

    async def since(self, namespace: str, at: datetime) -> Sequence[Freeze]:
        """Those that were active at that time or after it."""
        over = {"namespace": namespace, "lifted_at": {"$gt": at}}
        return [*await self._all(over), *await self.active(namespace)]

    async def count_active(self) -> int:
        """How many are active in all namespaces, counted up to 1,000."""
        return await self._freezes.count({"lifted_at": None}, limit=_PAGE)

    async def _made(self, id: str, once: Once) -> Freeze | None:
        """What was made under this key before. Raises Conflict if it was another."""
        found = await self._freezes.get(id)
        if found is None:
            return None
        once.check(found.get("once"))
        return _freeze(found)

    async def _all(self, where: dict[str, Any]) -> list[Freeze]:
        """Every one, page by page: one that is missed would let a call start."""
        found: list[Document] = []
        while True:
            rest = {"_id": {"$gt": found[-1]["_id"]}} if found else {}
            page = await self._freezes.find({**where, **rest}, sort=[("_id", 1)], limit=_PAGE)
            found += page
            if len(page) < _PAGE:
                return sorted(map(_freeze, found), key=lambda each: (each.at, each.id))


def _active(namespace: str) -> dict[str, Any]:
    return {"lifted_at": None, "namespace": namespace}


def _freeze(document: Document) -> Freeze:
    own = {name: value for name, value in document.items() if name not in ("_id", "once")}
    return Freeze(id=document["_id"], **own)
