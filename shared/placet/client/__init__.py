"""The SDK: start runs, answer inputs, look at both, from any process, sync or async."""

from placet.client.asynchronous import Agent, AsyncClient, Input, Run
from placet.client.blocking import Client

__all__ = ["Agent", "AsyncClient", "Client", "Input", "Run"]
