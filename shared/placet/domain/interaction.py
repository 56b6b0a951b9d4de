"""One question put to a person: nine kinds, one discriminated union on `kind`."""

import operator
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    TypeAdapter,
    ValidationInfo,
    field_validator,
    model_validator,
)

from placet.domain.address import HTTPS, origin_of, warning_of
from placet.domain.audience import ONE_YES, AnswerPolicy, Audience, Label, Priority
from placet.domain.base import DEFAULT_NAMESPACE, JsonObject, JsonValue, Value, WireId
from placet.domain.digest import canonical, digest_of
from placet.domain.form import check_form, sealed_names
from placet.domain.risk import ToolRisk
from placet.sealing import check_public

Accepts = Literal["decision", "words", "anything"]
OnExpiry = Literal["deny", "default", "stop", "escalate"]


class Kind(StrEnum):
    """What is asked."""

    TOOL_APPROVAL = "tool_approval"
    CONFIRM = "confirm"
    FREE_TEXT = "free_text"
    MULTIPLE_CHOICE = "multiple_choice"
    QUESTIONS = "questions"
    FORM = "form"
    URL = "url"
    EDIT_TEXT = "edit_text"
    REVIEW = "review"


class InputState(StrEnum):
    """How far a question has come. Everything but `pending` is final."""

    PENDING = "pending"
    ANSWERED = "answered"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


class ApprovalDecision(StrEnum):
    """A person's word on one call."""

    APPROVED = "approved"
    DENIED = "denied"
    SKIPPED = "skipped"


class ToolCall(Value):
    """One call that a model wants to make."""

    id: WireId = Field(min_length=1)
    """Unique within its run."""
    tool: str = Field(min_length=1, max_length=200)
    args: JsonObject = {}

    @field_validator("args")
    @classmethod
    def _canonical(cls, value: dict[str, Any]) -> dict[str, Any]:
        canonical(value)
        return value


class Request(Value):
    """What every kind carries."""

    id: WireId = ""
    """`inp_` + 32 hex digits, or left out. A service's own id names one question of that service; the
    broker answers with the id that people use."""
    namespace: WireId = DEFAULT_NAMESPACE
    agent_id: WireId = ""
    run_id: WireId = ""
    root_run_id: WireId = ""
    root_agent_id: WireId = Field(default="", exclude_if=operator.not_)
    """The agent whose list shows this too: that of the root run, where a child run asks."""
    path: tuple[WireId, ...] = ()
    """Agent names from the root run to this one."""
    stage: WireId = "main"
    message: str = Field(default="", max_length=4000)
    body: str | None = Field(default=None, max_length=524_288)
    """Markdown, shown below the question."""
    context: JsonObject = {}
    """`user_message`, `reason`, `initiator` and what the asker adds."""
    audience: Audience = Audience()
    policy: AnswerPolicy = Field(default=ONE_YES, exclude_if=lambda p: p == ONE_YES)
    """How many must say yes, who can't, and what happens while nobody answers."""
    priority: Priority = Field(default=Priority.NORMAL, exclude_if=lambda p: p == Priority.NORMAL)
    labels: tuple[Label, ...] = Field(default=(), max_length=20, exclude_if=operator.not_)
    """Words to find it by, such as `billing`."""
    digest: str = ""
    """Of what is asked; an answer may carry it to prove what was shown."""
    requested_at: datetime
    expires_at: datetime | None = None
    on_expiry: OnExpiry = Field(default="deny", exclude_if=lambda word: word == "deny")
    """What becomes of it if nobody answers: no answer (`deny`), `default`, or the end of the run (`stop`)."""
    default: JsonValue = Field(default=None, exclude_if=lambda answer: answer is None)
    """With `on_expiry` `default`: the answer that is taken then, never a yes to anything."""
    idempotency_key: WireId | None = None
    """The call's key, where a call waits for this."""

    def asked(self) -> Any:
        """What the digest is taken over: everything that a yes would consent to."""
        raise NotImplementedError

    def with_digest(self) -> Self:
        """This request with the digest of what it asks."""
        return self.model_copy(update={"digest": digest_of(self.asked())})


