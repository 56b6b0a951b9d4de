"""The bus on RabbitMQ; the one package that imports aio-pika."""

from placet.bus.rabbit.bus import RabbitBus

__all__ = ["RabbitBus"]
