"""How far data may go: labels on results, clearances of tools."""

from enum import StrEnum


class Label(StrEnum):
    """From what anybody may see to what nobody outside may; unlabelled is `public`."""

    PUBLIC = "public"
    INTERNAL = "internal"
    PRIVATE = "private"

    @property
    def rank(self) -> int:
        """0 for `public`."""
        return list(Label).index(self)

    def above(self, clearance: "Label") -> bool:
        """Whether data of this label must not go where only `clearance` may."""
        return self.rank > clearance.rank


def highest(*labels: Label) -> Label:
    """The label of what is put together from these."""
    return max(labels, key=lambda label: label.rank, default=Label.PUBLIC)
