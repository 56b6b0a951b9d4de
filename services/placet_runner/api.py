"""The runner's REST API: definitions, agents, runs, messages."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query
from pydantic import BaseModel, ConfigDict, Field

from placet.domain.grant import GivenGrant
from placet.domain.heritage import UnattendedApproval
from placet.domain.naming import Name
from placet.domain.run import Message, Run, RunStatus
from placet.errors import Invalid, NotAllowed
from placet.ids import derived_id, new_id
from placet.process.access import caller
from placet.process.auth import Caller
from placet_runner.rules.views import run_view
from placet_runner.usecases.grants import Grants, Trusted
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


Writer = Annotated[Caller, Depends(caller("runs:write"))]
Reader = Annotated[Caller, Depends(caller("runs:read"))]
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]


class GrantList(BaseModel):
    """The grants of one run, in the order in which they were given."""

    items: list[GivenGrant]


class TrustList(BaseModel):
    """The tools of an agent that a person trusts."""

    items: list[str]


def grants_router(grants: Grants, trusted: Trusted) -> APIRouter:
    """What was allowed beyond one call."""
    api = APIRouter(prefix="/v1", tags=["runner"])

    @api.get("/runs/{run_id}/grants")
    async def list_grants(run_id: str, who: Reader) -> GrantList:
        """The grants of a run, with who gave them and how often they were used."""
        return GrantList(items=await grants.list(who.namespace, run_id))

    @api.delete("/runs/{run_id}/grants/{grant_id}")
    async def revoke(run_id: str, grant_id: str, who: Writer) -> GivenGrant:
        """Take a grant back: what it covers and has not started asks again."""
        return await grants.revoke(who.namespace, run_id, grant_id, who.id)

    @api.get("/agents/{agent}/trust")
    async def list_trust(agent: str, who: Reader, user: Name | None = None) -> TrustList:
        """The tools of an agent (agt_...) that a person trusts; another than one's own needs `runs:as`."""
        person = _somebody(_on_behalf(who, user))
        return TrustList(items=list(await trusted.tools(who.namespace, agent, person)))

    @api.delete("/agents/{agent}/trust/{tool}")
    async def end_trust(agent: str, tool: str, who: Writer, user: Name | None = None) -> TrustList:
        """Trust a tool no more; what is trusted still."""
        person = _somebody(_on_behalf(who, user))
        return TrustList(items=list(await trusted.end(who.namespace, agent, person, tool)))

    return api


def router(
    talk: Talk, watch: Watch, problems: Callable[[], list[str]], *, lets_go: bool
) -> APIRouter:
    """The routes; `problems` tells which agent files could not be loaded.

    `lets_go`: the operator's word on runs that let go on what would ask.
    """
    api = APIRouter(prefix="/v1", tags=["runner"])

    @api.get("/definitions")
    async def definitions(who: Reader) -> dict[str, Any]:
        """What this runner has loaded, and what it could not load and why."""
        items = [
            {"name": name, "tools": sorted(agent.toolbox), "model": agent.resolved_model.name}
            for name, agent in sorted(talk.definitions.items())
        ]
        return {"items": items, "problems": problems()}

    @api.post("/agents/{agent}/runs", status_code=202)
    async def start(agent: str, body: StartBody, who: Writer, key: Key = None) -> Run:
        """Start a run of a definition by its name, or of an agent by its id."""
        user = _on_behalf(who, body.user)
        if body.unattended == "allow":
            _may_go_unwatched(who, lets_go)
        image = await talk.start(
            who.namespace,
            agent,
            body.input,
            initiator=user,
            key=key,
            caller=who.id,
            unattended=body.unattended,
            lets_go=_lets_go(who, lets_go),
        )
        return run_view(image.document)

    @api.get("/agents")
    async def agents(who: Reader) -> dict[str, Any]:
        """The definitions that runs can be started of, by name."""
        return {"items": [{"name": name} for name in sorted(talk.definitions)]}

    @api.get("/runs")
    async def runs(
        who: Reader,
        status: RunStatus | None = None,
        agent: str | None = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        cursor: str | None = None,
    ) -> RunPage:
        """Runs, newest first."""
        images = await talk.runs.list(
            who.namespace, status=status, agent_id=agent, before=cursor, limit=limit
        )
        more = images[-1].document["order"] if len(images) == limit else None
        return RunPage(items=[run_view(image.document) for image in images], next_cursor=more)

    @api.get("/runs/{run_id}")
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

    @api.post("/runs/{run_id}/messages", status_code=202)
    async def tell_run(run_id: str, body: MessageBody, who: Writer) -> Run:
        """Tell a run something."""
        return await tell(run_id, body, who)

    @api.post("/agents/{agent}/messages", status_code=202)
    async def tell(agent: str, body: MessageBody, who: Writer) -> Run:
        """Tell an agent something while it works."""
        own_id = derived_id("msg", who.namespace, who.id, body.id) if body.id else new_id("msg")
        sender = _on_behalf(who, body.user)
        message = Message(id=own_id, text=body.text, sender=sender, mode=body.mode)
        image = await talk.tell(who.namespace, agent, message, lets_go=_lets_go(who, lets_go))
        return run_view(image.document)

    @api.post("/runs/{run_id}/abort")
    async def abort_run(run_id: str, who: Writer) -> Run:
        """End a run at once; one that ended already is shown as it ended."""
        return run_view((await talk.abort(who.namespace, run_id, who.id)).document)

    @api.post("/agents/{agent}/abort")
    async def abort(agent: str, who: Writer) -> Run:
        """End an agent's current run at once."""
        return run_view((await talk.abort(who.namespace, agent, who.id)).document)

    return api


def _may_go_unwatched(who: Caller, lets_go: bool) -> None:
    if not lets_go:
        raise NotAllowed(
            "unattended runs that let everything go on are not allowed here; the operator's placet.toml "
            "says so with [unattended] allow = true"
        )
    if not _lets_go(who, lets_go):
        raise NotAllowed("letting go on what would ask needs the scope runs:unattended")


def _lets_go(who: Caller, lets_go: bool) -> bool:
    """Whether the caller may have a run let go on what would ask."""
    return lets_go and who.may("runs:unattended")


def _somebody(user: str | None) -> str:
    if user is None:
        raise Invalid("whose trust? Give user, or use a person's key")
    return user


def _on_behalf(who: Caller, user: str | None) -> str | None:
    """The initiator: the credential's person, or somebody else with `runs:as`."""
    own = who.id if who.is_person else None
    if user is None or user == own:
        return own
    if not who.may("runs:as"):
        raise NotAllowed(f"starting runs as {user!r} needs the scope runs:as")
    if user.startswith(("service:", "group:")):
        raise Invalid(f"user {user!r} is no person")
    return user
