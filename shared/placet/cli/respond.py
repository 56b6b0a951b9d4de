"""`placet respond`: list what waits, or answer one input by its id."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter, validators

from placet.cli.batch import answered_in
from placet.cli.exits import Exit, exit_for
from placet.cli.output import how_to_answer, notes, print_json, safe
from placet.cli.runs import Json, acting_user, client
from placet.cli.tables import INPUTS, inputs_rows, print_table
from placet.cli.wish import Wish
from placet.client import AsyncClient, Input
from placet.client.batches import Answer
from placet.domain.answer import Action
from placet.errors import Conflict, NotFound, PlacetError

_DECISION = Group("Decision", validator=validators.MutuallyExclusive())  # type: ignore[no-untyped-call]
_SCOPE = Group("Scope", validator=validators.MutuallyExclusive())  # type: ignore[no-untyped-call]
_FULL_ID = 36


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
    cancel: Annotated[
        bool, Parameter(group=_DECISION, negative="", help="There will be no answer.")
    ] = False,
    content: Annotated[str | None, Parameter(group=_DECISION, help="The answer as JSON.")] = None,
    field: Annotated[
        tuple[str, ...],
        Parameter(
            group=_DECISION, help="name=value, of a form or of several questions; repeatable."
        ),
    ] = (),
    batch: Annotated[
        Path | None,
        Parameter(
            group=_DECISION,
            help="Several answers, all or none: a JSON array or JSON lines; - for stdin.",
        ),
    ] = None,
    each: Annotated[
        bool, Parameter(negative="", help="With --batch: every answer for itself.")
    ] = False,
    trust: Annotated[
        bool, Parameter(negative="", help="With --approve: run this tool unasked from now on.")
    ] = False,
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
    """List what waits for a person, answer one input, or several at once.

    Exits with 5 if it was settled otherwise, 4 if you may not, 3 if there is no such input.
    """
    scope = _scope(stage, session)
    wish = Wish(text, content, choice, approve, deny, cancel, reason, scope, trust, field)
    async with client() as placet:
        if batch is not None:
            answers = answered_in(batch, acting_user(from_))
            if each:
                return _settled_each(answers, await placet.answer_each(answers), json)
            return _settled_all(await placet.answer_all(answers), json)
        if id is None:
            return _listed(await placet.inbox("pending"), json)
        return await _answered(await find(placet, id), wish, acting_user(from_), json)


async def _answered(target: Input, wish: Wish, from_: str | None, json: bool) -> int:
    action, value = wish.answer(target)
    return await settle(
        target, action, value, from_, json, lambda settled: _narrowed(settled, wish.scope)
    )


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
        for each in inputs:
            notes.print(f"[dim]{how_to_answer(each)}[/]")
    else:
        notes.print("nothing waits")
    return Exit.OK


def _settled_all(settled: list[Input], json: bool) -> int:
    if json:
        shown = [each.value.model_dump(mode="json") for each in settled]
        print_json({"answered": True, "inputs": shown})
    else:
        for each in settled:
            notes.print(f"{each.id} is {each.state}")
    return Exit.OK


def _settled_each(
    answers: Sequence[Answer], results: Sequence[Input | PlacetError], json: bool
) -> int:
    """What each came to; exits as the first one that was refused would on its own."""
    refused = [each for each in results if isinstance(each, PlacetError)]
    shown: list[dict[str, Any]] = []
    for answer, result in zip(answers, results, strict=True):
        if isinstance(result, PlacetError):
            shown.append({"id": answer.id, "problem": {"code": result.code, "detail": str(result)}})
            notes.print(f"{safe(answer.id)} [red]not taken:[/] {safe(result)}")
        else:
            shown.append({"id": answer.id, "input": result.value.model_dump(mode="json")})
            notes.print(f"{result.id} is {result.state}")
    if json:
        print_json({"results": shown})
    return exit_for(refused[0]) if refused else Exit.OK


async def find(placet: AsyncClient, id: str) -> Input:
    """By the whole id, or the beginning of exactly one that waits."""
    if len(id) >= _FULL_ID:
        return await placet.input(id)
    found = [each for each in await placet.inbox("pending") if each.id.startswith(id)]
    if len(found) != 1:
        raise NotFound(f"{len(found)} waiting inputs begin with {id!r}; give the whole id")
    return found[0]


async def settle(
    target: Input,
    action: Action,
    value: Any,
    from_: str | None,
    json: bool,
    more: Callable[[Input], str],
) -> int:
    """Answer what was shown, and print what became of it; `more` is said behind its state."""
    digest = target.value.digest or target.value.request.digest or None
    try:
        settled = await target.settle(action, value, from_=from_, digest=digest)
    except Conflict as error:
        _show_conflict(error, json)
        return Exit.CONFLICT
    if json:
        print_json({"answered": True, "input": settled.value.model_dump(mode="json")})
    else:
        notes.print(f"{settled.id} is {settled.state}{more(settled)}")
    return Exit.OK


def _show_conflict(error: Conflict, json: bool) -> None:
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
