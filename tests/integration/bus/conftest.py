"""The private RabbitMQ, for the tests of this folder."""

from tests.support.rabbitmq import amqp_urls, empty_queues, rabbitmq

__all__ = ["amqp_urls", "empty_queues", "rabbitmq"]
