"""`placet review`: calls whose outcome nobody knows, or whose tool has changed, and settling one."""

from typing import Annotated, Any

from cyclopts import Group, Parameter, validators

from placet.cli.exits import Exit
from placet.cli.output import notes, print_input, print_json
from placet.cli.respond import find, settle
from placet.cli.runs import Json, acting_user, client
from placet.cli.tables import INPUTS, inputs_rows, print_table
from placet.cli.wish import parsed
from placet.client import AsyncClient, Input
from placet.domain.answer import Action
from placet.domain.interaction import Kind, ReviewRequest
from placet.errors import Invalid

_OUTCOME = Group("Outcome", validator=validators.MutuallyExclusive())  # type: ignore[no-untyped-call]


async def review(
    id: str | None = None,
    *,
    accept: Annotated[
        bool, Parameter(group=_OUTCOME, negative="", help="Go on with the tool as it is now.")
    ] = False,
    rerun: Annotated[
        bool, Parameter(group=_OUTCOME, negative="", help="Run the call again.")
    ] = False,
    happened: Annotated[
        str | None, Parameter(group=_OUTCOME, help="It happened, and this was its result.")
    ] = None,
    fail: Annotated[bool, Parameter(group=_OUTCOME, negative="", help="End the run.")] = False,
    args: Annotated[
        str | None, Parameter(help="With --accept: other arguments for the call, as JSON.")
    ] = None,
    from_: Annotated[
        str | None, Parameter(name="--from", help="Who answers; PLACET_USER otherwise.")
    ] = None,
    json: Json = False,
) -> int:
    """List the open reviews, show one with what changed, or settle it.

    Exits with 5 if it was settled otherwise, 4 if you may not, 3 if there is no such review.
    """
    content = _content(accept=accept, rerun=rerun, happened=happened, fail=fail, args=args)
    async with client() as placet:
        if id is None:
            if content is not None:
                raise Invalid("say which review (inp_...); `placet review` lists them")
            return _listed(await _open(placet), json)
        found = await find(placet, id)
        request = found.value.request
        if not isinstance(request, ReviewRequest):
            raise Invalid(f"{found.id} is no review; answer it with placet respond {found.id}")
        if content is None:
            return _shown(found, request, json)
        said = f": {content['outcome']}"
        return await settle(found, Action.ACCEPT, content, acting_user(from_), json, lambda _: said)


def _content(
    *, accept: bool, rerun: bool, happened: str | None, fail: bool, args: str | None
) -> dict[str, Any] | None:
    """What is sent; None where nothing is to be settled."""
    if args is not None and not accept:
        raise Invalid("--args goes with --accept")
    if accept:
        return {"outcome": "accept"} | ({} if args is None else {"args": parsed(args, "--args")})
    if happened is not None:
        return {"outcome": "happened", "result": happened}
    return {"outcome": "rerun"} if rerun else {"outcome": "fail"} if fail else None


async def _open(placet: AsyncClient) -> list[Input]:
    page = await placet.transport.get(
        "/v1/inputs", state="pending", kind=Kind.REVIEW.value, limit=100
    )
    return [placet.input_from(item) for item in page["items"]]


def _listed(found: list[Input], json: bool) -> int:
    if json:
        print_json([each.value.model_dump(mode="json") for each in found])
    elif found:
        print_table(INPUTS, inputs_rows(found))
        notes.print(f"[dim]placet review {found[0].id}[/]")
    else:
        notes.print("no review is open")
    return Exit.OK


def _shown(found: Input, request: ReviewRequest, json: bool) -> int:
    if json:
        print_json(found.value.model_dump(mode="json"))
        return Exit.OK
    print_input(found)
    if found.state == "pending":
        flags = (
            f"--{word}" + (" RESULT" if word == "happened" else "") for word in request.outcomes
        )
        notes.print(f"  [dim]placet review {found.id} {' | '.join(flags)}[/]")
    return Exit.OK
