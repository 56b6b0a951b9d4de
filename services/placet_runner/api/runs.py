"""Runs and messages over REST: start, look, tell, end."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from placet.domain.heritage import UnattendedApproval
from placet.domain.naming import Name
from placet.domain.run import Message, Run, RunStatus
from placet.errors import Invalid
from placet.ids import derived_id, new_id
from placet.process.caller import Caller
from placet.process.cursors import Cursor, cursor_of, place_of
from placet.process.idempotency import Key
from placet_runner.api.callers import Reader, Writer, lets_go_on, may_go_unwatched, on_behalf
from placet_runner.rules.views import run_view
from placet_runner.usecases.talk import Talk
from placet_runner.usecases.watch import Watch, family

MAX_WAIT = 60.0


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", use_attribute_docstrings=True)


class StartBody(_Body):
    """Start a run."""

    input: str = Field(min_length=1, max_length=65_536)
    """What the agent is asked to do."""
    user: Name | None = None
    """On whose behalf; somebody else than the credential needs `runs:as`."""
    unattended: UnattendedApproval | None = None
    """Nobody is there: what becomes of calls that would ask, in this run and all below it. `allow`
    needs the scope `runs:unattended` and the operator's word."""


class MessageBody(_Body):
    """Tell a running agent something."""

    text: str = Field(min_length=1, max_length=65_536)
    mode: Literal["supersede", "queue"] = "supersede"
    """`supersede` closes what waits for an answer; `queue` is read after it."""
    id: str | None = Field(default=None, min_length=1, max_length=200)
    """The sender's own id: the same one counts once."""
    user: Name | None = None


class RunPage(BaseModel):
    """Runs, newest first."""

    items: list[Run]
    next_cursor: str | None = None


def router(talk: Talk, watch: Watch, *, lets_go: bool) -> APIRouter:
    """The routes; `lets_go` is the operator's word on runs that let go on what would ask."""
    api = APIRouter(prefix="/v1", tags=["runs"])

    @api.post("/agents/{agent}/runs", status_code=202, summary="Start a run")
    async def start(agent: str, body: StartBody, who: Writer, key: Key = None) -> Run:
        """Start a run of a definition by its name, or of an agent by its id."""
        user = on_behalf(who, body.user)
        if body.unattended == "allow":
            may_go_unwatched(who, lets_go)
        image = await talk.start(
            who.namespace,
            agent,
            body.input,
            initiator=user,
            key=key,
            caller=who.id,
            unattended=body.unattended,
            lets_go=lets_go_on(who, lets_go),
        )
        return run_view(image.document)

    @api.get("/runs", summary="Runs, newest first")
    async def runs(
        who: Reader,
        status: RunStatus | None = None,
        agent: str | None = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        cursor: Cursor = None,
    ) -> RunPage:
        """Runs, newest first."""
        place = place_of("runs", cursor, str)
        images = await talk.runs.list(
            who.namespace, status=status, agent_id=agent, before=place and place[0], limit=limit
        )
        last = images[-1].document["order"] if len(images) == limit else None
        more = cursor_of("runs", last) if last else None
        return RunPage(items=[run_view(image.document) for image in images], next_cursor=more)

    @api.get("/runs/{run_id}", summary="One run")
    async def run(
        run_id: str,
        who: Reader,
        journal: bool = False,
        wait: Annotated[float, Query(ge=0, le=MAX_WAIT)] = 0,
        settled: str | None = None,
    ) -> Run:
        """One run. With `wait`, up to that many seconds until it stands still.

        With `settled`, standing still does not count while that input is still open.
        """
        image = await talk.read(who.namespace, run_id)
        if wait:
            image = await watch.stands(image, wait, settled)
        entries = await talk.runs.history(image) if journal else None
        below = [each.document for each in await family(talk.runs, image)]
        return run_view(image.document, journal=entries, below=below)

    @api.post("/runs/{run_id}/messages", status_code=202, summary="Tell a run something")
    async def tell_run(run_id: str, body: MessageBody, who: Writer, key: Key = None) -> Run:
        """Tell a run something."""
        return await tell(run_id, body, who, key)

    @api.post("/agents/{agent}/messages", status_code=202, summary="Tell an agent something")
    async def tell(agent: str, body: MessageBody, who: Writer, key: Key = None) -> Run:
        """Tell an agent something while it works."""
        sender = on_behalf(who, body.user)
        own_id = _message_id(who, body.id, key)
        message = Message(id=own_id, text=body.text, sender=sender, mode=body.mode)
        image = await talk.tell(who.namespace, agent, message, lets_go=lets_go_on(who, lets_go))
        return run_view(image.document)

    @api.post("/runs/{run_id}/abort", summary="End a run at once")
    async def abort_run(run_id: str, who: Writer) -> Run:
        """End a run at once; one that ended already is shown as it ended."""
        return run_view((await talk.abort(who.namespace, run_id, who.id)).document)

    @api.post("/agents/{agent}/abort", summary="End an agent's current run at once")
    async def abort(agent: str, who: Writer) -> Run:
        """End an agent's current run at once."""
        return run_view((await talk.abort(who.namespace, agent, who.id)).document)

    return api


def _message_id(who: Caller, own: str | None, key: str | None) -> str:
    """The sender's own id of the message, as the body or the header says it; else a new one."""
    if own is not None and key not in (None, own):
        raise Invalid("the message has an id and another Idempotency-Key; send one of the two")
    said = own or key
    return derived_id("msg", who.namespace, who.id, said) if said else new_id("msg")
