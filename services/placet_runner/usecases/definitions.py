"""The definitions that runs can be of: those of the operator's files, and those that came over the API."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from placet.agents.agent import Agent
from placet.agents.operator import Operator
from placet.agents.sent import is_name, sent_definition
from placet.agents.tool import Tool
from placet.clock import Clock
from placet.domain.digest import digest_of
from placet.errors import Changed, Conflict, DefinitionError, FieldError, Invalid, NotFound, Refused
from placet.process import logs
from placet.process.idempotency import Once
from placet_runner.rules.definitions import StoredDefinition

MOST = 500
"""Definitions of one namespace that came over the API."""
_READ = 1000
"""Of how many versions the agents are kept, so that a claim does not read them again."""

_log = logs.get(__name__)


class Definitions(Protocol):
    """Definitions that came over the API, by namespace and name."""

    async def get(self, namespace: str, name: str) -> StoredDefinition | None:
        """One of this namespace."""
        ...

    async def get_many(self, namespace: str, names: Iterable[str]) -> dict[str, StoredDefinition]:
        """Those of these names that there are, by name."""
        ...

    async def names(self, namespace: str, limit: int) -> list[str]:
        """The names in a namespace, sorted."""
        ...

    async def add(self, made: StoredDefinition) -> bool:
        """Insert; False if there is one of this name."""
        ...

    async def replace(self, seen: StoredDefinition, made: StoredDefinition) -> bool:
        """Replace the very version that was seen; False: it is another by now."""
        ...

    async def remove(self, seen: StoredDefinition) -> bool:
        """Delete the very version that was seen; False: it is another by now, or gone."""
        ...


class Shelf:
    """Finds the agent of a name. One of a file is in every namespace, and stands before any other.

    What came over the API is read at each use: a change holds from then on, on every replica.
    """

    def __init__(
        self,
        files: Mapping[str, Agent],
        stored: Definitions,
        operator: Operator,
        keep: Callable[[Iterable[Tool]], Awaitable[None]],
    ) -> None:
        """`keep` keeps how tools are described, for the difference that a later change makes."""
        self.files = files
        self.stored = stored
        self._operator = operator
        self._keep = keep
        self._read: dict[tuple[str, str, str], Agent] = {}

    async def find(self, namespace: str, name: str) -> Agent | None:
        """The agent; None: there is none, or what there is can't be used any more.

        Raises Unavailable.
        """
        if name in self.files or not is_name(name):
            return self.files.get(name)
        found = await self.stored.get(namespace, name)
        if found is None:
            return None
        try:
            return await self.agent(found)
        except (Refused, DefinitionError) as error:
            _log.warning("definition_not_loaded", name=name, reason=str(error))
        return None

    async def agent(self, found: StoredDefinition) -> Agent:
        """The agent that this describes, as the operator bounds it. Raises as `sent_definition`."""
        key = (found.namespace, found.name, found.digest)
        agent = self._read.get(key)
        if agent is None:
            agent = sent_definition(found.name, found.body).under(self._operator)
            await self._keep(agent.toolbox.values())
            if len(self._read) >= _READ:
                self._read.clear()
            self._read[key] = agent
        return agent

    async def names(self, namespace: str) -> list[str]:
        """Every definition that a run of this namespace can be of, sorted."""
        return sorted({*self.files, *await self.stored.names(namespace, MOST)})


class ManageDefinitions:
    """Definitions over the API: shown, put, deleted. A change says which version it is of."""

    def __init__(self, shelf: Shelf, clock: Clock) -> None:
        self.shelf = shelf
        self._clock = clock

    async def get(self, namespace: str, name: str) -> StoredDefinition:
        """One that came over the API. Raises NotFound."""
        found = await self.shelf.stored.get(namespace, name) if is_name(name) else None
        if found is None:
            raise NotFound(f"there is no definition {name[:100]!r}")
        return found

    async def create(
        self, namespace: str, name: str, body: Mapping[str, Any], by: str, once: Once | None
    ) -> tuple[StoredDefinition, bool]:
        """A new one, and True; or the one that this very request made before, and False.

        Raises:
            Invalid, DefinitionError, TooLarge: it can't be used.
            Conflict: a file has that name, the namespace has its 500, or the key made another.
            Changed: there is one of this name.
        """
        made = await self._made(namespace, name, body, by)
        if once is not None:
            made = replace(made, request=f"{once.id} {once.digest}")
        if len(await self.shelf.stored.names(namespace, MOST)) >= MOST:
            raise Conflict(
                f"a namespace has at most {MOST} definitions", code="too_many_definitions"
            )
        if await self.shelf.stored.add(made):
            return made, True
        found = await self.get(namespace, name)
        if once is not None and found.request is not None:
            request, _, digest = found.request.partition(" ")
            if request == once.id:
                once.check(digest)
                return found, False
        raise Changed(f"there is a definition {name!r}; to replace it send its ETag as If-Match")

    async def replace(
        self, seen: StoredDefinition, body: Mapping[str, Any], by: str
    ) -> StoredDefinition:
        """Another body for one. Raises as `create`; Changed: it is another version by now."""
        made = await self._made(seen.namespace, seen.name, body, by)
        later = replace(
            made,
            version=seen.version + 1,
            created_at=seen.created_at,
            created_by=seen.created_by,
            request=seen.request,
        )
        if not await self.shelf.stored.replace(seen, later):
            raise Changed(f"the definition {seen.name!r} was changed at this moment; read it again")
        return later

    async def delete(self, seen: StoredDefinition) -> None:
        """Delete this version. Its runs wait until there is one of this name again, or are aborted."""
        if not await self.shelf.stored.remove(seen):
            raise Changed(f"the definition {seen.name!r} was changed at this moment; read it again")

    def refuse_file(self, name: str) -> None:
        """Raise Conflict where a file has that name: it would win."""
        if name in self.shelf.files:
            raise Conflict(
                f"{name!r} is in a file of the operator's; change it there, or take another name",
                code="in_a_file",
            )

    async def _made(
        self, namespace: str, name: str, body: Mapping[str, Any], by: str
    ) -> StoredDefinition:
        now = self._clock.now()
        made = StoredDefinition(namespace, name, body, 1, digest_of(body), now, by, now, by)
        agent = await self.shelf.agent(made)
        for number, each in enumerate(agent.delegate_names):
            if each != name and await self.shelf.find(namespace, each) is None:
                detail = f"delegates names {each[:100]!r}, and there is no such definition here"
                raise Invalid(detail, [FieldError(f"/delegates/{number}", detail)])
        return made
