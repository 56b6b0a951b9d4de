"""The async SDK. Every object is a value with the client that fetched it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

from placet.client.batches import Answer, Answered, body_of, results_of
from placet.client.freezing import Freezes
from placet.client.hearing import OnInput, heard
from placet.client.inputs import Input
from placet.client.transport import Transport
from placet.domain.grant import GivenGrant
from placet.domain.heritage import UnattendedApproval
from placet.domain.resolution import Input as InputValue
from placet.domain.run import Message, PassedPoint, Problem, RunStatus
from placet.domain.run import Run as RunValue

WAIT = 25.0
"""Seconds that one request for a run waits for it to stand still; then it is asked again."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run as it stood when it was fetched."""

    value: RunValue
    _client: "AsyncClient"

    @property
    def id(self) -> str:
        """`run_` + 32 hex digits."""
        return self.value.id

    @property
    def agent_id(self) -> str:
        """The agent that it is a turn of."""
        return self.value.agent_id

    @property
    def status(self) -> RunStatus:
        """`queued`, `running`, `input_required`, `completed`, `failed`, `cancelled`."""
        return self.value.status

    @property
    def text(self) -> str | None:
        """What the agent said, once completed."""
        return self.value.text

    @property
    def error(self) -> Problem | None:
        """Why it failed."""
        return self.value.error

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What waits for a person, oldest first."""
        return tuple(Input(value, self._client) for value in self.value.inputs)

    @property
    def passed(self) -> tuple[PassedPoint, ...]:
        """Interaction points that it went past although nobody approved them, and how."""
        return self.value.passed

    @property
    def undelivered(self) -> tuple[Message, ...]:
        """Messages that nobody read before the end."""
        return self.value.undelivered

    async def refresh(self) -> "Run":
        """The run as it stands now."""
        return await self._client.runs.get(self.id)

    async def wait(self) -> "Run":
        """The run once it needs somebody, or has ended."""
        return await self._client.runs.wait(self.id)

    async def abort(self) -> "Run":
        """End it at once."""
        return self._client.run_from(await self._client.transport.post(f"/v1/runs/{self.id}/abort"))


@dataclass(frozen=True, slots=True)
class Agent:
    """A definition by its name, or an agent by its id."""

    name: str
    _client: "AsyncClient"

    async def start(
        self,
        text: str,
        *,
        user: str | None = None,
        key: str | None = None,
        unattended: UnattendedApproval | None = None,
    ) -> Run:
        """Start a run and return at once. The same `key` is the same run.

        `unattended`: nobody is there, for it and all runs below it; what becomes of what would ask.
        """
        said = {"input": text, "user": user, "unattended": unattended}
        body = {name: value for name, value in said.items() if value is not None}
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        path = f"/v1/agents/{self.name}/runs"
        return self._client.run_from(await self._client.transport.post(path, body, headers=headers))

    async def run(
        self,
        text: str,
        *,
        user: str | None = None,
        key: str | None = None,
        on_input: OnInput | None = None,
        from_: str | None = None,
        unattended: UnattendedApproval | None = None,
    ) -> Run:
        """Start a run and wait until it needs somebody, or has ended.

        Args:
            text: what it is to do.
            user: on whose behalf.
            key: the same key is the same run.
            on_input: hears each input as it is asked. What it returns answers the input, with
                `from_` where the credential answers for others; None leaves it for later.
            from_: who answers through `on_input`.
            unattended: as `start` takes it.
        """
        run = await (await self.start(text, user=user, key=key, unattended=unattended)).wait()
        return run if on_input is None else await heard(run, on_input, from_)

    async def message(
        self, text: str, *, mode: str = "supersede", user: str | None = None, key: str | None = None
    ) -> Run:
        """Tell it something while it works. `mode="queue"` keeps what waits for an answer.

        The same `key` counts once for a run. Raises Conflict if it was used for another text.
        """
        body = {"text": text, "mode": mode} | ({"user": user} if user else {})
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        path = f"/v1/agents/{self.name}/messages"
        return self._client.run_from(await self._client.transport.post(path, body, headers=headers))

    async def pending_inputs(self) -> list[Input]:
        """What waits for a person."""
        return await self._client.list_inputs(f"/v1/agents/{self.name}/inputs", "pending")

    async def trusted(self, *, user: str | None = None) -> list[str]:
        """The tools that a person trusts of this agent: the credential's, or another."""
        found = await self._client.transport.get(f"/v1/agents/{self.name}/trust", user=user)
        return list(found["items"])

    async def end_trust(self, tool: str, *, user: str | None = None) -> list[str]:
        """Trust a tool no more; what is trusted still."""
        path = f"/v1/agents/{self.name}/trust/{quote(tool, safe='')}"
        whose = f"?user={quote(user, safe='')}" if user else ""
        return list((await self._client.transport.delete(path + whose))["items"])

    async def abort(self) -> Run:
        """End its current run at once; what waits is cancelled."""
        path = f"/v1/agents/{self.name}/abort"
        return self._client.run_from(await self._client.transport.post(path))


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of the credential's namespace."""

    _client: "AsyncClient"

    async def get(self, run_id: str) -> Run:
        """One run as it stands now. Raises NotFound."""
        return self._client.run_from(await self._client.transport.get(f"/v1/runs/{run_id}"))

    async def grants(self, run_id: str) -> list[GivenGrant]:
        """What was allowed in this run beyond one call. Raises NotFound."""
        found = await self._client.transport.get(f"/v1/runs/{run_id}/grants")
        return [GivenGrant.model_validate(each) for each in found["items"]]

    async def revoke_grant(self, run_id: str, grant_id: str) -> GivenGrant:
        """Take a grant back. Raises NotFound; Conflict if the run has ended."""
        path = f"/v1/runs/{run_id}/grants/{grant_id}"
        return GivenGrant.model_validate(await self._client.transport.delete(path))

    async def journal(self, run_id: str) -> list[dict[str, Any]]:
        """Every finished step of a run, oldest first."""
        found = await self._client.transport.get(f"/v1/runs/{run_id}", journal=True)
        return list(found["journal"])

    async def list(
        self, *, status: str | None = None, agent: str | None = None, limit: int = 50
    ) -> list[Run]:
        """The newest runs."""
        page = await self._client.transport.get("/v1/runs", status=status, agent=agent, limit=limit)
        return [self._client.run_from(item) for item in page["items"]]

    async def wait(self, run_id: str, *, settled: str | None = None) -> Run:
        """A run once it stands still and, if `settled` is given, has taken up that input."""
        while True:
            path = f"/v1/runs/{run_id}"
            found = await self._client.transport.get(path, wait=WAIT, settled=settled)
            run = self._client.run_from(found)
            waiting = {value.id for value in run.value.inputs}
            if run.status not in (RunStatus.QUEUED, RunStatus.RUNNING) and settled not in waiting:
                return run


