"""Definitions that came over the API, one document each."""

from collections.abc import Iterable

import orjson

from placet.ids import derived_id
from placet.store.port import Collection, Document, Index
from placet_runner.rules.definitions import StoredDefinition

INDEXES = [Index((("namespace", 1), ("name", 1)), unique=True)]
_FIELDS = ("namespace", "name", "version", "digest", "created_at", "created_by", "updated_at",
           "updated_by", "request")  # fmt: skip


class StoredDefinitions:
    """By namespace and name. A change is one conditional write."""

    def __init__(self, definitions: Collection) -> None:
        self._definitions = definitions

    async def get(self, namespace: str, name: str) -> StoredDefinition | None:
        """One of this namespace."""
        found = await self._definitions.get(_id(namespace, name))
        return _read(found) if found else None

    async def get_many(self, namespace: str, names: Iterable[str]) -> dict[str, StoredDefinition]:
        """Those of these names that there are, by name."""
        found = await self._definitions.get_many([_id(namespace, name) for name in names])
        return {each["name"]: _read(each) for each in found.values()}

    async def names(self, namespace: str, limit: int) -> list[str]:
        """The names in a namespace, sorted."""
        where = {"namespace": namespace}
        found = await self._definitions.find(
            where, sort=[("name", 1)], limit=limit, fields=["name"]
        )
        return [each["name"] for each in found]

    async def add(self, made: StoredDefinition) -> bool:
        """Insert; False if there is one of this name."""
        return await self._definitions.insert(
            {"_id": _id(made.namespace, made.name), **_written(made)}
        )

    async def replace(self, seen: StoredDefinition, made: StoredDefinition) -> bool:
        """Replace the very version that was seen; False: it is another by now."""
        where = {"version": seen.version, "digest": seen.digest}
        change = {"$set": _written(made)}
        return (
            await self._definitions.update(_id(seen.namespace, seen.name), where, change)
            is not None
        )

    async def remove(self, seen: StoredDefinition) -> bool:
        """Delete the very version that was seen; False: it is another by now, or gone."""
        where = {"version": seen.version, "digest": seen.digest}
        return await self._definitions.delete(_id(seen.namespace, seen.name), where)


def _id(namespace: str, name: str) -> str:
    return derived_id("def", namespace, name)


def _written(made: StoredDefinition) -> Document:
    """The body as text: its keys are an author's, and a document's keys have meanings."""
    fields = {name: getattr(made, name) for name in _FIELDS}
    return {**fields, "body": orjson.dumps(made.body).decode()}


def _read(document: Document) -> StoredDefinition:
    fields = {name: document[name] for name in _FIELDS}
    return StoredDefinition(**fields, body=orjson.loads(document["body"]))
