"""What needs a person: six levels, what lifts an ask, and what a prompt offers. Pure."""

from placet.gate.facts import Assessment, Facts, Role
from placet.gate.lifting import Standing, gate
from placet.gate.offers import Offer, granted, offer
from placet.gate.policy import AllowList, Layer, Policy, Source, SourcePolicy
from placet.gate.verdict import Decision, Level, Reason, Verdict

__all__ = [
    "AllowList",
    "Assessment",
    "Decision",
    "Facts",
    "Layer",
    "Level",
    "Offer",
    "Policy",
    "Reason",
    "Role",
    "Source",
    "SourcePolicy",
    "Standing",
    "Verdict",
    "gate",
    "granted",
    "offer",
]
