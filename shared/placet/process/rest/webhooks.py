"""/v1/webhooks and /v1/events: who is told about what happens."""

from datetime import datetime

from pydantic import BaseModel

from placet.messages.examples import events
from placet.process.rest.operation import KEY, MADE, Operation, page


class Webhook(BaseModel):
    """An endpoint that is told about events; without its secret."""

    id: str
    url: str
    types: list[str]
    description: str
    created_at: datetime
    created_by: str
    disabled_at: datetime | None
    disabled_reason: str | None
    old_secret_until: datetime | None


class WebhookShown(BaseModel):
    """One webhook."""

    webhook: Webhook


class WebhookMade(BaseModel):
    """A webhook whose secret is new, and shown this once."""

    webhook: Webhook
    secret: str | None
    """None where this very request had made it before."""


class WebhookPage(BaseModel):
    """The webhooks of a namespace."""

    items: list[Webhook]
    next_cursor: str | None


class WebhookDelivery(BaseModel):
    """One event on its way to one webhook."""

    id: str
    webhook_id: str
    event_id: str
    type: str
    state: str
    attempts: int
    created_at: datetime
    next_at: datetime | None
    last_at: datetime | None
    last_status: int | None
    last_error: str | None


class DeliveryPage(BaseModel):
    """Deliveries of a webhook, newest first."""

    items: list[WebhookDelivery]
    next_cursor: str | None


class DeliveryAgain(BaseModel):
    """A delivery that is sent once more."""

    delivery: WebhookDelivery


def operations() -> dict[str, Operation]:
    """By operation id."""
    id, event = "whk_" + KEY * 2, events()["input_requested"]
    sent = {"url": "https://example.com/placet", "types": [event.type], "description": "ops"}
    made = {
        "id": id,
        **sent,
        "created_at": MADE,
        "created_by": "alice",
        "disabled_at": None,
        "disabled_reason": None,
        "old_secret_until": None,
    }
    fresh = {"webhook": made, "secret": "whsec_..."}
    again = {"webhook": made, "secret": None}
    delivery = _delivery(id, event.id, event.type)
    sending = {"delivery": delivery | {"state": "pending"}}
    stream = f"id: 7\nevent: {event.type}\ndata: {event.model_dump_json()}\n\n"
    of_agent = stream.replace(".requested", "_required", 1)
    return {
        "notifier.create": Operation({"200": again, "201": fresh}, sent, WebhookMade),
        "notifier.list_all": Operation({"200": page(made)}, shape=WebhookPage),
        "notifier.get": Operation({"200": {"webhook": made}}, shape=WebhookShown),
        "notifier.delete": Operation(),
        "notifier.rotate": Operation({"200": fresh}, shape=WebhookMade),
        "notifier.deliveries": Operation({"200": page(delivery)}, shape=DeliveryPage),
        "notifier.redeliver": Operation({"202": sending}, shape=DeliveryAgain),
        "notifier.events": Operation({"200": stream}),
        "notifier.agent_events": Operation({"200": of_agent}),
    }


def _delivery(webhook: str, event: str, type: str) -> dict[str, object]:
    return {
        "id": "dlv_" + KEY * 2,
        "webhook_id": webhook,
        "event_id": event,
        "type": type,
        "state": "delivered",
        "attempts": 1,
        "created_at": MADE,
        "next_at": None,
        "last_at": "2026-03-14T09:26:54Z",
        "last_status": 204,
        "last_error": None,
    }
