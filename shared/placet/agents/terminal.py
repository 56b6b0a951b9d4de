"""People asked in a terminal: each kind in its own way, and again where the answer does not fit."""

import asyncio
import getpass
import json
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from placet.domain.answer import Action, reduce
from placet.domain.form import choices
from placet.domain.interaction import (
    ApprovalRequest,
    ConfirmRequest,
    EditTextRequest,
    FormRequest,
    FreeTextRequest,
    InteractionRequest,
    MultipleChoiceRequest,
    Question,
    QuestionsRequest,
    ReviewRequest,
    UrlRequest,
)
from placet.domain.visible import visible
from placet.errors import Invalid

ONE_AT_A_TIME = threading.Lock()
"""Whichever loop a question comes from; a thread that waits for a line keeps it."""
_END = "."


class NoAnswer(Exception):
    """Nothing was typed, or there is nobody to type."""


class Terminal:
    """Lines in, lines out; what is shown hides nothing."""

    def __init__(self, source: TextIO | None, sink: TextIO | None) -> None:
        self._source = source
        self._sink = sink

    async def ask(self, prompt: Callable[[], Any]) -> Any:
        """What `prompt` returns, in a thread of its own, while nothing else asks."""

        def alone() -> Any:
            with ONE_AT_A_TIME:
                return prompt()

        return await asyncio.to_thread(alone)

    def say(self, text: str, end: str = "\n") -> None:
        """Show a text; what it would do to the terminal is shown and not done."""
        print(visible(text, keep_newlines=True), end=end, file=self._out, flush=True)

    def line(self, prompt: str, *, secret: bool = False) -> str:
        """One line, without its end. Raises NoAnswer at the end of the input."""
        if secret and self._source is None and sys.stdin.isatty():
            try:
                return getpass.getpass(visible(prompt), stream=self._out)
            except EOFError:
                raise NoAnswer from None
        self.say(prompt, end="")
        read = (self._source or sys.stdin).readline()
        if not read:
            raise NoAnswer
        return read.rstrip("\r\n")

    @property
    def _out(self) -> TextIO:
        return self._sink or sys.stderr


