"""Who calls, and what a credential may do. No I/O."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from placet.errors import NotAllowed


class Scope(StrEnum):
    """What a credential may do."""

    RUNS_READ = "runs:read"
    RUNS_WRITE = "runs:write"
    RUNS_AS = "runs:as"
    RUNS_UNATTENDED = "runs:unattended"
    INPUTS_READ = "inputs:read"
    INPUTS_ANSWER = "inputs:answer"
    ANSWER_AS = "answer:as"
    REVIEWS_ANSWER = "reviews:answer"
    DEFINITIONS_WRITE = "definitions:write"
    FREEZE = "freeze"
    OPERATE = "operate"


ALL_SCOPES = frozenset(str(scope) for scope in Scope)
PERSON_SCOPES = frozenset(
    {Scope.RUNS_READ, Scope.RUNS_WRITE, Scope.INPUTS_READ, Scope.INPUTS_ANSWER}
)
"""What a person may do: start runs, and answer as themselves."""
SERVICE_SCOPES = frozenset({Scope.RUNS_READ, Scope.RUNS_WRITE, Scope.INPUTS_READ})
"""What a service may do for which nothing else is said: ask, and read; it answers nothing."""
OPERATOR_SCOPES = ALL_SCOPES - {Scope.ANSWER_AS, Scope.RUNS_AS, Scope.RUNS_UNATTENDED}
"""What a person may do who runs the installation; in nobody else's name all the same."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is calling, by a credential that was valid a moment ago."""

    namespace: str
    id: str
    """A person's id such as `alice`, or `service:NAME`."""
    scopes: frozenset[str]
    credential: str
    """The id of the key, session or AMQP user; never the secret."""
    by_session: bool = False
    """A browser sends this credential by itself: unsafe requests need an Origin of ours."""
    claimed_groups: frozenset[str] = frozenset()
    """Groups that the token told by which they came, or that began their session."""

    @property
    def is_person(self) -> bool:
        """Whether this is a person's own credential."""
        return not self.id.startswith("service:")

    def may(self, scope: str) -> bool:
        """Whether the credential has this scope."""
        return scope in self.scopes

    def need(self, *scopes: str) -> None:
        """Raise NotAllowed, naming what is missing, unless it has all of them."""
        missing = [scope for scope in scopes if scope not in self.scopes]
        if missing:
            raise NotAllowed(f"this credential lacks the scope {', '.join(missing)}")

    def need_to_grant(self, scopes: Iterable[str]) -> None:
        """Raise NotAllowed, naming what is too much: nobody gives what they do not have."""
        missing = sorted(set(scopes) - self.scopes)
        if missing:
            raise NotAllowed(f"this credential can't grant {', '.join(missing)}: it lacks that")
