"""`HumanInTheLoop`: every tool call asks, but for those that are listed, trusted or judged harmless."""

import asyncio
import inspect
import json
import warnings
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast, runtime_checkable

import structlog

from placet.agents.authored import ours_to_pass_on, said
from placet.agents.models import Model
from placet.agents.providers import resolve_model
from placet.agents.terminal import ONE_AT_A_TIME
from placet.domain.interaction import ApprovalDecision, ApprovalRequest, InputState, ToolCall
from placet.domain.outcome import Outcome
from placet.domain.showing import TRUSTING
from placet.domain.visible import visible
from placet.errors import DefinitionError
from placet.gate import AllowList

NAME = "human-in-the-loop"
YES = frozenset({"y", "yes"})
TRUST = frozenset({"t", "trust"})

_log = structlog.get_logger(__name__)


@runtime_checkable
class AskCallback(Protocol):
    """Prompts a person and returns the response; None is a denial, raising aborts the run."""

    def __call__(self, prompt: str, /) -> Any | Awaitable[Any]:
        """The person's response, or an awaitable of it."""
        ...


@runtime_checkable
class EvaluateCallback(Protocol):
    """Says at once whether a response approves, or trusts."""

    def __call__(self, response: Any, /) -> bool:
        """Only `True` counts."""
        ...


@dataclass(frozen=True, slots=True)
class LLMClassifierConfig:
    """The built-in classifier with words or a model of its own."""

    system_prompt: str | None = None
    model: str | Model | None = None
    """A `Model` or `provider:name`; the agent's own model otherwise."""

    def __post_init__(self) -> None:
        if self.model is not None:  # here, so that a slip is seen at once and one client serves all
            object.__setattr__(self, "model", resolve_model(self.model))


@dataclass(frozen=True, slots=True)
class RiskVerdict:
    """What a classifier returns: only `False` lets the call run unasked."""

    requires_human_in_the_loop: bool
    reason: str | None = None


@runtime_checkable
class HumanInTheLoopClassifier(Protocol):
    """Judges one call, sync (in a thread) or async; anything but a `RiskVerdict` asks."""

    def __call__(self, call: ToolCall, /) -> RiskVerdict | Awaitable[RiskVerdict]:
        """Whether this call needs a person. Raising asks."""
        ...


Classifier = bool | LLMClassifierConfig | HumanInTheLoopClassifier | None


@dataclass(eq=False)
class HumanInTheLoop:
    """Asks a person before every tool call that nothing allows.

    Args:
        allowed_tools: names that run unasked; `*` for all, `!name` for never.
        classifier: judges what is not listed. `True`: the built-in one; a config; a callable.
        enable_trust: `t` and `trust` approve a call and trust its tool from then on.
        evaluate_trust: says which response trusts, in place of `t` and `trust`.
        evaluate: says which response approves, in place of `True`, `y` and `yes`.
        ask: None suspends the run; `"stdio"` prompts in the terminal; a callable prompts anywhere.
            Both are for runs in process.

    Raises:
        DefinitionError: allowed_tools is one string, or a callback can't be used.

    Warns:
        UserWarning: a classifier beside `*`, which leaves it nothing to judge.
    """

    allowed_tools: Sequence[str] | None = None
    classifier: Classifier = None
    enable_trust: bool = False
    evaluate_trust: EvaluateCallback | None = None
    evaluate: EvaluateCallback | None = None
    ask: AskCallback | Literal["stdio"] | None = None
    name: str = field(default=NAME, init=False)

    def __post_init__(self) -> None:
        listed = self.listed
        check_classifier(self.classifier)
        if self.ask is not None and self.ask != "stdio" and not callable(self.ask):
            raise DefinitionError(f'ask is {self.ask!r}; use None, "stdio" or a callable')
        evaluators: dict[str, Any] = {
            "evaluate": self.evaluate,
            "evaluate_trust": self.evaluate_trust,
        }
        for label, callback in evaluators.items():
            if callback is not None and (not callable(callback) or is_async(callback)):
                raise DefinitionError(f"{label} is {callback!r}; use a callable that is not async")
        if self.classifier and listed.everything:
            warn_of_idle_classifier("HumanInTheLoop", stacklevel=4)

    @property
    def listed(self) -> AllowList:
        """The allow list. Raises DefinitionError."""
        return AllowList.of(self.allowed_tools if self.allowed_tools is not None else ())

    def trusts(self, response: Any) -> bool:
        """Whether this response approves the call and trusts its tool."""
        if not self.enable_trust:
            return False
        if self.evaluate_trust is not None:
            return self.evaluate_trust(response) is True
        return word_in(response, TRUST)

    def approves(self, response: Any) -> bool:
        """Whether this response approves the call."""
        if self.evaluate is not None:
            return self.evaluate(response) is True
        return response is True or word_in(response, YES)


