"""Who acts."""

from placet.domain.base import Value


class Person(Value):
    """Somebody who answers or starts. Only the id counts; the rest is for people to read."""

    id: str
    name: str | None = None
    username: str | None = None
