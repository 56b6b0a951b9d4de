"""Risk tiers of tools, lowest first."""

from enum import StrEnum


class ToolRisk(StrEnum):
    """How much harm a call can do. Undeclared is `safe`; comparison follows the order below."""

    SAFE = "safe"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for the lowest tier."""
        return _ORDER.index(self)

    def reaches(self, threshold: "ToolRisk") -> bool:
        """Whether this tier is at or above `threshold`."""
        return self.rank >= threshold.rank


_ORDER = list(ToolRisk)