class ApprovalRequest(Request):
    """May this call run? Frozen and fully serialisable, so that the wait outlives the process."""

    family: Literal["approval"] = "approval"
    kind: Literal[Kind.TOOL_APPROVAL] = Kind.TOOL_APPROVAL
    call: ToolCall
    risk: ToolRisk = ToolRisk.SAFE
    agent_id: WireId
    run_id: WireId
    schema_digest: str = ""
    scopes: tuple[Literal["once", "stage", "run"], ...] = ("once",)
    """The scopes that the prompt offers."""
    options: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """The choices in words: one for each scope, then deny."""
    grants: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """A shell line: the commands that a wider scope would name."""
    exact: bool = Field(default=False, exclude_if=operator.not_)
    """A wider scope covers these very arguments, unless the answer says `grant: "named"`."""
    args_schema: JsonObject | None = Field(default=None, exclude_if=lambda schema: schema is None)
    """What the arguments must satisfy, where the approver may change them."""
    accepts: Accepts = Field(default="decision", exclude_if=lambda word: word == "decision")
    """`words`: also `yes` and, if offered, `trust`. `anything`: the agent's own evaluator judges it."""
    trust: bool = Field(default=False, exclude_if=operator.not_)
    """Whether an answer may trust the tool for all runs of this person."""

    def asked(self) -> Any:
        """The tool, its schema and the canonical arguments."""
        return {"tool": self.call.tool, "schema_digest": self.schema_digest, "args": self.call.args}


class ConfirmRequest(Request):
    """Yes or no?"""

    family: Literal["form"] = "form"
    kind: Literal[Kind.CONFIRM] = Kind.CONFIRM

    def asked(self) -> Any:
        """Kind, message and body."""
        return {"kind": self.kind, "message": self.message, "body": self.body}


class FreeTextRequest(Request):
    """A text, please."""

    family: Literal["question"] = "question"
    kind: Literal[Kind.FREE_TEXT] = Kind.FREE_TEXT
    required: bool = True

    def asked(self) -> Any:
        """Kind, message and body."""
        return {"kind": self.kind, "message": self.message, "body": self.body}


class MultipleChoiceRequest(Request):
    """One of these."""

    family: Literal["question"] = "question"
    kind: Literal[Kind.MULTIPLE_CHOICE] = Kind.MULTIPLE_CHOICE
    options: tuple[Annotated[str, Field(min_length=1, max_length=500)], ...] = Field(
        min_length=2, max_length=50
    )

    @field_validator("options")
    @classmethod
    def _distinct(cls, options: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(options)) != len(options) or any(not option.strip() for option in options):
            msg = "options must differ and not be blank"
            raise ValueError(msg)
        return options

    def asked(self) -> Any:
        """Kind, message, body and options."""
        return {
            "kind": self.kind,
            "message": self.message,
            "body": self.body,
            "options": list(self.options),
        }


class Option(Value):
    """One answer that a question offers."""

    label: str = Field(min_length=1, max_length=200)
    description: str | None = None


class Question(Value):
    """One question of several."""

    question: str = Field(min_length=1, max_length=1000)
    header: str = Field(min_length=1, max_length=12)
    options: tuple[Option, ...] = Field(min_length=2, max_length=4)
    multi_select: bool = False
    allow_other: bool = False

    @field_validator("question")
    @classmethod
    def _keyed(cls, question: str) -> str:
        if (
            "\x00" in question
        ):  # answers are keyed by their questions, and no store keeps such a key
            msg = "a question has no null character"
            raise ValueError(msg)
        return question

    @field_validator("options")
    @classmethod
    def _distinct(cls, options: tuple[Option, ...]) -> tuple[Option, ...]:
        labels = [option.label for option in options]
        if len(set(labels)) != len(labels) or any(not label.strip() for label in labels):
            msg = "option labels must differ and not be blank"
            raise ValueError(msg)
        return options