class AsyncClient:
    """Placet from Python. Use as `async with AsyncClient() as client:`.

    Takes what `Transport` takes: `url` and `key`, or `PLACET_URL` and `PLACET_KEY`; `channel` is how
    its answers are recorded, `sdk` unless said otherwise.
    """

    def __init__(self, url: str | None = None, key: str | None = None, **parts: Any) -> None:
        self.transport = Transport(url, key, **parts)
        self._for_others: bool | None = None

    def agent(self, name: str) -> Agent:
        """A definition by its name, or an agent by its id."""
        return Agent(name, self)

    @property
    def runs(self) -> Runs:
        """Get, list, wait for runs."""
        return Runs(self)

    @property
    def freezes(self) -> Freezes:
        """Keep calls from starting, and let them start again."""
        return Freezes(self.transport)

    async def input(self, input_id: str) -> Input:
        """One input by its id. Raises NotFound."""
        return self.input_from(await self.transport.get(f"/v1/inputs/{input_id}"))

    async def answer_all(self, answers: Sequence[Answer]) -> list[Input]:
        """Answer several inputs: all of them settle, or none does. The same again is fine.

        Raises:
            Invalid: some do not fit; `errors` point at them, such as `/answers/1/content`.
            NotFound, NotAllowed: for one of them; the message names it.
            Conflict: some have settled otherwise; `body["conflicts"]` says which and how.
        """
        settled = await self.transport.post("/v1/inputs", body_of(answers, "all"))
        return [self.input_from(each) for each in settled["inputs"]]

    async def answer_each(self, answers: Sequence[Answer]) -> list[Answered]:
        """Answer several inputs, each for itself: the settled input, or why it was refused."""
        found = await self.transport.post("/v1/inputs", body_of(answers, "each"))
        return results_of(found, self)

    async def answers_for_others(self) -> bool:
        """Whether the credential must say in `from_` who answers; asked once."""
        if self._for_others is None:
            own = await self.transport.get("/v1/keys/self")
            self._for_others = not own["person"] and "answer:as" in own["scopes"]
        return self._for_others

    async def inbox(self, state: str | None = "pending", *, limit: int = 100) -> list[Input]:
        """Inputs across all agents, newest first; `None` for every state."""
        return await self.list_inputs("/v1/inputs", state, limit)

    async def list_inputs(self, path: str, state: str | None, limit: int = 100) -> list[Input]:
        """Inputs below a path."""
        page = await self.transport.get(path, state=state, limit=limit)
        return [self.input_from(item) for item in page["items"]]

    def run_from(self, body: Any) -> Run:
        """A run from its JSON."""
        return Run(RunValue.model_validate(body), self)

    def input_from(self, body: Any) -> Input:
        """An input from its JSON."""
        return Input(InputValue.model_validate(body), self)

    async def close(self) -> None:
        """Give the connections back."""
        await self.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
