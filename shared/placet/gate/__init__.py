"""What needs a person. Today: `needs_approval`, risk tiers and the default; a seam for more."""

from placet.gate.gate import Decision, Facts, Policy, Reason, Verdict, judge

__all__ = ["Decision", "Facts", "Policy", "Reason", "Verdict", "judge"]
