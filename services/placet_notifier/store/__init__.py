"""The notifier's documents: events, webhook endpoints, deliveries."""

from placet_notifier.store.deliveries import StoredDeliveries
from placet_notifier.store.endpoints import StoredEndpoints
from placet_notifier.store.events import StoredEvents

__all__ = ["StoredDeliveries", "StoredEndpoints", "StoredEvents"]
