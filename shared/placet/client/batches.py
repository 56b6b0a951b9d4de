"""Several answers in one request, and what each came to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from placet.client.inputs import Input
from placet.client.transport import problem_in
from placet.domain.answer import Action
from placet.errors import PlacetError

if TYPE_CHECKING:
    from placet.client.asynchronous import AsyncClient

Answered = Input | PlacetError
"""The settled input, or why its answer was refused."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of several: to which input, what, and in whose name."""

    id: str
    """Of the input: `inp_` + 32 hex digits."""
    content: Any = None
    action: Action | str = Action.ACCEPT
    from_: str | None = None
    digest: str | None = None
    """Of what was shown."""

    def body(self) -> dict[str, Any]:
        """As it travels."""
        given = {"content": self.content, "from": self.from_, "digest": self.digest}
        said = {name: value for name, value in given.items() if value is not None}
        return {"id": self.id, "action": str(self.action), **said}


def body_of(answers: Sequence[Answer], mode: str) -> dict[str, Any]:
    """A batch as it travels."""
    return {"answers": [each.body() for each in answers], "mode": mode}


def results_of(found: Any, client: "AsyncClient") -> list[Answered]:
    """What each answer of a batch came to, in the order given."""
    return [
        problem_in(each["problem"], each["status"])
        if "problem" in each
        else client.input_from(each["input"])
        for each in found["results"]
    ]
