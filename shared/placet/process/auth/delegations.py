"""Delegations: until a moment, somebody answers in another's place as well."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from placet.clock import in_ms
from placet.domain.standing import Standing
from placet.errors import Conflict, FieldError, Invalid, NotFound
from placet.ids import new_id
from placet.process.auth.entries import DELEGATION, IN_FORCE, Entries, checked_person
from placet.process.auth.records import Place, older_than
from placet.process.caller import Caller, Scope
from placet.process.idempotency import Once
from placet.store.port import Document

LONGEST = timedelta(days=366)
MOST = 20
"""Delegations that one person may have in force."""
StandingOf = Callable[[str, str], Awaitable[Standing]]


class Delegations:
    """Who stands in for whom, in each namespace."""

    def __init__(self, entries: Entries, standing_of: StandingOf) -> None:
        self._entries = entries
        self._standing_of = standing_of

    async def create(
        self,
        who: Caller,
        to: str,
        until: datetime,
        from_: str | None = None,
        once: Once | None = None,
    ) -> tuple[Document, bool]:
        """Let `to` answer in the place of `from_`, the caller otherwise, up to `until`: that, and True.

        Or what `once` says was made before, as it stands now, and False.

        Raises:
            Invalid: themselves, an end that has passed or is more than 366 days away, no person.
            NotAllowed: somebody else's, without the scope `operate`; or one of them is disabled.
            Conflict: it would close a circle (`delegation_cycle`), or they have 20 already; another
                was made under that key.
        """
        principal = _principal(who, from_)
        id = once.named("dlg") if once else new_id("dlg")
        if once is not None and (before := await self._made(who.namespace, id, once)):
            return before, False
        await self._check_fits(principal, to, until)
        await self._check_room(who.namespace, principal)
        await self._check_circle(who.namespace, principal, to)
        until = in_ms(until.astimezone(UTC))
        fields: dict[str, Any] = {"from": principal, "to": to, "until": until, "by": who.id}
        fields |= {"ended_at": None, "about": [to], "of": principal}
        if once is not None:
            fields["once"] = once.digest
        if not await self._entries.add(DELEGATION, who.namespace, id, **fields) and once:
            await self._made(who.namespace, id, once)
            return await self.get(who.namespace, id), False
        try:
            # Once more: two at once may close a circle that neither has seen before.
            await self._check_circle(who.namespace, principal, to)
        except BaseException:
            await self._entries.drop(DELEGATION, who.namespace, id)
            raise
        return await self.get(who.namespace, id), True

    async def get(self, namespace: str, id: str) -> Document:
        """One delegation. Raises NotFound."""
        found = await self._entries.get(DELEGATION, namespace, id)
        if found is None:
            raise NotFound(f"there is no delegation {id}")
        return _shown(found)

    async def page(
        self,
        namespace: str,
        *,
        limit: int = 100,
        after: Place | None = None,
        in_force: bool = False,
    ) -> list[Document]:
        """Delegations, newest first; also those that have ended, unless only what is in force."""
        where = {"namespace": namespace, "kind": DELEGATION}
        found = await self._entries.kept.find(
            {"$and": [where, older_than(after), IN_FORCE if in_force else {}]},
            sort=[("created_at", -1), ("key", -1)],
            limit=limit,
        )
        return [_shown(each) for each in found]

    async def end(self, who: Caller, id: str) -> Document:
        """End one now; one that has ended stays as it was. Raises NotFound, NotAllowed."""
        found = await self.get(who.namespace, id)
        _principal(who, found["from"])
        change = {"$set": {"ended_at": await self._entries.now()}}
        where = {"ended_at": None}
        await self._entries.change(DELEGATION, who.namespace, id, change, where)
        return await self.get(who.namespace, id)

    async def _made(self, namespace: str, id: str, once: Once) -> Document | None:
        """What was made under this key before. Raises Conflict if it was another."""
        found = await self._entries.get(DELEGATION, namespace, id)
        if found is None:
            return None
        once.check(found.get("once"))
        return _shown(found)

    async def _check_fits(self, principal: str, to: str, until: datetime) -> None:
        checked_person(principal, "/from")
        checked_person(to, "/to")
        if to == principal:
            raise _misfit("/to", "nobody is their own delegate")
        now = await self._entries.now()
        if not now < until <= now + LONGEST:
            raise _misfit("/until", f"it ends in the future, within {LONGEST.days} days")

    async def _check_room(self, namespace: str, principal: str) -> None:
        where: dict[str, Any] = {"namespace": namespace, "kind": DELEGATION, "of": principal}
        where |= {"ended_at": None}
        where |= {"$expr": {"$gt": ["$until", "$$NOW"]}}
        found = await self._entries.kept.find(where, limit=MOST, fields=["_id"], by="of")
        if len(found) >= MOST:
            detail = f"{principal!r} has {MOST} delegations in force; end one first"
            raise Conflict(detail, code="too_many_delegations")

    async def _check_circle(self, namespace: str, principal: str, to: str) -> None:
        await self._standing_of(namespace, to)  # who is disabled is nobody's delegate
        standing = await self._standing_of(namespace, principal)
        if any(seat.id == to for seat in standing.principals):
            raise Conflict(
                f"{principal!r} stands in for {to!r} already, directly or through others",
                code="delegation_cycle",
            )


def _principal(who: Caller, named: str | None) -> str:
    """In whose place somebody is to answer. Raises NotAllowed."""
    principal = who.id if named is None else named
    if who.is_person and principal == who.id:
        who.need(Scope.INPUTS_ANSWER)
    else:
        who.need(Scope.OPERATE)
    return principal


def _misfit(pointer: str, detail: str) -> Invalid:
    return Invalid(detail, [FieldError(pointer, detail)])


def _shown(found: Document) -> Document:
    kept = ("namespace", "from", "to", "until", "by", "created_at", "ended_at")
    return {"id": found["key"], **{name: found[name] for name in kept}}
