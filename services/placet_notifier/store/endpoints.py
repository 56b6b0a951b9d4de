"""Webhook endpoints, at most so many in a namespace: each holds one of its slots."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from placet.clock import Clock
from placet.errors import Conflict
from placet.store.port import Database, Document, Index
from placet_notifier.rules.endpoint import MOST, Endpoint, Secret, free_slots


class StoredEndpoints:
    """One document an endpoint."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._clock = clock
        slots = Index((("namespace", 1), ("slot", 1)), unique=True)
        self._endpoints = database.collection("endpoints", [slots])

    async def add(self, endpoint: Endpoint) -> Endpoint:
        """Store a new one; returns it, or the one of this id that there is.

        Raises Conflict: the namespace has its sixteen.
        """
        if endpoint.once and (made := await self.get(endpoint.namespace, endpoint.id)):
            return made
        found = await self._endpoints.find(
            {"namespace": endpoint.namespace}, limit=MOST, fields=["slot"]
        )
        for slot in free_slots([each["slot"] for each in found]):
            # False: another took the slot at this moment, or made this very one.
            if await self._endpoints.insert(_document(endpoint, slot)):
                return endpoint
            if endpoint.once and (made := await self.get(endpoint.namespace, endpoint.id)):
                return made
        raise Conflict(
            f"a namespace has at most {MOST} webhooks; delete one first", code="too_many_webhooks"
        )

    async def list(self, namespace: str) -> list[Endpoint]:
        """All of a namespace, the oldest first."""
        found = await self._endpoints.find({"namespace": namespace}, limit=MOST)
        return sorted((_endpoint(each) for each in found), key=lambda each: each.created_at)

    async def get(self, namespace: str, id: str) -> Endpoint | None:
        """One of this namespace."""
        found = await self._endpoints.get(id)
        return _endpoint(found) if found and found["namespace"] == namespace else None

    async def remove(self, namespace: str, id: str) -> bool:
        """Delete it; False if there is none."""
        return await self._endpoints.delete(id, {"namespace": namespace})

    async def set_secrets(self, endpoint: Endpoint, secrets: Sequence[Secret]) -> Endpoint | None:
        """Replace the secrets of an endpoint that is still as it was read; None: it is not."""
        change = {"$set": {"secrets": _secrets(secrets)}, "$inc": {"rev": 1}}
        return _maybe(await self._endpoints.update(endpoint.id, {"rev": endpoint.rev}, change))

    async def disable(self, namespace: str, id: str, reason: str) -> None:
        """Send nothing there any more."""
        fields = {"disabled_at": self._clock.now(), "disabled_reason": reason}
        where = {"namespace": namespace, "disabled_at": None}
        await self._endpoints.update(id, where, {"$set": fields, "$inc": {"rev": 1}})


def _maybe(document: Document | None) -> Endpoint | None:
    return None if document is None else _endpoint(document)


def _document(endpoint: Endpoint, slot: int) -> Document:
    return {
        "_id": endpoint.id,
        "namespace": endpoint.namespace,
        "slot": slot,
        "url": endpoint.url,
        "types": list(endpoint.types),
        "description": endpoint.description,
        "created_at": endpoint.created_at,
        "created_by": endpoint.created_by,
        "secrets": _secrets(endpoint.secrets),
        "disabled_at": endpoint.disabled_at,
        "disabled_reason": endpoint.disabled_reason,
        "rev": endpoint.rev,
        "once": endpoint.once,
    }


def _secrets(secrets: Sequence[Secret]) -> list[dict[str, str | datetime | None]]:
    return [{"value": each.value, "until": each.until} for each in secrets]


def _endpoint(document: Document) -> Endpoint:
    kept: dict[str, Any] = {k: v for k, v in document.items() if k not in {"_id", "slot"}}
    secrets = tuple(Secret(each["value"], each["until"]) for each in document["secrets"])
    return Endpoint(
        **{**kept, "id": document["_id"], "types": tuple(document["types"]), "secrets": secrets}
    )
