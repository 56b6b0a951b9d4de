"""What people may answer to a question, well or badly."""

from collections.abc import Sequence
from typing import Any

from placet.domain.interaction import (
    ApprovalRequest,
    InteractionRequest,
    Kind,
    MultipleChoiceRequest,
    QuestionsRequest,
    ReviewRequest,
)

WRONG: tuple[Any, ...] = (7.5, {"decision": "perhaps"}, ["x", 1])


def fitting(request: InteractionRequest) -> Sequence[Any]:
    """Contents that fit, the one that goes on first."""
    match request:
        case ApprovalRequest():
            scoped = [{"decision": "approved", "scope": s} for s in ("run", "stage")]
            exact = {"decision": "approved", "scope": "run", "grant": "exact"}
            edited = {"decision": "approved", "args": dict(request.call.args) | {"value": "z"}}
            return [True, False, *scoped, exact, {"decision": "skipped"}, edited]
        case MultipleChoiceRequest():
            return request.options
        case QuestionsRequest():
            return [
                {q.question: q.options[n].label for q in request.questions}
                if len(request.questions) > 1
                else request.questions[0].options[n].label
                for n in range(2)
            ]
        case ReviewRequest():
            return [{"outcome": outcome} for outcome in request.outcomes]
        case _:
            return _PLAIN[request.kind]


_PLAIN: dict[Kind, Sequence[Any]] = {
    Kind.CONFIRM: [True, False],
    Kind.FREE_TEXT: ["yes", "do it otherwise"],
    Kind.FORM: [{"name": "x"}, {"name": "y", "sure": True}],
    Kind.EDIT_TEXT: ["another text", ""],
    Kind.URL: [True],
}
