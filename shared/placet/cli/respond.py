"""`placet respond`: list what waits, or answer one input by its id."""

import json as jsonlib
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Group, Parameter, validators

from placet.cli.exits import Exit
from placet.cli.output import how_to_answer, notes, print_json, safe
from placet.cli.runs import Json, acting_user, client
from placet.cli.tables import INPUTS, inputs_rows, print_table
from placet.client import AsyncClient, Input
from placet.domain.answer import Action
from placet.domain.interaction import ApprovalRequest
from placet.errors import Conflict, Invalid, NotFound

_DECISION = Group("Decision", validator=validators.MutuallyExclusive())  # type: ignore[no-untyped-call]
_SCOPE = Group("Scope", validator=validators.MutuallyExclusive())  # type: ignore[no-untyped-call]
_FULL_ID = 36


@dataclass(frozen=True, slots=True)
class Wish:
    """What the person typed."""

    text: str | None = None
    content: str | None = None
    choice: int | None = None
    approve: bool = False
    deny: bool = False
    reason: str | None = None
    scope: str | None = None

    def answer(self, waiting: Input) -> tuple[Action, Any]:
        """The action and content to send; what can't be meant is refused before anything is sent."""
        kind = waiting.kind.value
        approval = kind == "tool_approval"
        if self.deny:
            return Action.DECLINE, self.reason if approval else None
        if self.approve:
            if kind not in ("tool_approval", "confirm", "url"):
                raise Invalid(f"--approve does not answer a {kind}")
            return Action.ACCEPT, self._approval() if approval else True
        if self.choice is not None:
            return Action.ACCEPT, _printed_option(waiting, self.choice)
        if self.content is not None:
            return Action.ACCEPT, parsed(self.content, "--content")
        if self.text is None:
            raise Invalid("say the answer: a text, --choice, --approve, --deny or --content")
        return Action.ACCEPT, self.text

    def _approval(self) -> dict[str, Any]:
        content = {"decision": "approved", "scope": self.scope or "once"}
        return content | ({"reason": self.reason} if self.reason else {})


async def respond(  # noqa: PLR0913 - each is a flag that people type
    id: str | None = None,
    text: str | None = None,
    *,
    choice: Annotated[
        int | None, Parameter(group=_DECISION, help="The option's index, from 0.")
    ] = None,
    approve: Annotated[bool, Parameter(group=_DECISION, negative="", help="Yes.")] = False,
    deny: Annotated[
        bool, Parameter(group=_DECISION, negative="", help="No; declines any kind.")
    ] = False,
    content: Annotated[str | None, Parameter(group=_DECISION, help="The answer as JSON.")] = None,
    reason: Annotated[str | None, Parameter(help="Why; the model is told.")] = None,
    stage: Annotated[
        bool, Parameter(group=_SCOPE, negative="", help="Grant it for this stage.")
    ] = False,
    session: Annotated[
        bool, Parameter(group=_SCOPE, negative="", help="Grant it for the rest of this run.")
    ] = False,
    from_: Annotated[
        str | None, Parameter(name="--from", help="Who answers; PLACET_USER otherwise.")
    ] = None,
    json: Json = False,
) -> int:
    """List what waits for a person, or answer one input.

    Exits with 5 if it was settled otherwise, 4 if you may not, 3 if there is no such input.
    """
    async with client() as placet:
        if id is None:
            return _listed(await placet.inbox("pending"), json)
        scope = _scope(stage, session)
        wish = Wish(text, content, choice, approve, deny, reason, scope)
        target = await find(placet, id)
        action, value = wish.answer(target)
        digest = target.value.request.digest or None
        try:
            settled = await target.settle(action, value, from_=acting_user(from_), digest=digest)
        except Conflict as error:
            show_conflict(error, json)
            return Exit.CONFLICT
    if json:
        print_json({"answered": True, "input": settled.value.model_dump(mode="json")})
    else:
        notes.print(f"{settled.id} is {settled.state}{_narrowed(settled, scope)}")
    return Exit.OK


def _narrowed(settled: Input, wanted: str | None) -> str:
    """Said where the prompt did not offer the scope that was asked for."""
    given = settled.value.resolution and settled.value.resolution.outcome.scope
    if wanted is None or given in (None, wanted):
        return ""
    return f", {given} only: this prompt offers no grant for a {wanted}"


def _scope(stage: bool, session: bool) -> str | None:
    return "stage" if stage else "run" if session else None


def _listed(inputs: list[Input], json: bool) -> int:
    if json:
        print_json([each.value.model_dump(mode="json") for each in inputs])
    elif inputs:
        print_table(INPUTS, inputs_rows(inputs))
        notes.print(f"[dim]{how_to_answer(inputs[0])}[/]")
    else:
        notes.print("nothing waits")
    return Exit.OK


async def find(placet: AsyncClient, id: str) -> Input:
    """By the whole id, or the beginning of exactly one that waits."""
    if len(id) >= _FULL_ID:
        return await placet.input(id)
    found = [each for each in await placet.inbox("pending") if each.id.startswith(id)]
    if len(found) != 1:
        raise NotFound(f"{len(found)} waiting inputs begin with {id!r}; give the whole id")
    return found[0]


def show_conflict(error: Conflict, json: bool) -> None:
    """Say that an answer was not taken, and how the question was settled."""
    settled = error.body.get("input") or {}
    if json:
        print_json(
            {
                "answered": False,
                "problem": {"code": error.reason, "detail": str(error)},
                "input": settled,
            }
        )
        return
    notes.print(f"[red]not taken:[/] {safe(error)}")


def _printed_option(waiting: Input, choice: int) -> Any:
    """The index of an option; of an approval, the decision and the scope that the option stands for."""
    request = waiting.value.request
    if not isinstance(request, ApprovalRequest):
        return choice
    if not 0 <= choice <= len(request.scopes):
        raise Invalid(f"--choice {choice}: the options are 0 to {len(request.scopes)}")
    if choice == len(request.scopes):
        return {"decision": "denied"}
    return {"decision": "approved", "scope": request.scopes[choice]}


def parsed(text: str, flag: str) -> Any:
    """What a flag says in JSON. Raises Invalid."""
    try:
        return jsonlib.loads(text)
    except ValueError as error:
        raise Invalid(f"{flag} is no JSON: {error}") from error