def check_classifier(classifier: Any) -> None:
    """Raises DefinitionError for what can't judge."""
    known = classifier is None or isinstance(classifier, bool | LLMClassifierConfig)
    if not known and not callable(classifier):
        raise DefinitionError(
            f"classifier is {classifier!r}; use True, an LLMClassifierConfig or a callable"
        )


def warn_of_idle_classifier(whose: str, *, stacklevel: int) -> None:
    """Say, to whoever writes it and to whoever runs it, that `*` leaves a classifier nothing to judge."""
    what = f"{whose}: the classifier has no effect, since `*` in allowed_tools allows every tool"
    _log.warning("classifier_has_no_effect", reason=what)
    warnings.warn(what, stacklevel=stacklevel)


def is_async(callback: Callable[..., Any]) -> bool:
    """Whether calling it gives an awaitable, as far as can be told without calling it."""
    own = getattr(callback, "__call__", None)  # noqa: B004 - an object whose method is async
    return inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(own)


def word_in(response: Any, words: frozenset[str]) -> bool:
    """Whether a response is one of these words, whatever its case and the blanks around it."""
    return isinstance(response, str) and response.strip().lower() in words


def prompt_for(call: ToolCall, reason: str = "", *, trust: bool = False) -> str:
    """What an `ask` callback is given: the tool, why, and the arguments as JSON; then what trust means.

    A line each, whatever the reason holds: a classifier's model may have written it.
    """
    why = f" \u2014 {visible(reason)}" if reason else ""
    asked = f"Allow tool {call.tool!r} to run?{why}\n{json.dumps(call.args)}"
    return f"{asked}\n{TRUSTING}" if trust else asked


async def called(callback: Callable[..., Any], *args: Any) -> Any:
    """What an author's callback returns, awaited if need be."""
    result = callback(*args)
    return await result if inspect.isawaitable(result) else result


def failure(error: BaseException) -> str:
    """The words of what an author's callback raised; a cancellation of ours goes through."""
    if ours_to_pass_on(error):
        raise error
    return f"{type(error).__name__}: {said(error)}"[:500]


def read_response(
    intervention: HumanInTheLoop, response: Any, *, trustable: bool
) -> tuple[bool, bool]:
    """Whether a response approves, and whether it trusts; an evaluator that raises does neither.

    What would trust a tool that can't be trusted is judged as any other answer.
    """
    try:
        if trustable and intervention.trusts(response):
            return True, True
        return intervention.approves(response), False
    except BaseException as error:  # noqa: BLE001 - the author's code; a cancellation goes through
        _log.warning("evaluator_failed", reason=failure(error))
        return False, False


async def ask_in_place(intervention: HumanInTheLoop, request: ApprovalRequest) -> Outcome:
    """The outcome of asking by the intervention's own means. What its callback raises goes through."""
    reason = str(request.context.get("reason", ""))
    prompt = prompt_for(request.call, reason, trust=request.trust)
    if intervention.ask == "stdio":
        choices = "(y/n/t)" if request.trust else "(y/n)"
        response: Any = await asyncio.to_thread(_typed, f"{prompt} {choices} ")
    else:
        response = await called(cast("AskCallback", intervention.ask), prompt)
    if response is None:
        return _turned_down("the callback gave no response")
    approves, trusts = read_response(intervention, response, trustable=request.trust)
    if not approves:
        return _turned_down(None)
    yes = ApprovalDecision.APPROVED
    return Outcome(
        state=InputState.ANSWERED, content=True, decision=yes, scope="once", trust=trusts
    )


def _typed(shown: str) -> str:
    """A line from the terminal."""
    with ONE_AT_A_TIME:
        return input(visible(shown, keep_newlines=True))


def _turned_down(reason: str | None) -> Outcome:
    no = ApprovalDecision.DENIED
    return Outcome(state=InputState.DECLINED, decision=no, reason=reason)
