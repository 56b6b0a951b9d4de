"""What the notifier serves over HTTP: webhooks and event streams."""

from fastapi import APIRouter

from placet_notifier.api import events, webhooks
from placet_notifier.metrics import NotifierMetrics
from placet_notifier.usecases.feed import Feeds
from placet_notifier.usecases.manage_webhooks import ManageWebhooks


def routers(
    manage: ManageWebhooks, feeds: Feeds, metrics: NotifierMetrics
) -> tuple[APIRouter, ...]:
    """Every router of the notifier."""
    return (webhooks.router(manage), events.router(feeds, metrics))
