"""What the reader makes of a line: its commands, or why it cannot tell."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """One argument word."""

    raw: str
    """As it was written."""
    text: str | None
    """What the program receives; `None` where bash makes the word (or several, or none) itself."""

    @property
    def plain(self) -> bool:
        """Whether it was written without quotes, escapes or anything that expands."""
        return self.raw == self.text


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command."""

    program: str
    """Exactly as written; always plain ASCII."""
    arguments: tuple[Word, ...]
    redirected: bool
    """Whether it has redirects. All of them are harmless: `/dev/null` and copies of descriptors."""
    text: str
    """The piece of the line that it is."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of which every command is known: bash runs these, in this order, or fewer of them."""

    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """A line of which it is not known what bash would run."""

    code: str
    """Stable, for programs."""
    sentence: str
    """What stands in the way, for people: "a command substitution at character 6"."""
    at: int
    """Where, as an offset into the line."""
