"""The notifier's own settings, from the same places as everybody's."""

from datetime import timedelta

from pydantic import Field

from placet.process.settings import Settings


class NotifierSettings(Settings):
    """Settings of the notifier."""

    notifier_prefetch: int = Field(default=500, ge=1, le=10_000)
    """How many events are taken from the queue at once."""
    event_retention_days: float = Field(default=7, ge=1, le=365)
    """How long events and ended deliveries are kept; a stream can be continued for so long."""
    webhook_allow_private: bool = False
    """Webhooks may go to http:// and to private and loopback addresses: for development and tests."""
    webhook_slots: int = Field(default=64, ge=1, le=1000)
    """How many webhooks one replica sends at once."""
    webhook_slots_each: int = Field(default=8, ge=1, le=1000)
    """How many of them to one endpoint, so that a slow one holds up no others."""
    webhook_timeout_seconds: float = Field(default=10, gt=0, le=60)
    """How long a receiver has to answer."""
    webhook_poll_seconds: float = Field(default=1, gt=0, le=60)
    """The longest a replica goes without looking for deliveries that are due."""
    stream_poll_seconds: float = Field(default=0.5, gt=0, le=60)
    """How often a replica with open streams looks for what other replicas stored."""

    @property
    def retention(self) -> timedelta:
        """The retention as a span."""
        return timedelta(days=self.event_retention_days)

    @property
    def webhook_timeout(self) -> timedelta:
        """The time-out as a span."""
        return timedelta(seconds=self.webhook_timeout_seconds)
