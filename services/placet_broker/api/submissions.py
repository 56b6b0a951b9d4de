"""From a body of REST to what the use cases take."""

from starlette.requests import Request

from placet.process.auth import Caller
from placet_broker.api.bodies import AnswerBody
from placet_broker.usecases.submission import Submission

CHANNELS = frozenset({"rest", "cli", "sdk"})
CHANNEL_HEADER = "placet-channel"


def submitted(
    body: AnswerBody, id: str, who: Caller, request: Request, agent: str | None
) -> Submission:
    """An answer to this input; the header says which of Placet's own clients sent it."""
    said = request.headers.get(CHANNEL_HEADER, "rest")
    return Submission(
        input_id=id,
        caller=who,
        channel=said if said in CHANNELS else "rest",
        action=body.action,
        content=body.content,
        named=body.named,
        digest=body.digest,
        agent=agent,
    )
