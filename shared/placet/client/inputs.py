"""One question to a person, and every way to answer it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from placet.client import checks
from placet.domain.answer import Action
from placet.domain.interaction import InputState, Kind
from placet.domain.resolution import Input as InputValue
from placet.domain.resolution import Resolution

if TYPE_CHECKING:
    from placet.client.asynchronous import AsyncClient, Run


LONGEST_WAIT = 25.0
"""Seconds that one request waits for an input to settle; then it is asked again."""


@dataclass(frozen=True, slots=True)
class Input:
    """One question to a person, with the ways to answer it."""

    value: InputValue
    _client: "AsyncClient"

    @property
    def id(self) -> str:
        """`inp_` + 32 hex digits."""
        return self.value.id

    @property
    def kind(self) -> Kind:
        """What is asked."""
        return self.value.request.kind

    @property
    def message(self) -> str:
        """The question."""
        return self.value.request.message

    @property
    def state(self) -> str:
        """`pending`, or how it ended."""
        return self.value.state

    @property
    def resolution(self) -> Resolution | None:
        """How it ended: what, who, when; None while it is pending."""
        return self.value.resolution

    async def settle(
        self,
        action: Action | str = Action.ACCEPT,
        content: Any = None,
        *,
        from_: str | None = None,
        digest: str | None = None,
    ) -> "Input":
        """Accept, decline or cancel, and get the settled input. The same outcome twice is fine.

        Raises:
            Invalid: the content does not fit; `errors` lists the fields.
            NotAllowed: `from_` may not answer.
            Conflict: it was settled otherwise; `body["input"]` says how, by whom and when.
        """
        body: dict[str, Any] = {"action": str(action)}
        if content is not None:
            body["content"] = content
        if from_ is not None:
            body["from"] = from_
        if digest is not None:
            body["digest"] = digest
        settled = await self._client.transport.post(f"/v1/inputs/{self.id}", body)
        return Input(InputValue.model_validate(settled), self._client)

    async def answer(self, value: Any, *, from_: str | None = None) -> "Run":
        """Answer, and wait for the run to go on: until it needs somebody again, or has ended.

        Approvals and confirms take True or False, questions a label or text, forms an object. With
        other inputs of the run still open, it is `input_required` still, and lists the rest.

        Raises as `settle` does. What can't be meant is Invalid before anything is sent, and so is what
        another service asks: that has no run, `accept` and `settle` answer it.
        """
        checks.check_goes_on(self.value.request)
        return await (await self.accept(value, from_=from_)).resumed()

    async def accept(self, value: Any, *, from_: str | None = None) -> "Input":
        """Answer, and return at once with the settled input. Raises as `answer` does."""
        checks.check_content(self.value.request, value)
        await self._check_from(from_)
        return await self.settle(Action.ACCEPT, value, from_=from_)

    async def decline(self, reason: str | None = None, *, from_: str | None = None) -> "Run":
        """Decline any input; an approval takes a reason. Returns the run, and raises, as `answer` does."""
        checks.check_goes_on(self.value.request)
        await self._check_from(from_)
        return await (await self.settle(Action.DECLINE, reason, from_=from_)).resumed()

    async def cancel(self, *, from_: str | None = None) -> "Run":
        """Cancel the question. Returns the run, and raises, as `answer` does."""
        checks.check_goes_on(self.value.request)
        await self._check_from(from_)
        return await (await self.settle(Action.CANCEL, from_=from_)).resumed()

    async def wait(self, seconds: float | None = None) -> "Input":
        """The input once somebody has settled it, or as it stands after that many seconds.

        Without `seconds`, however long it takes. It answers nothing.
        """
        until = monotonic() + seconds if seconds is not None else inf
        path = f"/v1/inputs/{self.id}"
        while True:
            left = max(0.0, min(until - monotonic(), LONGEST_WAIT))
            found = await self._client.transport.get(path, wait=left)
            value = InputValue.model_validate(found)
            if value.state != InputState.PENDING or monotonic() >= until:
                return Input(value, self._client)

    async def extend(self, expires_at: datetime, *, from_: str | None = None) -> "Input":
        """Move the deadline later, at most to 30 days from now.

        Raises:
            Invalid: it has no deadline, or this one can't be.
            NotAllowed: who may not answer may not extend either.
            Conflict: it has settled or expired.
        """
        body = {"expires_at": expires_at.isoformat()} | ({"from": from_} if from_ else {})
        extended = await self._client.transport.post(f"/v1/inputs/{self.id}/extend", body)
        return Input(InputValue.model_validate(extended), self._client)

    async def claim(self, *, from_: str | None = None) -> "Input":
        """Show for ten minutes that somebody looks at it; it stops nobody. Raises as `extend`."""
        return await self._attended("claim", {"from": from_} if from_ else {})

    async def release(self, *, from_: str | None = None) -> "Input":
        """Take a claim back; somebody else's stays. Raises as `extend`."""
        return await self._attended("release", {"from": from_} if from_ else {})

    async def edit_audience(
        self, *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> "Input":
        """Name other approvers. Needs the scope `operate`; raises as `extend`."""
        return await self._attended("audience", {"add": list(add), "remove": list(remove)})

    async def _attended(self, what: str, body: dict[str, Any]) -> "Input":
        changed = await self._client.transport.post(f"/v1/inputs/{self.id}/{what}", body)
        return Input(InputValue.model_validate(changed), self._client)

    async def withdraw(self) -> "Input":
        """Take back a request of the credential's own. Raises NotFound for anybody else's."""
        closed = await self._client.transport.post(f"/v1/requests/{self.id}/withdraw")
        return Input(InputValue.model_validate(closed), self._client)

    async def _check_from(self, from_: str | None) -> None:
        if from_ is None and self.value.request.audience.names_somebody:
            checks.check_says_who(await self._client.answers_for_others())

    async def resumed(self) -> "Run":
        """The run once it has taken up this settled input, and stands still again.

        Where more people must say yes, the run as it stands.
        """
        request = self.value.request  # of a run below another, the root is who the caller follows
        run_id, runs = request.root_run_id or request.run_id, self._client.runs
        if self.state == InputState.PENDING:
            return await runs.get(run_id)
        return await runs.wait(run_id, settled=self.id)
