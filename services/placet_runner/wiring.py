"""Where the runner's parts meet."""

import asyncio
import socket
from collections.abc import Iterable
from typing import Any

from placet.agents.loading import Loaded, for_a_runner, load_agents
from placet.agents.operator import read_operator
from placet.agents.shells import refused_shells
from placet.agents.tool import Tool
from placet.bus.port import Bus, Consumption
from placet.ids import new_id
from placet.messages.users import RUNNER_USER
from placet.process import logs
from placet.process.consuming import measured
from placet.process.freezes import StoredFreezes
from placet.process.outbox import Relay
from placet.process.platform import Platform, Service
from placet.process.secrets import StoredSecrets
from placet.process.settings import config_file, load
from placet.sealing import new_key
from placet.store.clock import DatabaseClock
from placet.store.port import Index
from placet_runner.api import definitions_router, grants_router, router
from placet_runner.consumers import RESOLUTIONS_QUEUE, RUNS_QUEUE, RunnerConsumers
from placet_runner.jobs import SweepJob
from placet_runner.metrics import RunnerMetrics
from placet_runner.rules.differences import described
from placet_runner.settings import RunnerSettings
from placet_runner.store import StoredAgents, StoredDefinitions, StoredRuns, StoredSchemas
from placet_runner.store.definitions import INDEXES as BY_NAME
from placet_runner.store.expressions import clearing
from placet_runner.store.gauges import Gauges
from placet_runner.usecases.definitions import ManageDefinitions, Shelf
from placet_runner.usecases.grants import Grants, Trusted
from placet_runner.usecases.grip import Hand, Keyring
from placet_runner.usecases.replica import Replica
from placet_runner.usecases.sweep import Sweep
from placet_runner.usecases.talk import Talk
from placet_runner.usecases.thaw import Thaw
from placet_runner.usecases.watch import Watch

NAME = "runner"
USER = RUNNER_USER
INDEXES = [
    Index((("due", 1),), sparse=True),
    Index((("namespace", 1), ("order", -1))),
    Index((("waiting.freeze", 1),), sparse=True),
]

_log = logs.get(__name__)


def build(platform: Platform, loaded: Loaded | None = None, **settings: Any) -> Service:
    """The runner on this platform; nothing is opened or started yet.

    `loaded` and `settings` stand before what the environment and the file say.
    """
    return Runner(platform, load(RunnerSettings, **settings), loaded).service


class Runner:
    """The wired parts, and what starts and stops them."""

    def __init__(
        self, platform: Platform, settings: RunnerSettings, loaded: Loaded | None = None
    ) -> None:
        """Wire them. `loaded` stands in for what the settings would load."""
        self._settings = settings
        self._bus: Bus = platform.bus(USER)
        self._running: dict[str, Consumption] = {}
        self._control = f"placet.runner.control.{new_id('replica')[-12:]}"
        database = platform.database("runs")
        collection = database.collection("runs", INDEXES)
        self.runs = StoredRuns(collection, database.collection("journal"), lease=settings.lease)
        self.relay = Relay(collection, self._bus, platform.metrics, service=NAME, clearing=clearing)
        self.metrics = RunnerMetrics(platform.metrics)
        self.loaded = for_a_runner(loaded or _found(settings))
        self._clock = DatabaseClock(platform.clock, database)
        self._schemas = StoredSchemas(database.collection("schemas"))
        self._secrets, self._keys = StoredSecrets(database.collection("secrets")), Keyring()
        freezes = StoredFreezes(platform.database("auth"), platform.clock)
        hand = self._hand(StoredAgents(database.collection("agents")), freezes)
        self._watch = Watch(self.runs, self._clock)
        stored = StoredDefinitions(database.collection("definitions", BY_NAME))
        self.shelf = Shelf(self.loaded.agents, stored, self.loaded.operator, self._describe)
        self.replica = Replica(hand, self.shelf, settings.runner_slots, self._watch.moved)
        self.talk = Talk(
            runs=self.runs,
            agents=hand.agents,
            definitions=self.shelf,
            replica=self.replica,
            relay=self.relay,
            clock=self._clock,
            metrics=self.metrics,
        )
        thaw = Thaw(self.runs, hand.freezes, self.replica)
        sweep = Sweep(self.runs, self.replica, thaw, self.relay.send, self._bus, hand.clock.now)
        self._sweeping = SweepJob(sweep, self._clock, settings.sweep_seconds, self._clock.measure)
        self._consumers = RunnerConsumers(self.replica, self.talk)
        self._registry = platform.metrics
        self._registry.before_scrape(Gauges(collection, self.metrics, self._clock).refresh)

    def _hand(self, agents: StoredAgents, freezes: StoredFreezes) -> Hand:
        return Hand(
            runs=self.runs,
            agents=agents,
            schemas=self._schemas,
            freezes=freezes,
            relay=self.relay,
            clock=self._clock,
            metrics=self.metrics,
            owner=f"{socket.gethostname()}/{new_id('replica')[-8:]}",
            lease=self._settings.lease,
            keys=self._keys,
        )

    @property
    def service(self) -> Service:
        """The runner as the process runs it."""
        return Service(
            name=NAME,
            routers=(
                router(
                    self.talk,
                    self._watch,
                    lets_go=self.loaded.operator.tables.unattended.allow,
                ),
                definitions_router(
                    ManageDefinitions(self.shelf, self._clock), lambda: self.loaded.problems
                ),
                grants_router(
                    Grants(self.runs, self.talk.read, self._clock), Trusted(self.talk.agents)
                ),
            ),
            start=self.start,
            stop=self.stop,
            ready=self.ready,
        )

    async def start(self) -> None:
        """Begin to consume and to sweep. Raises Unavailable; call it again then."""
        for problem in self.loaded.problems:
            _log.error("agents_not_loaded", problem=problem)
        for refused in await asyncio.to_thread(refused_shells, self.loaded.agents.values()):
            _log.warning("shell_refused", reason=refused)
        handlers = {
            RUNS_QUEUE: self._consumers.on_command,
            RESOLUTIONS_QUEUE: self._consumers.on_resolution,
            self._control: self._consumers.on_control,
        }
        for queue, handler in handlers.items():
            if queue not in self._running:
                slots = self._settings.runner_slots
                name = "placet.runner.control" if queue == self._control else queue
                counted = measured(name, handler, self._registry)
                self._running[queue] = await self._bus.consume(queue, counted, prefetch=slots)
        given = self._settings.seal_key
        own = given.get_secret_value() if given else await self._secrets.kept("seal", new_key)
        self._keys.keys = tuple(own.split())
        tools = (tool for agent in self.loaded.agents.values() for tool in agent.toolbox.values())
        await self._describe(tools)
        await self._clock.measure()
        self._sweeping.start()

    async def _describe(self, tools: Iterable[Tool]) -> None:
        """Keep how these tools are described now."""
        await self._schemas.keep(map(described, tools))

    async def stop(self) -> None:
        """Take nothing more, hand runs back, and send what is written."""
        await self._sweeping.stop()
        await self.replica.take_no_more()
        for running in self._running.values():
            await running.stop()
        await self.replica.stop(self._settings.grace_seconds)
        await self.relay.drain()

    def ready(self) -> list[str]:
        """Why it is not ready."""
        lost = [f"no consumer on {queue}" for queue, c in self._running.items() if not c.alive]
        return lost + self._sweeping.ready()


def _found(settings: RunnerSettings) -> Loaded:
    """The agents that the settings name, as the operator bounds them."""
    return load_agents(settings.agents, read_operator(config_file()))
