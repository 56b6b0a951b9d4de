"""How tools were described, by digest: what a later deploy is compared with."""

import asyncio
from collections.abc import Iterable

from placet.store.port import Collection, Document


class StoredSchemas:
    """One document for each description that a model was ever shown."""

    def __init__(self, schemas: Collection) -> None:
        self._schemas = schemas

    async def keep(self, described: Iterable[Document]) -> None:
        """Keep these; one that is kept already stays as it is, and costs no write."""
        wanted = {document["_id"]: document for document in described}
        kept = await self._schemas.get_many(wanted)
        missing = [document for id, document in wanted.items() if id not in kept]
        await asyncio.gather(*map(self._schemas.insert, missing))

    async def get(self, digest: str) -> Document | None:
        """The tool as it was."""
        return await self._schemas.get(digest)