class CliInteractionHandler:
    """Asks every kind but approvals in the terminal.

    A blank line, or the end of the input, is no answer, but where blank means something: a text that
    is only to be read, or one to be left as it is. What does not fit is asked again with the reasons.
    """

    def __init__(self, *, source: TextIO | None = None, sink: TextIO | None = None) -> None:
        self._terminal = Terminal(source, sink)

    async def ask(self, request: InteractionRequest) -> Any:
        """Content that fits the request; None for no answer."""
        return await self._terminal.ask(lambda: self._asked(request))

    def _asked(self, request: InteractionRequest) -> Any:
        say = self._terminal.say
        say(f"\n{request.message}")
        if request.body:
            say(request.body)
        while True:
            try:
                content = self._content(request)
                reduce(request, Action.ACCEPT, content)
            except NoAnswer:
                return None
            except Invalid as error:
                for each in error.errors:
                    say(f"  {each.pointer or 'this'}: {each.detail}")
            else:
                return content

    def _content(self, request: InteractionRequest) -> Any:
        """What is typed for the kind, whether it fits or not. Raises NoAnswer."""
        match request:
            case ApprovalRequest():
                raise NoAnswer  # for an ApprovalHandler; nothing here is ever a yes to a call
            case ConfirmRequest():
                return _yes(self._some("[y]es or [n]o: "))
            case FreeTextRequest():
                return self._some("> ") if request.required else self._terminal.line("> ")
            case MultipleChoiceRequest():
                return self._choice([(each, each) for each in request.options])
            case QuestionsRequest():
                return {each.question: self._question(each) for each in request.questions}
            case FormRequest():
                return self._form(request)
            case UrlRequest():
                return self._url(request)
            case EditTextRequest():
                return self._edited(request.text)
            case ReviewRequest():
                self._terminal.say(json.dumps(request.call.model_dump(mode="json"), indent=2))
                return {"outcome": self._choice([(each, each) for each in request.outcomes])}

    def _some(self, prompt: str, *, secret: bool = False) -> str:
        """A line that is not blank."""
        line = self._terminal.line(prompt, secret=secret)
        if not line.strip():
            raise NoAnswer
        return line

    def _choice(self, options: list[tuple[Any, str]]) -> Any:
        """One of these, by its number as shown, or by its title."""
        self._show(options)
        return _chosen(options, self._some("number or text: "))

    def _show(self, options: list[tuple[Any, str]]) -> None:
        for number, (_, title) in enumerate(options, 1):
            self._terminal.say(f"  {number}. {title}")

    def _question(self, question: Question) -> Any:
        self._terminal.say(f"[{question.header}] {question.question}")
        options = [
            (each.label, f"{each.label}: {each.description}" if each.description else each.label)
            for each in question.options
        ]
        self._show(options)
        labels = [(label, label) for label, _ in options]
        if not question.multi_select:
            other = ", or an answer of your own" if question.allow_other else ""
            return _chosen(labels, self._some(f"number or text{other}: "))
        typed = self._some("numbers or texts, with commas between: ")
        return [_chosen(labels, each) for each in typed.split(",")]

    def _form(self, request: FormRequest) -> dict[str, Any]:
        """Field by field; a blank one is left out."""
        required = request.form.get("required", ())
        content = {}
        for name, field in request.form["properties"].items():
            typed = self._field(name, field, needed=name in required)
            if typed is not None:
                content[name] = typed
        if not content and required:
            raise NoAnswer
        return content

    def _field(self, name: str, field: Mapping[str, Any], *, needed: bool) -> Any:
        listed = field.get("type") == "array"
        options = choices(field["items"] if listed else field)
        self._show(options or [])
        default = f" [{json.dumps(field['default'])}]" if "default" in field else ""
        what = "" if needed else " (may be left out)"
        prompt = f"{field.get('title', name)}{what}{default}: "
        line = self._terminal.line(prompt, secret=field.get("sealed") is True)
        if not line.strip():
            return None
        if listed:
            return [_chosen(options or [], each) for each in line.split(",")]
        return _chosen(options, line) if options else _typed(field, line)

    def _url(self, request: UrlRequest) -> bool:
        self._terminal.say(f"{request.url}\nIt leads to {request.origin}.")
        if request.warning:
            self._terminal.say(f"Careful: {request.warning}.")
        if self._some('"done" once you have done it: ').strip().lower() != "done":
            raise NoAnswer
        return True

    def _edited(self, text: str) -> str:
        """The lines up to one with a dot alone."""
        self._terminal.say(f"{text}\n\nYour text, then a line with a dot; a dot at once leaves it.")
        lines: list[str] = []
        while (line := self._terminal.line("")) != _END:
            lines.append(line)
        return "\n".join(lines)


def _yes(line: str) -> bool | str:
    return {"y": True, "yes": True, "n": False, "no": False}.get(line.strip().lower(), line)


def _chosen(options: list[tuple[Any, str]], line: str) -> Any:
    """The value of the option that a line names; else the line, which may fit as it is."""
    word = line.strip()
    titled = [value for value, title in options if title == word]
    if titled:
        return titled[0]
    numbered = word.isascii() and word.isdigit() and 1 <= int(word[:9]) <= len(options)
    return options[int(word) - 1][0] if numbered else word


def _typed(field: Mapping[str, Any], line: str) -> Any:
    """The line as the type of the field; the line itself where it is none."""
    kind = field.get("type", "string")
    if kind == "string":
        return line
    try:
        value = json.loads(line)
    except ValueError:
        return {"yes": True, "y": True, "no": False, "n": False}.get(line.strip().lower(), line)
    return value if isinstance(value, str | int | float) else line
