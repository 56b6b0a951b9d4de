"""Where the notifier's parts meet."""

from datetime import timedelta

from placet.bus.port import Bus, Consumption
from placet.messages.users import NOTIFIER_USER
from placet.process.consuming import measured
from placet.process.guarded import GuardedClient
from placet.process.platform import Platform, Service
from placet.process.settings import load
from placet_notifier import api
from placet_notifier.consumers import QUEUE, EventsConsumer
from placet_notifier.jobs.loops import Retention, Sending
from placet_notifier.jobs.sending import GuardedPoster
from placet_notifier.metrics import NotifierMetrics
from placet_notifier.settings import NotifierSettings
from placet_notifier.store import StoredDeliveries, StoredEndpoints, StoredEvents
from placet_notifier.store.gauges import Gauges
from placet_notifier.usecases.deliver import Deliver
from placet_notifier.usecases.feed import Feeds
from placet_notifier.usecases.manage_webhooks import ManageWebhooks
from placet_notifier.usecases.record_events import RecordEvents

NAME = "notifier"
USER = NOTIFIER_USER
LEASE = timedelta(seconds=30)
"""Beyond the time that a receiver has: how long until another try after a crash."""


def build(platform: Platform) -> Service:
    """The notifier on this platform; nothing is opened or started yet."""
    return Notifier(platform, load(NotifierSettings)).service


class Notifier:
    """The wired parts, and what starts and stops them."""

    def __init__(self, platform: Platform, settings: NotifierSettings) -> None:
        self._settings = settings
        self._platform = platform
        self._bus: Bus = platform.bus(USER)
        self._running: Consumption | None = None
        self._client = GuardedClient(allow_private=settings.webhook_allow_private)
        clock, database = platform.clock, platform.database("deliveries")
        self.metrics = NotifierMetrics(platform.metrics)
        self.log = StoredEvents(database, clock, settings.retention)
        self.endpoints = StoredEndpoints(database, clock)
        self.deliveries = StoredDeliveries(
            database,
            clock,
            lease=settings.webhook_timeout + LEASE,
            retention=settings.retention + timedelta(days=1),
        )
        self._wire()

    def _wire(self) -> None:
        settings, clock = self._settings, self._platform.clock
        poster = GuardedPoster(self._client, within=settings.webhook_timeout)
        self.feeds = Feeds(self.log, poll=settings.stream_poll_seconds)
        self.sending = Sending(
            Deliver(self.deliveries, self.endpoints, poster, clock, self.metrics),
            self.deliveries,
            clock,
            slots=settings.webhook_slots,
            slots_each=settings.webhook_slots_each,
            poll=settings.webhook_poll_seconds,
        )
        self.retention = Retention([self.log.forget, self.deliveries.forget], clock)
        wake = self.sending.loop.wake
        self.manage = ManageWebhooks(self.endpoints, self.deliveries, poster, clock, on_owed=wake)
        self.record = RecordEvents(
            self.log,
            self.endpoints,
            self.deliveries,
            clock,
            self.metrics,
            most=settings.notifier_prefetch,
            on_stored=self.feeds.stored,
            on_owed=wake,
        )
        gauges = Gauges(self.deliveries.collection, self.metrics, clock)
        self._platform.metrics.before_scrape(gauges.refresh)

    @property
    def service(self) -> Service:
        """The notifier as the process runs it."""
        return Service(
            name=NAME,
            routers=api.routers(self.manage, self.feeds, self.metrics),
            start=self.start,
            stop=self.stop,
            ready=self.ready,
        )

    async def start(self) -> None:
        """Begin to consume, to send and to forget. Raises Unavailable; call it again then."""
        if self._running is None:
            handler = measured(QUEUE, EventsConsumer(self.record).handle, self._platform.metrics)
            self._running = await self._bus.consume(
                QUEUE, handler, prefetch=self._settings.notifier_prefetch
            )
        self.sending.loop.start()
        self.retention.loop.start()

    async def stop(self) -> None:
        """Take nothing more, end the streams, and let tries under way finish."""
        self.feeds.close()
        if self._running is not None:
            await self._running.stop()
        await self.retention.loop.stop()
        await self.sending.stop()
        await self._client.close()

    def ready(self) -> list[str]:
        """Why it is not ready."""
        lost = self._running is None or not self._running.alive
        lines = [f"no consumer on {QUEUE}"] if lost else []
        return lines + self.sending.loop.ready() + self.retention.loop.ready()
