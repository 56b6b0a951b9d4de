"""The SDK: start runs, answer inputs, look at both, from any process, sync or async."""

from placet.client.approving import WebApprovalHandler
from placet.client.asynchronous import Agent, AsyncClient, Run
from placet.client.batches import Answer
from placet.client.blocking import Client
from placet.client.inputs import Input

__all__ = ["Agent", "Answer", "AsyncClient", "Client", "Input", "Run", "WebApprovalHandler"]
