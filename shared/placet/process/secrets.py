"""Secrets that a service makes once and keeps in its own database, for every replica of it."""

from collections.abc import Callable

from placet.store.port import Collection


class StoredSecrets:
    """One document for each secret."""

    def __init__(self, secrets: Collection) -> None:
        self._secrets = secrets

    async def kept(self, name: str, make: Callable[[], str]) -> str:
        """The secret of this name; the first replica that asks makes it."""
        found = await self._secrets.get(name)
        if found is None:
            await self._secrets.insert({"_id": name, "value": make()})
            found = await self._secrets.get(name)
        assert found is not None  # noqa: S101 - nothing deletes one
        return str(found["value"])
