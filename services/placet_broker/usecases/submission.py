"""An answer before it is written: what was submitted, and every check that it must pass."""

from dataclasses import dataclass
from typing import Any

from placet.domain.answer import Action, reduce
from placet.domain.form import sealed_names
from placet.domain.interaction import FormRequest, InteractionRequest
from placet.domain.person import Person
from placet.errors import Conflict, Invalid, NotAllowed
from placet.ids import new_id
from placet.process.caller import Caller
from placet.sealing import PROCESS_MARKS
from placet_broker.ports import Interactions
from placet_broker.rules import answering, outgoing
from placet_broker.rules.record import Record
from placet_broker.rules.settling import Settlement, told
from placet_broker.usecases.arrivals import Arrivals

_NOT_OVER_THE_BUS = (
    "sealed fields do not pass through queues; answer this form over REST or on the page"
)


@dataclass(frozen=True, slots=True)
class Submission:
    """What was submitted, on which surface, by which credential."""

    input_id: str
    caller: Caller
    channel: str
    action: Action = Action.ACCEPT
    content: Any = None
    named: Person | None = None
    """`from`, where the surface has it."""
    digest: str | None = None
    """Of what was shown."""
    agent: str | None = None
    """The agent or definition that the path names."""
    answer_id: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """The settled interaction, and whether it was this answer that settled it."""

    record: Record
    settled_now: bool


class Checks:
    """Who may answer what; a refused try is kept with the interaction."""

    def __init__(self, interactions: Interactions, arrivals: Arrivals) -> None:
        self._interactions = interactions
        self._arrivals = arrivals
        self.marks = PROCESS_MARKS
        """Tells sealed answers apart; the same on every replica once the broker has started."""

    async def find(self, input_id: str, agent: str | None = None) -> Record:
        """The interaction, one of this agent's if the path names one. Raises NotFound."""
        record = await self._arrivals.get(input_id)
        if record is None or not record.request_json:
            raise answering.unknown(input_id)
        if agent is not None and agent not in record.agents:
            raise answering.unknown(input_id)
        return record

    async def who(self, record: Record, caller: Caller, named: Person | None) -> Person:
        """Who answers. Raises NotFound, NotAllowed, Invalid."""
        try:
            return answering.answerer(record, caller, named)
        except NotAllowed as error:
            await self._interactions.refuse(record, caller.id, str(error))
            raise

    def settlement_of(self, record: Record, submission: Submission, who: Person) -> Settlement:
        """What the answer amounts to.

        Raises:
            Invalid: the content does not fit.
            TooLarge: no message, or not the run that asks, could hold the outcome.
            Conflict: `shown_differs`: another question was shown than the one that is asked.
        """
        request = record.request()
        if submission.channel == "bus" and takes_secrets(request):
            raise Invalid(_NOT_OVER_THE_BUS)
        outcome = reduce(request, submission.action, submission.content, marks=self.marks)
        most = outgoing.longest_answer(record)
        outgoing.check_size(outcome.model_dump_json(), "the answer", most)
        if submission.digest is not None and submission.digest != record.digest:
            detail = "what was shown is not what is asked; look at it again"
            raise Conflict(detail, code="shown_differs", body={"input": record.as_fragment()})
        return Settlement(
            outcome, submission.channel, by=who, answer_id=submission.answer_id or new_id("ans")
        )


def takes_secrets(request: InteractionRequest) -> bool:
    """Whether an answer to it may hold what nobody but the tool may read."""
    return isinstance(request, FormRequest) and bool(sealed_names(request.form))


def fits_what_stands(record: Record, settlement: Settlement) -> bool:
    """Whether a settled interaction ended just as this answer would have it."""
    resolution = record.resolution
    return resolution is not None and resolution.outcome.same_as(settlement.outcome)


def settled_otherwise(record: Record) -> Conflict:
    """The error for an answer that came too late."""
    return Conflict(
        f"this input has settled already: {told(record)}",
        code="settled",
        body={"input": record.as_fragment()},
    )