class QuestionsRequest(Request):
    """One to four questions at once."""

    family: Literal["question"] = "question"
    kind: Literal[Kind.QUESTIONS] = Kind.QUESTIONS
    questions: tuple[Question, ...] = Field(min_length=1, max_length=4)

    @field_validator("questions")
    @classmethod
    def _distinct(cls, questions: tuple[Question, ...]) -> tuple[Question, ...]:
        if len({q.question for q in questions}) != len(questions):
            msg = "the questions must differ"
            raise ValueError(msg)
        return questions

    def asked(self) -> Any:
        """Kind, message and the questions."""
        questions = [q.model_dump(mode="json") for q in self.questions]
        return {"kind": self.kind, "message": self.message, "questions": questions}


class FormRequest(Request):
    """A flat form."""

    family: Literal["form"] = "form"
    kind: Literal[Kind.FORM] = Kind.FORM
    form: JsonObject
    """A JSON Schema (draft 2020-12): an object of simple fields. `"sealed": true` on a string is ours."""
    seal_key: str | None = Field(default=None, exclude_if=lambda key: key is None)
    """The public key (X25519, base64) that the answers of sealed fields are encrypted to."""

    @field_validator("form")
    @classmethod
    def _flat(cls, form: dict[str, Any]) -> dict[str, Any]:
        check_form(form)
        return form

    @model_validator(mode="after")
    def _sealable(self) -> Self:
        if sealed_names(self.form):
            check_public(self.seal_key or "")
        return self

    def asked(self) -> Any:
        """Kind, message, body and the schema. Not the key: it may be changed while a question is open."""
        return {"kind": self.kind, "message": self.message, "body": self.body, "form": self.form}


class UrlRequest(Request):
    """Please do something on this page, then say so."""

    family: Literal["url"] = "url"
    kind: Literal[Kind.URL] = Kind.URL
    url: str = Field(pattern=HTTPS, max_length=2000)
    """https only, without credentials."""
    origin: str = Field(default="", validate_default=True)
    """Where it really leads: scheme and host, as a browser looks it up. Whoever reads the request works
    it out again, so it says what is so whatever was sent."""
    warning: str = Field(default="", validate_default=True, exclude_if=operator.not_)
    """What to look at twice before going there; worked out like `origin`."""

    @field_validator("origin", "warning")
    @classmethod
    def _worked_out(cls, _: str, info: ValidationInfo) -> str:
        url = info.data.get("url", "https://x.invalid")
        return origin_of(url) if info.field_name == "origin" else warning_of(url)

    def asked(self) -> Any:
        """Kind, message and the address."""
        return {"kind": self.kind, "message": self.message, "url": self.url}


class EditTextRequest(Request):
    """Change this text, or leave it."""

    family: Literal["question"] = "question"
    kind: Literal[Kind.EDIT_TEXT] = Kind.EDIT_TEXT
    text: str = Field(max_length=524_288)

    def asked(self) -> Any:
        """Kind, message and the text."""
        return {"kind": self.kind, "message": self.message, "text": self.text}


class ReviewRequest(Request):
    """A call was started and nobody knows whether it happened: what now?"""

    family: Literal["form"] = "form"
    kind: Literal[Kind.REVIEW] = Kind.REVIEW
    call: ToolCall
    outcomes: tuple[Literal["happened", "rerun", "fail", "accept"], ...] = (
        "happened",
        "rerun",
        "fail",
    )
    difference: str | None = Field(default=None, exclude_if=lambda text: text is None)
    """What of the tool changed, as a unified diff of its description and schema."""
    args_schema: JsonObject | None = Field(default=None, exclude_if=lambda schema: schema is None)
    """What the arguments must satisfy that an `accept` may bring along."""

    def asked(self) -> Any:
        """Kind, message, the call, and the difference where there is one."""
        changed = {} if self.difference is None else {"difference": self.difference}
        return {
            "kind": self.kind,
            "message": self.message,
            "call": self.call.model_dump(mode="json"),
            **changed,
        }


InteractionRequest = Annotated[
    ApprovalRequest
    | ConfirmRequest
    | FreeTextRequest
    | MultipleChoiceRequest
    | QuestionsRequest
    | FormRequest
    | UrlRequest
    | EditTextRequest
    | ReviewRequest,
    Field(discriminator="kind"),
]

RequestAdapter: TypeAdapter[InteractionRequest] = TypeAdapter(InteractionRequest)
"""Reads any request from JSON by its `kind`."""
