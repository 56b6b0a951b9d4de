"""Every kind of question, with an answer that fits and one that does not, for each way to give it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from placet.domain.interaction import (
    ApprovalRequest,
    ConfirmRequest,
    EditTextRequest,
    FormRequest,
    FreeTextRequest,
    InteractionRequest,
    MultipleChoiceRequest,
    Option,
    Question,
    QuestionsRequest,
    ReviewRequest,
    ToolCall,
    UrlRequest,
)

CALL = ToolCall(id="call_1", tool="deploy", args={"to": "production"})
FORM = {
    "type": "object",
    "properties": {
        "ticket": {"type": "string", "minLength": 3},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "sure": {"type": "boolean"},
        "size": {"enum": ["small", 40]},
        "days": {"type": "array", "items": {"enum": ["mon", "tue"]}},
    },
    "required": ["ticket", "count"],
}
FILLED = {
    "ticket": "OPS-7",
    "count": 2,
    "share": 0.5,
    "sure": False,
    "size": 40,
    "days": ["mon", "tue"],
}
QUESTIONS = (
    Question(
        question="Which colour?",
        header="Colour",
        options=(Option(label="Green"), Option(label="Red")),
    ),
    Question(
        question="Which days?",
        header="Days",
        options=(Option(label="Mon"), Option(label="Tue")),
        multi_select=True,
    ),
)
CHOSEN = {"Which colour?": "Red", "Which days?": ["Mon", "Tue"]}


@dataclass(frozen=True)
class Kind:
    """One kind, and how it is answered."""

    model: type[Any]
    parts: dict[str, Any]
    right: Any
    kept: Any
    """The content of the outcome."""
    wrong: Any
    typed: list[str]
    """After `placet respond ID`."""
    mistyped: list[str]
    pressed: list[tuple[str, str]] = field(default_factory=list)
    """Fields of the page's form."""
    mispressed: list[tuple[str, str]] | None = None
    """None: every button of the page fits."""
    pointer: str = ""
    """Where the wrong content does not fit."""

    def request(self, id: str) -> InteractionRequest:
        """A question of a run."""
        fields = {"id": id, "agent_id": "agt_1", "run_id": "run_1", "message": "Well?"}
        made: InteractionRequest = self.model(
            **fields, requested_at=datetime.now(UTC), **self.parts
        )
        return made


KINDS: dict[str, Kind] = {
    "tool_approval": Kind(
        ApprovalRequest, {"call": CALL}, True, True, "yes", ["--approve"], ["yes"],
        [("decision", "approved"), ("scope", "once")], [("decision", "perhaps")],
    ),
    "confirm": Kind(ConfirmRequest, {}, True, True, 1, ["--approve"], ["--content", "1"]),
    "free_text": Kind(
        FreeTextRequest, {}, "as it is", "as it is", ["x"], ["as it is"], ["--content", '["x"]'],
        [("text", "as it is")],
    ),
    "multiple_choice": Kind(
        MultipleChoiceRequest, {"options": ("north", "south")}, "south", "south", "west",
        ["--choice", "1"], ["--choice", "2"], [("choice", "south")], [("choice", "west")],
    ),
    "questions": Kind(
        QuestionsRequest, {"questions": QUESTIONS}, CHOSEN, CHOSEN,
        {"Which colour?": "Blue", "Which days?": ["Mon"]},
        ["--field", "Colour=Red", "--field", "Days=Mon", "--field", "Days=Tue"],
        ["--field", "0=Blue", "--field", "1=Mon"],
        [("q0", "Red"), ("q1", "Mon"), ("q1", "Tue")], [("q0", "Blue"), ("q1", "Mon")],
        "/Which colour?",
    ),
    "form": Kind(
        FormRequest, {"form": FORM}, FILLED, FILLED, {"ticket": "OPS-7", "count": "two"},
        [
            "--field", "ticket=OPS-7", "--field", "count=2", "--field", "share=0.5",
            "--field", "sure=false", "--field", "size=40", "--field", "days=mon", "--field", "days=tue",
        ],
        ["--field", "ticket=OPS-7", "--field", "count=two"],
        [
            ("f_ticket", "OPS-7"), ("f_count", "2"), ("f_share", "0.5"), ("f_sure", "false"),
            ("f_size", "40"), ("f_days", "mon"), ("f_days", "tue"),
        ],
        [("f_ticket", "OPS-7"), ("f_count", "two")],
        "/count",
    ),
    "url": Kind(
        UrlRequest, {"url": "https://example.com/sign"}, True, True, 1, ["--approve"],
        ["--content", "1"],
    ),
    "edit_text": Kind(
        EditTextRequest, {"text": "a\nb"}, "a\nc", "a\nc", {"text": "x"}, ["a\nc"],
        ["--content", '{"text": "x"}'], [("text", "a\r\nc")],
    ),
    "review": Kind(
        ReviewRequest, {"call": CALL}, {"outcome": "rerun"}, {"outcome": "rerun"},
        {"outcome": "perhaps"}, ["--field", "outcome=rerun"], ["--field", "outcome=perhaps"],
        [("outcome", "rerun")], [("outcome", "perhaps")], "/outcome",
    ),
}  # fmt: skip
