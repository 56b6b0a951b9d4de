"""Where `placet keys` works: in the database, where one is named, else on the server of PLACET_URL."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Protocol

from placet.cli.listed import place, whole
from placet.cli.runs import client
from placet.client.transport import Transport
from placet.domain.base import DEFAULT_NAMESPACE
from placet.errors import Invalid, Unavailable
from placet.process.auth import Auth
from placet.process.platform import Platform, from_settings
from placet.process.settings import Settings, load

Record = dict[str, Any]


class KeyStore(Protocol):
    """The credentials of one namespace."""

    async def create(
        self, holder: dict[str, str | None], scopes: Sequence[str], until: datetime | None
    ) -> tuple[str, Record]:
        """Make a key; `holder` has `name`, `person`, `service`."""

    async def map_user(self, user: str, service: str, scopes: Sequence[str]) -> Record:
        """Say which service an AMQP user is."""

    async def all(self) -> list[Record]:
        """Every credential, newest first."""

    async def revoke(self, id: str) -> None:
        """Make one worthless."""


class StoredKeys:
    """In the database that the settings name."""

    def __init__(self, auth: Auth, namespace: str) -> None:
        self._auth = auth
        self._namespace = namespace

    async def create(
        self, holder: dict[str, str | None], scopes: Sequence[str], until: datetime | None
    ) -> tuple[str, Record]:
        """As `KeyStore`."""
        return await self._auth.keys.create(
            namespace=self._namespace,
            name=holder["name"] or "",
            person=holder["person"],
            service=holder["service"],
            scopes=scopes,
            expires_at=until,
        )

    async def map_user(self, user: str, service: str, scopes: Sequence[str]) -> Record:
        """As `KeyStore`."""
        return await self._auth.keys.map_amqp_user(
            user, namespace=self._namespace, service=service, scopes=scopes
        )

    async def all(self) -> list[Record]:
        """As `KeyStore`."""
        found: list[Record] = []
        while page := await self._auth.keys.page(
            self._namespace, after=(found[-1]["created_at"], found[-1]["id"]) if found else None
        ):
            found += page
        return found

    async def revoke(self, id: str) -> None:
        """As `KeyStore`."""
        await self._auth.keys.revoke(self._namespace, id)


class ServedKeys:
    """On the server of PLACET_URL, in the namespace of PLACET_KEY."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(
        self, holder: dict[str, str | None], scopes: Sequence[str], until: datetime | None
    ) -> tuple[str, Record]:
        """As `KeyStore`."""
        body: Record = {name: value for name, value in holder.items() if value is not None}
        if until is not None:
            body["expires_at"] = until.isoformat()
        made = await self._transport.post("/v1/keys", {**body, "scopes": list(scopes)})
        return made["key"], made["record"]

    async def map_user(self, user: str, service: str, scopes: Sequence[str]) -> Record:
        """As `KeyStore`."""
        body = {"kind": "amqp", "name": user, "service": service, "scopes": list(scopes)}
        made: Record = (await self._transport.post("/v1/keys", body))["record"]
        return made

    async def all(self) -> list[Record]:
        """As `KeyStore`."""
        return await whole(self._transport, "/v1/keys")

    async def revoke(self, id: str) -> None:
        """As `KeyStore`."""
        await self._transport.delete(place("keys", id))


@asynccontextmanager
async def key_store(namespace: str | None) -> AsyncIterator[KeyStore]:
    """The credentials of a namespace; at a server it is that of the key that is used there.

    Whoever names a database in the environment means that one, also in a shell that talks to a server.

    Raises Invalid for another namespace than that, Unavailable, and what the settings lack.
    """
    named = any(os.environ.get(name) for name in ("PLACET_MONGO_URL", "PLACET_DATA"))
    if os.environ.get("PLACET_URL") and not named:
        async with client() as placet:
            own = (await placet.transport.get("/v1/keys/self"))["namespace"]
            if namespace not in (None, own):
                raise Invalid(f"--namespace: PLACET_KEY is of {own!r}; use a key of {namespace!r}")
            yield ServedKeys(placet.transport)
        return
    platform = await _open()
    try:
        yield StoredKeys(platform.auth, namespace or DEFAULT_NAMESPACE)
    finally:
        await platform.close()


async def _open() -> Platform:
    platform = from_settings(load(Settings))
    try:
        await platform.open()
    except Unavailable as error:
        await platform.close()
        if platform.settings.mongo_url is not None:
            raise
        raise Unavailable(
            f"{error}. While `placet dev` runs on {platform.settings.data}, set PLACET_URL and "
            "PLACET_KEY to use its REST API (/v1/keys) for that, or stop it first"
        ) from error
    return platform
