"""The sync SDK: the async one, run by a thread of its own. One implementation, two ways to call it."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

import anyio.from_thread
import anyio.to_thread
from anyio.from_thread import BlockingPortal

from placet.client.asynchronous import Agent, AsyncClient, Run, Runs
from placet.client.batches import Answer
from placet.client.inputs import Input

_OBJECTS = (Agent, Input, Run, Runs)


class Blocking:
    """An object of the async SDK whose coroutines are waited for.

    It has the attributes and methods of the object it stands for (`placet.client.Run`, `Input`,
    `Agent`), with the same arguments, results and errors; `await` is what is left out.
    """

    def __init__(self, target: Any, portal: BlockingPortal) -> None:
        self._target = target
        self._portal = portal

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if inspect.iscoroutinefunction(value):
            return self._waiting(value)
        return _wrapped(value, self._portal)

    def __repr__(self) -> str:
        return f"Blocking({self._target!r})"

    def _waiting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def call(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
            return await method(*args, **{name: self._heard(each) for name, each in named.items()})

        def wait(*args: Any, **named: Any) -> Any:
            return _wrapped(self._portal.call(call, args, named), self._portal)

        wait.__doc__ = method.__doc__
        return wait

    def _heard(self, argument: Any) -> Any:
        """A callback is called on a thread of its own, so that it may use what blocks."""
        if not callable(argument):
            return argument

        async def called(*told: Any) -> Any:
            given = [_wrapped(each, self._portal) for each in told]
            return await anyio.to_thread.run_sync(argument, *given)

        return called


class Client:
    """Placet from Python, sync. Use as `with Client() as client:`; has what `AsyncClient` has."""

    def __init__(self, url: str | None = None, key: str | None = None, **parts: Any) -> None:
        self._running: AbstractContextManager[BlockingPortal] = (
            anyio.from_thread.start_blocking_portal()
        )
        self._portal = self._running.__enter__()
        try:
            self._client = AsyncClient(url, key, **parts)
        except BaseException:
            self._running.__exit__(None, None, None)
            raise

    def agent(self, name: str) -> Any:
        """A definition by its name, or an agent by its id."""
        return Blocking(self._client.agent(name), self._portal)

    @property
    def runs(self) -> Any:
        """Get, list, wait for runs."""
        return Blocking(self._client.runs, self._portal)

    @property
    def freezes(self) -> Any:
        """Keep calls from starting, and let them start again."""
        return Blocking(self._client.freezes, self._portal)

    def input(self, input_id: str) -> Any:
        """One input by its id. Raises NotFound."""
        return Blocking(self._client, self._portal).input(input_id)

    def inbox(self, state: str | None = "pending", *, limit: int = 100) -> Any:
        """Inputs across all agents, newest first; `None` for every state."""
        return Blocking(self._client, self._portal).inbox(state, limit=limit)

    def answer_all(self, answers: Sequence[Answer]) -> Any:
        """Answer several inputs: all of them settle, or none does. As `AsyncClient.answer_all`."""
        return Blocking(self._client, self._portal).answer_all(answers)

    def answer_each(self, answers: Sequence[Answer]) -> Any:
        """Answer several inputs, each for itself: the settled input, or why it was refused."""
        return Blocking(self._client, self._portal).answer_each(answers)

    def close(self) -> None:
        """Give the connections back and end the thread."""
        self._portal.call(self._client.close)
        self._running.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _wrapped(value: Any, portal: BlockingPortal) -> Any:
    if isinstance(value, _OBJECTS):
        return Blocking(value, portal)
    if isinstance(value, list | tuple):
        return type(value)(_wrapped(item, portal) for item in value)
    return value
