"""Where the broker's parts meet."""

import secrets
from datetime import timedelta
from typing import Any

from placet.agents.operator import read_operator
from placet.bus.port import Bus, Consumption, Handler
from placet.errors import SettingsError
from placet.process.auth.login import Client, Login
from placet.process.consuming import measured
from placet.process.freezes import StoredFreezes
from placet.process.platform import Platform, Service
from placet.process.secrets import StoredSecrets
from placet.process.settings import config_file, load, require
from placet.sealing import Marks, new_key
from placet.store.clock import DatabaseClock
from placet_broker import api, consumers
from placet_broker.consumers import answers, requests, runs
from placet_broker.jobs import DueTimer
from placet_broker.metrics import BrokerMetrics
from placet_broker.settings import BrokerSettings
from placet_broker.store import StoredInteractions
from placet_broker.store.gauges import Gauges
from placet_broker.store.outbox import RelayOutbox
from placet_broker.usecases import UseCases
from placet_broker.usecases.answer_batch import AnswerBatch
from placet_broker.usecases.answer_input import AnswerInput
from placet_broker.usecases.arrivals import Arrivals
from placet_broker.usecases.attend_input import AttendInput
from placet_broker.usecases.close_input import CloseInput
from placet_broker.usecases.endings import Endings
from placet_broker.usecases.export_audit import ExportAudit
from placet_broker.usecases.link_input import LinkInput
from placet_broker.usecases.mark_applied import MarkApplied
from placet_broker.usecases.open_request import OpenRequest
from placet_broker.usecases.people import People
from placet_broker.usecases.read_inputs import ReadInputs, Waiters
from placet_broker.usecases.stand_still import StandStill
from placet_broker.usecases.submission import Checks
from placet_broker.usecases.sweep_due import SweepDue

NAME = "broker"
USER = "placet-broker"


def build(platform: Platform, **settings: Any) -> Service:
    """The broker on this platform; nothing is opened or started yet.

    `settings` stand before what the environment and the file say.
    """
    return Broker(platform, load(BrokerSettings, **settings)).service


class Broker:
    """The wired parts, and what starts and stops them."""

    def __init__(self, platform: Platform, settings: BrokerSettings) -> None:
        self._prefetch = settings.broker_prefetch
        self._bus: Bus = platform.bus(USER)
        self._auth = platform.auth
        self._auth.writes = True
        self._login = _login(platform, settings)
        self._registry = platform.metrics
        self._running: dict[str, Consumption] = {}
        database = platform.database("interactions")
        self.clock = DatabaseClock(platform.clock, database)
        self._secrets = StoredSecrets(database.collection("secrets"))
        self.interactions = StoredInteractions(database, self.clock)
        self.freezes = StoredFreezes(platform.database("auth"), self.clock)
        self.metrics = BrokerMetrics(platform.metrics)
        waiters = Waiters(self.interactions)
        self.outbox = RelayOutbox(
            self.interactions.collection,
            self._bus,
            platform.metrics,
            waiters.settled,
            settings.retention,
        )
        self.use_cases = self._use_cases(settings, waiters)
        self._timer = DueTimer(
            self.use_cases.sweep_due,
            self.interactions,
            self.clock,
            self.clock.measure,
            poll_seconds=settings.due_poll_seconds,
        )
        gauges = Gauges(
            self.interactions.collection, self._bus, self.metrics, self.clock, self.freezes
        )
        platform.metrics.before_scrape(gauges.refresh)

    @property
    def service(self) -> Service:
        """The broker as the process runs it."""
        return Service(
            name=NAME,
            routers=api.routers(self.use_cases, self._auth, self.freezes, self._login),
            start=self.start,
            stop=self.stop,
            ready=self.ready,
        )

    async def start(self) -> None:
        """Begin to consume and to look for what is due. Raises Unavailable; call it again then."""
        await self.clock.measure()
        self._checks.marks = Marks((await self._secrets.kept("marks", new_key)).encode())
        seed = await self._secrets.kept("audit", lambda: secrets.token_hex(32))
        self.use_cases.export_audit.seed = seed
        for queue, handler in self._handlers().items():
            if queue not in self._running:
                counted = measured(queue, handler, self._registry)
                self._running[queue] = await self._bus.consume(
                    queue, counted, prefetch=self._prefetch
                )
        self._timer.start()

    async def stop(self) -> None:
        """Take nothing more, and return when what was taken is settled and sent."""
        await self._timer.stop()
        for running in self._running.values():
            await running.stop()
        await self.outbox.drain()

    def ready(self) -> list[str]:
        """Why it is not ready."""
        lost = [f"no consumer on {queue}" for queue, c in self._running.items() if not c.alive]
        return lost + self._timer.ready()

    def _handlers(self) -> dict[str, Handler]:
        cases = self.use_cases
        asking = consumers.RequestsConsumer(
            cases.open_request, cases.close_input, self._auth, self.outbox
        )
        answering = consumers.AnswersConsumer(cases.answer_input, self._auth, self.outbox)
        return {
            requests.QUEUE: asking.handle,
            answers.QUEUE: answering.handle,
            runs.QUEUE: consumers.RunsConsumer(cases.mark_applied).handle,
        }

    def _use_cases(self, settings: BrokerSettings, waiters: Waiters) -> UseCases:
        interactions, outbox, metrics = self.interactions, self.outbox, self.metrics
        clock = self.clock
        arrivals = Arrivals(interactions, clock, settings.arrival_patience)
        people = People(self._auth.directory)
        checks = self._checks = Checks(interactions, arrivals, people)
        stand_still = StandStill(self.freezes, clock)
        endings = Endings(interactions, outbox, clock, metrics, people, stand_still)
        answer_input = AnswerInput(interactions, clock, metrics, checks, endings)
        return UseCases(
            open_request=OpenRequest(
                interactions, outbox, clock, metrics, people, default_life=_patience(settings)
            ),
            answer_input=answer_input,
            answer_batch=AnswerBatch(interactions, clock, metrics, checks, endings, answer_input),
            attend_input=AttendInput(interactions, clock, checks, endings),
            link_input=LinkInput(interactions, outbox, clock, checks, answer_input),
            export_audit=ExportAudit(interactions, clock),
            close_input=CloseInput(interactions, outbox, clock, metrics),
            mark_applied=MarkApplied(interactions, most=self._prefetch),
            read_inputs=ReadInputs(interactions, arrivals, people),
            waiters=waiters,
            sweep_due=SweepDue(interactions, outbox, endings, clock, retention=settings.retention),
        )


def _login(platform: Platform, settings: BrokerSettings) -> Login | None:
    """How people log in at the issuer, if they can. Raises SettingsError."""
    if settings.oidc_client_id is None:
        return None
    public_url = require(platform.settings, "public_url", "the issuer sends people back there")
    if platform.auth.tokens is None:
        raise SettingsError("PLACET_OIDC_ISSUER is missing: PLACET_OIDC_CLIENT_ID is its client")
    secret = settings.oidc_client_secret
    client = Client(
        id=settings.oidc_client_id,
        secret=secret.get_secret_value() if secret else None,
        redirect_uri=f"{public_url}/login/oidc/callback",
        scopes=settings.oidc_scopes,
        name=settings.oidc_name,
    )
    return Login(platform.auth.tokens, client)


def _patience(settings: BrokerSettings) -> timedelta | None:
    """How long a question stands whose asker does not say: the setting, or the operator's word."""
    seconds = settings.interaction_timeout_secs
    if seconds is None:
        return read_operator(config_file()).patience
    return timedelta(seconds=seconds) if seconds else None
