"""What a process gives its services: settings, databases, the bus, a clock, metrics, credentials."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from fastapi import APIRouter

from placet.bus.port import Bus
from placet.clock import Clock, SystemClock
from placet.errors import PlacetError, SettingsError
from placet.process.auth import Auth, ClaimRules
from placet.process.metrics import Metrics
from placet.process.settings import Settings
from placet.store import Database, open_database

if TYPE_CHECKING:
    from placet.process.auth.tokens import Tokens

Databases = Callable[[str], Database]
"""By the full name of the database."""
Buses = Callable[[str], Bus]
"""By the user name of the service."""


@dataclass(frozen=True, slots=True)
class Service:
    """One of the services, wired: what the process mounts, starts, asks and stops."""

    name: str
    routers: tuple[APIRouter, ...]
    start: Callable[[], Awaitable[None]]
    """Called once the databases and buses are open: start consuming and the jobs."""
    stop: Callable[[], Awaitable[None]]
    """Stop consuming, let what runs finish; databases and buses are still open."""
    ready: Callable[[], list[str]]
    """Reasons why it is not ready, [] when it is."""


class Platform:
    """Hands out databases and buses before they are open; `open()` opens what was handed out."""

    def __init__(
        self,
        settings: Settings,
        *,
        databases: Databases,
        buses: Buses,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.settings = settings
        self.clock: Clock = clock or SystemClock()
        self.metrics = metrics or Metrics()
        self._make_database = databases
        self._make_bus = buses
        self._databases: dict[str, Database] = {}
        self._buses: dict[str, Bus] = {}
        self._opened: list[Database | Bus] = []
        self.auth = Auth(self.database("auth"), self.clock, _tokens(settings, self.clock))

    def database(self, name: str) -> Database:
        """The database `PREFIX` + name (`runs`, `interactions`, `deliveries`, `auth`), one per name."""
        full = self.settings.database_prefix + name.removeprefix("placet_")
        if full not in self._databases:
            self._databases[full] = self._make_database(full)
        return self._databases[full]

    def bus(self, user: str) -> Bus:
        """The bus under this user name (`placet-runner`, ...), one per name."""
        if user not in self._buses:
            self._buses[user] = self._make_bus(user)
        return self._buses[user]

    async def open(self) -> None:
        """Open every database and bus that is not open yet.

        Raises Unavailable naming the one that is away; call it again to go on from there.
        """
        parts: list[Database | Bus] = [*self._databases.values(), *self._buses.values()]
        for part in parts:
            if part not in self._opened:
                await part.open()
                self._opened.append(part)

    async def check(self) -> list[str]:
        """Why the servers behind this process can't be used now; [] when they can."""
        probes = [d.ping() for d in self._databases.values()] + [
            b.probe() for b in self._buses.values()
        ]
        found = await asyncio.gather(*(_reason(probe) for probe in probes))
        lost = [reason for bus in self._buses.values() for reason in bus.ready()]
        return list(dict.fromkeys([*lost, *(reason for reason in found if reason)]))

    async def close(self) -> None:
        """Close buses, then databases."""
        await self.auth.close()
        for bus in self._buses.values():
            await bus.close()
        for database in self._databases.values():
            await database.close()


async def _reason(probe: Awaitable[None]) -> str:
    try:
        async with asyncio.timeout(_PROBE_WITHIN):
            await probe
    except TimeoutError:
        return "a server did not reply in time"
    except PlacetError as error:
        return str(error)
    return ""


_PROBE_WITHIN = 3.0


def from_settings(settings: Settings, clock: Clock | None = None) -> Platform:
    """The platform that the settings describe. Raises SettingsError; opens nothing."""
    clock = clock or SystemClock()
    databases, buses = _databases(settings, clock), _buses(settings, clock)
    return Platform(settings, databases=databases, buses=buses, clock=clock)


def _databases(settings: Settings, clock: Clock) -> Databases:
    url = _store_url(settings)
    return lambda name: open_database(url, name, clock=clock)


def _store_url(settings: Settings) -> str:
    if settings.mongo_url is not None:
        return settings.mongo_url.get_secret_value()
    if settings.data is None:
        raise SettingsError(
            "PLACET_MONGO_URL or PLACET_DATA is missing: say where the databases are, MongoDB "
            "(mongodb://...) or a folder for SQLite"
        )
    if str(settings.data) == ":memory:":
        return "sqlite://:memory:"
    return f"sqlite://{quote(str(settings.data.resolve()))}"


def _tokens(settings: Settings, clock: Clock) -> "Tokens | None":
    """What verifies the tokens of the issuer that the settings name. Raises SettingsError."""
    if settings.oidc_issuer is None:
        return None
    if not settings.oidc_audience:
        raise SettingsError(
            "PLACET_OIDC_AUDIENCE is missing: say what the tokens of PLACET_OIDC_ISSUER are made "
            "for here; one that is made for another program must not be taken"
        )
    # Only where it is used: what verifies signatures is slow to load.
    from placet.process.auth.issuer import Issuer  # noqa: PLC0415
    from placet.process.auth.tokens import Tokens  # noqa: PLC0415

    rules = ClaimRules(
        subject=settings.oidc_subject_claim,
        groups=settings.oidc_groups_claim,
        namespace=settings.oidc_namespace,
        namespace_claim=settings.oidc_namespace_claim,
        operator_groups=settings.oidc_operator_groups,
    )
    issuer = Issuer(settings.oidc_issuer, settings.oidc_jwks_url, clock)
    return Tokens(issuer, settings.oidc_audience, rules, clock)


def _buses(settings: Settings, clock: Clock) -> Buses:
    if settings.amqp_url is None:
        from placet.bus.inprocess import Hub  # noqa: PLC0415 - only where it is used

        return Hub(clock=clock).bus
    from placet.bus.rabbit import RabbitBus  # noqa: PLC0415 - aio-pika only where it is used

    template = settings.amqp_url.get_secret_value()

    def make(user: str) -> Bus:
        bus = RabbitBus(template.replace("{user}", user), clock=clock)
        if bus.user != user:
            raise SettingsError(
                f"PLACET_AMQP_URL: this service connects as {user!r}; put that user in the URL, "
                "or {user} in its place"
            )
        return bus

    return make
