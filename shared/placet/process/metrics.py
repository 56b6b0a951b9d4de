"""Metrics by Prometheus conventions: `placet_` in front, base units, few and bounded labels."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.process_collector import ProcessCollector

from placet.errors import PlacetError
from placet.process import logs

M = TypeVar("M", bound=MetricWrapperBase)
Refresh = Callable[[], Awaitable[None]]

disable_created_metrics()  # type: ignore[no-untyped-call]

FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Buckets of a machine's work, in seconds."""
HUMAN = (1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86_400, 3 * 86_400, 7 * 86_400)
"""Buckets of a person's time, in seconds."""
_REFRESH_WITHIN = 2.0

_log = logs.get(__name__)


class Metrics:
    """One registry for the process; the same name gives the same metric, whoever asks."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._made: dict[str, MetricWrapperBase] = {}
        self._refreshes: list[Refresh] = []

    def counter(self, name: str, text: str, labels: Sequence[str] = ()) -> Counter:
        """A counter `placet_NAME_total`; leave `_total` out of the name."""
        return self._make(Counter, name, text, labels)

    def gauge(self, name: str, text: str, labels: Sequence[str] = ()) -> Gauge:
        """A gauge `placet_NAME`."""
        return self._make(Gauge, name, text, labels)

    def histogram(
        self, name: str, text: str, labels: Sequence[str] = (), *, buckets: Sequence[float] = FAST
    ) -> Histogram:
        """A histogram `placet_NAME`; the name ends in its unit, `_seconds` or `_bytes`."""
        if name not in self._made:
            made = Histogram(
                f"placet_{name}", text, labels, registry=self.registry, buckets=buckets
            )
            self._made[name] = made
        found = self._made[name]
        assert isinstance(found, Histogram)  # noqa: S101 - one name, one type
        return found

    def before_scrape(self, refresh: Refresh) -> None:
        """Call this before each scrape, to set gauges that are read from a database."""
        self._refreshes.append(refresh)

    async def render(self) -> bytes:
        """The exposition text. A refresh that fails or takes long leaves its gauges as they were."""
        for refresh in self._refreshes:
            try:
                async with asyncio.timeout(_REFRESH_WITHIN):
                    await refresh()
            except (PlacetError, TimeoutError) as error:
                _log.warning("metrics_not_refreshed", reason=str(error) or type(error).__name__)
        return generate_latest(self.registry)

    def _make(self, cls: type[M], name: str, text: str, labels: Sequence[str]) -> M:
        if name not in self._made:
            self._made[name] = cls(f"placet_{name}", text, labels, registry=self.registry)
        found = self._made[name]
        assert isinstance(found, cls)  # noqa: S101 - one name, one type
        return found
