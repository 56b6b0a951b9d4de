"""Fakes as a product: what you test your own agents with, and conformance cases for every port.

from placet.testing import FakePerson, ScriptedModel, calls, embedded, says, steps
"""

from placet.agents.scripted import ScriptedModel, calls, says, steps
from placet.testing.approvals import AutoApprovalHandler
from placet.testing.clock import HandClock
from placet.testing.embedded import Embedded, embedded
from placet.testing.person import FakePerson, Reply, Rule

__all__ = [
    "AutoApprovalHandler",
    "Embedded",
    "FakePerson",
    "HandClock",
    "Reply",
    "Rule",
    "ScriptedModel",
    "calls",
    "embedded",
    "says",
    "steps",
]
