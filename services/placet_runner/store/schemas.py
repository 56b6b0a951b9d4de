"""How tools were described, by digest: what a later deploy is compared with."""

from collections.abc import Iterable

from placet.store.port import Collection, Document


class StoredSchemas:
    """One document for each description that a model was ever shown."""

    def __init__(self, schemas: Collection) -> None:
        self._schemas = schemas

    async def keep(self, described: Iterable[Document]) -> None:
        """Keep these; one that is kept already stays as it is."""
        for document in described:
            await self._schemas.insert(document)

    async def get(self, digest: str) -> Document | None:
        """The tool as it was."""
        return await self._schemas.get(digest)
