"""What a tool is given: who it works for, its idempotency key, and ways to ask a person."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, overload

from pydantic import BaseModel

from placet.agents.drafts import addressed, declared, drafted, names_of
from placet.agents.model_forms import form_of, instance_of
from placet.domain.answer import sealed_at
from placet.domain.form import sealed_names
from placet.domain.interaction import (
    ConfirmRequest,
    EditTextRequest,
    FormRequest,
    FreeTextRequest,
    InputState,
    InteractionRequest,
    MultipleChoiceRequest,
    Question,
    QuestionsRequest,
    UrlRequest,
)
from placet.domain.label import Label, highest
from placet.domain.person import Person
from placet.domain.resolution import Resolution
from placet.errors import Invalid, ToolError
from placet.kernel.call import Ask
from placet.sealing import Sealer, process_sealer

MAX_ASKS = 8
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
M = TypeVar("M", bound=BaseModel)


class Asked(BaseException):
    """A tool asks a person: the call ends here and runs again with the answer.

    Not an Exception, so that a tool's own `except Exception` does not swallow the question.
    """

    def __init__(self, draft: InteractionRequest) -> None:
        super().__init__(draft.message)
        self.draft = draft


@dataclass(slots=True)
class Context:
    """One execution of one call.

    An ask ends the call: once a person has answered, the tool is called again with the same
    arguments and the ask returns the answer. Everything before an ask runs again, so ask first,
    act after, and key side effects by `idempotency_key`. n asks are n+1 executions, and at most 8
    in one call; the same questions must come in the same order each time.

    `default` declares the answer that is taken where the deadline passes: the ask returns it, and
    `outcome` is `expired`. It never stands in for a person who declined or cancelled, nor where
    nobody could be asked, and there is none for `confirm`: a clock says yes to nothing.

    Every ask raises ToolError where the question can't be put as it is, where it is another than
    the last time, and where the tool was called outside of a run, which nobody can be asked from.
    """

    agent_id: str = ""
    agent: str = ""
    run_id: str = ""
    namespace: str = "default"
    call_id: str = ""
    user: str | None = None
    """Who started the run."""
    idempotency_key: str = ""
    """The same on every execution of this call."""
    attempt: int = 1
    """Counts the executions of this call, from 1."""
    approval: Resolution | None = None
    """The proof that a person approved this call: input, who, when; None if it needed nobody."""
    taint: Label = Label.PUBLIC
    """The label of this result, as far as `label` raised it."""
    outcome: InputState | None = None
    """How the last ask ended; tells a no from silence."""
    answered_by: Person | None = None
    """Who ended the last ask; None if nobody did."""
    waited: timedelta | None = None
    """How long the last ask waited, where it is known."""
    raised: InteractionRequest | None = None
    """The question that ended this execution, if one did; a call that goes on after it is an error."""
    _answers: Sequence[Ask] = ()
    _asked: int = field(default=0)
    _in_run: bool = False
    _attended: bool = True
    """Whether anybody is to be asked; if not, asks return False or None at once."""
    _approvers: tuple[str, ...] = ()
    """Who may answer what is asked now, besides the initiator; empty: whom the definition names."""
    _sealer: Sealer | None = field(default=None, repr=False)
    """Opens the answers of sealed fields; a key of this process where the runtime brings none."""

    def label(self, label: Label | str) -> None:
        """Say that what this call returns may go only so far; the highest of all that is said holds."""
        self.taint = highest(self.taint, Label(label))

    @contextmanager
    def asking(self, *approvers: str) -> Iterator[None]:
        """Within it these may answer, besides the initiator, in place of those whom the definition names.

        People by id, `group:NAME`, `service:NAME`, `slack:ID`. Raises ToolError for no name.
        """
        before, self._approvers = self._approvers, names_of(approvers)
        try:
            yield
        finally:
            self._approvers = before

    async def confirm(self, message: str, *, body: str | None = None) -> bool:
        """Yes or no. False if it was declined, cancelled or nobody answered; `outcome` says which."""
        return (
            self._ask(lambda: ConfirmRequest(message=message, body=body, requested_at=_EPOCH))
            is True
        )

    @overload
    async def ask(self, message: str, schema: type[M], *, default: M | None = None) -> M | None: ...

    @overload
    async def ask(
        self, message: str, schema: Mapping[str, Any], *, default: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | None: ...

    async def ask(
        self,
        message: str,
        schema: Mapping[str, Any] | type[M],
        *,
        default: Mapping[str, Any] | M | None = None,
    ) -> dict[str, Any] | M | None:
        """A flat form: a JSON Schema, or a pydantic model without models in it.

        Returns the fields as an object, or as an instance of the model; None if there was no answer.
        A field that was left out has its default. A field with `"sealed": true` (in a model: a
        `SecretStr`) is encrypted for this tool as soon as it is submitted: no store, log, event or
        model sees it, unless the tool shows it.

        Raises:
            ToolError: the schema is no flat object of simple fields, and why; or the model's own
                validators refuse the answer.
        """
        model = schema if isinstance(schema, type) else None
        form = form_of(model) if model else dict(schema)  # type: ignore[arg-type]
        own = default.model_dump(mode="json") if isinstance(default, BaseModel) else default
        content = self._ask(lambda: self._form(message, form, own))
        if not isinstance(content, dict):
            return None
        opened = self._opened(form, content)
        return instance_of(model, opened) if model else opened

    async def ask_text(
        self,
        message: str,
        *,
        body: str | None = None,
        required: bool = True,
        default: str | None = None,
    ) -> str | None:
        """A text, or None if there was no answer. `required=False` says that blank is an answer too."""
        content = self._ask(
            lambda: FreeTextRequest(
                message=message,
                body=body,
                required=required,
                requested_at=_EPOCH,
                **declared(default),
            )
        )
        return content if isinstance(content, str) else None

    async def choose(
        self, message: str, options: Sequence[str], *, default: str | None = None
    ) -> str | None:
        """One of the options, or None if there was no answer. Raises ToolError for fewer than two."""
        content = self._ask(
            lambda: MultipleChoiceRequest(
                message=message,
                options=tuple(options),
                requested_at=_EPOCH,
                **declared(default),
            ),
            "a choice takes 2 or more different options",
        )
        return content if isinstance(content, str) else None

    async def questions(
        self,
        message: str,
        questions: Sequence[Question],
        *,
        default: Mapping[str, str | list[str]] | None = None,
    ) -> dict[str, str | list[str]] | None:
        """One to four questions at once: by its text, each one's answer or answers.

        None if there was no answer. Raises ToolError for questions that repeat, none, or more than four.
        """
        content = self._ask(
            lambda: QuestionsRequest(
                message=message,
                questions=tuple(questions),
                requested_at=_EPOCH,
                **declared(default),
            ),
            "it takes 1 to 4 different questions",
        )
        return content if isinstance(content, dict) else None

    async def edit_text(self, message: str, text: str) -> str | None:
        """The text as a person left it: changed, or as it was if they wrote nothing. None: no answer."""
        content = self._ask(
            lambda: EditTextRequest(message=message, text=text, requested_at=_EPOCH)
        )
        return content if isinstance(content, str) else None

    async def review_text(self, title: str, markdown: str) -> str | None:
        """What a person has to say of a text: `""` if they only took note. None without an answer."""
        said = await self.ask_text(title, body=markdown, required=False)
        return said if said is None or said.strip() else ""

    async def require_url(self, url: str, message: str) -> bool:
        """Whether a person says that they did what the https page asks.

        It is only their word: somebody may press "done" without having been there. A tool that needs
        it done looks for itself, afterwards. The address takes no credentials, and one whose host
        may be taken for another is shown with a warning.
        """
        return self._ask(lambda: UrlRequest(message=message, url=url, requested_at=_EPOCH)) is True

    def _form(self, message: str, form: dict[str, Any], default: Any) -> FormRequest:
        sealer = (self._sealer or process_sealer()) if sealed_names(form) else None
        key = sealer.public if sealer else None
        return FormRequest(
            message=message,
            form=form,
            seal_key=key,
            requested_at=_EPOCH,
            **declared(default),
        )

    def _opened(self, form: Mapping[str, Any], content: dict[str, Any]) -> dict[str, Any]:
        """The content with the plain text of what is sealed, which nobody before this call has seen."""
        input_id, sealer = self._answers[self._asked - 1].input_id, self._sealer
        try:
            plain = {
                name: (sealer or process_sealer()).open(
                    content[name]["sealed"], sealed_at(input_id, name)
                )
                for name in sealed_names(form)
                if name in content
            }
        except (Invalid, KeyError, TypeError) as error:
            raise ToolError(
                f"the sealed answer to ask {self._asked} can't be read: {error}"
            ) from None
        return {**content, **plain}

    def _ask(self, make: Callable[[], InteractionRequest], hint: str = "") -> Any:
        if not self._in_run:
            raise ToolError(
                "nobody can be asked here: this tool was called directly. Asks wait for a person in "
                "a run; let an agent call the tool, with Agent.run or on a runner"
            )
        draft = addressed(drafted(make, hint), self._approvers)
        number = self._asked
        self._asked += 1
        if number >= MAX_ASKS:
            raise ToolError(f"more than {MAX_ASKS} asks in one call")
        if number < len(self._answers):
            return self._answer(self._answers[number], draft)
        if not self._attended:
            self.outcome, self.answered_by, self.waited = InputState.CANCELLED, None, None
            return None
        self.raised = draft
        raise Asked(draft)

    def _answer(self, ask: Ask, draft: InteractionRequest) -> Any:
        if ask.digest != draft.with_digest().digest:
            raise ToolError(
                f"ask {self._asked} of this call was the {ask.kind} {ask.message!r} and is now the "
                f"{draft.kind} {draft.message!r}{_but(ask.message == draft.message)}; "
                "a tool must ask the same questions in the same order each time it runs"
            )
        outcome, ended = ask.outcome, ask.resolution
        self.outcome = outcome.state if outcome else None
        self.answered_by = ended.by if ended else None
        self.waited = ended.waited if ended else None
        if outcome is None or outcome.state not in (InputState.ANSWERED, InputState.EXPIRED):
            return None
        return outcome.content  # of what expired: the answer that was declared for that, if any


def _but(same_words: bool) -> str:
    return ", with something else in it" if same_words else ""
