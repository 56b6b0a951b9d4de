"""What the broker hears on the bus; each handler returns only after the write."""

from placet_broker.consumers.answers import AnswersConsumer
from placet_broker.consumers.requests import RequestsConsumer
from placet_broker.consumers.runs import RunsConsumer

__all__ = ["AnswersConsumer", "RequestsConsumer", "RunsConsumer"]
