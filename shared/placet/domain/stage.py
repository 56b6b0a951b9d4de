"""Stages, and the checkpoints that an author puts at their end."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StrictBool

from placet.domain.authoring import Authored, Label, Labels, Listed, Named, Text, ToolNames, twice
from placet.domain.options import match_option
from placet.errors import DefinitionError

YES, NO = "Yes", "No"
MOST_OPTIONS = 50
Style = Literal["free_text", "multiple_choice", "confirm"]


class InteractionPoint(Authored):
    """A question that is put every time before its stage may move on.

    An option is in the approve list unless another list names it; picking it satisfies the point.
    """

    what: ClassVar[str] = "interaction point"
    aliases: ClassVar[Mapping[str, str]] = {"options": "choices", "directives": "followups"}

    prompt: Text
    """What the person is asked: 1 to 4,000 characters."""
    required: StrictBool = True
    """Whether a blank text is no answer, at a point of style `free_text`."""
    unattended: Literal["auto_approve", "ask"] = "auto_approve"
    """What happens while nobody is there. `ask` also stops the run where nobody answers."""
    style: Style = "confirm"
    """`multiple_choice` unless said otherwise where there are options."""
    options: Labels = ()
    """2 to 50 different labels, for `multiple_choice`. A `confirm` has Yes and No."""
    abort_options: Labels = ()
    """Picking one cancels the run at once."""
    edit_options: Labels = ()
    """Picking one opens the stage's text; the edited version is adopted."""
    directives: Mapping[Label, Text] = {}
    """By option: what joins the conversation before the stage runs again. One for `No` answers a decline."""
    document_region: Named | None = None
    """The pinned region that holds what the point is about."""
    on_exhausted: Literal["proceed", "stop"] = "proceed"
    """What follows when the rounds of revision are used up."""

    def __init__(self, /, **given: Any) -> None:
        if "style" not in given and (given.get("options") or given.get("choices")):
            given["style"] = "multiple_choice"
        super().__init__(**given)

    def model_post_init(self, _: Any) -> None:
        """Refuse what could not be answered, or would never have an effect."""
        if problem := _problem(self):
            raise DefinitionError(problem)

    @property
    def choices(self) -> tuple[str, ...]:
        """The labels that an answer picks from; none at a `free_text` point."""
        match self.style:
            case "multiple_choice":
                return self.options
            case "confirm":
                return (YES, NO)
            case "free_text":
                return ()

    def aborts(self, choice: str) -> bool:
        """Whether an option is in the abort list."""
        return self._named(choice, self.abort_options)

    def edits(self, choice: str) -> bool:
        """Whether an option is in the edit list."""
        return self._named(choice, self.edit_options)

    def directive(self, choice: str) -> str | None:
        """What an option tells the model, if it revises."""
        known = self.revisable
        said = (text for key, text in self.directives.items() if match_option(known, key) == choice)
        return next(said, None)

    def approves(self, choice: str) -> bool:
        """Whether picking an option satisfies the point. Nothing that declines does."""
        return (
            choice in self.choices
            and not (self.style == "confirm" and choice == NO)
            and not (
                self.aborts(choice) or self.edits(choice) or self.directive(choice) is not None
            )
        )

    @property
    def declined(self) -> str:
        """The label by which a directive speaks of a decline."""
        return match_option(self.choices, NO) or NO

    @property
    def revisable(self) -> tuple[str, ...]:
        """What a directive may be for: an option, or a decline."""
        return tuple(dict.fromkeys((*self.choices, self.declined)))

    def _named(self, choice: str, entries: tuple[str, ...]) -> bool:
        return any(match_option(self.choices, entry) == choice for entry in entries)


class Stage(Authored):
    """A named phase of a definition; its end is where the model answers without a call."""

    what: ClassVar[str] = "stage"

    name: Named = "main"
    mode: Literal["autonomous", "interactive_points"] = "autonomous"
    instructions: str = Field(default="", max_length=65_536)
    """Said to the model besides the agent's, while the stage lasts."""
    model: str | None = None
    """`provider:name`, where it is not the agent's."""
    available_tools: ToolNames | None = None
    """What the model is offered of the agent's tools; all of them unless said."""
    required_tools: ToolNames = ()
    """Those that really ask also while nobody is there."""
    tool_permissions: Mapping[str, str] = {}
    """`allow`, `ask` or `deny` by tool, before the agent's."""
    accepts_messages: StrictBool = True
    """Whether a message is delivered while the stage lasts, or kept for a later one."""
    interaction_points: Annotated[tuple[InteractionPoint, ...], Listed] = ()
    """What is asked at its end, in this order."""

    def model_post_init(self, _: Any) -> None:
        """Refuse what contradicts itself."""
        if self.interaction_points and self.mode != "interactive_points":
            raise DefinitionError(
                'an autonomous stage asks nothing; write mode = "interactive_points", or leave the '
                "interaction points out"
            )
        if name := twice(point.name for point in self.interaction_points):
            raise DefinitionError(f"two interaction points are called {name!r}")
        for key in ("available_tools", "required_tools"):
            if tool := twice(getattr(self, key) or ()):
                raise DefinitionError(f"{key} names {tool!r} twice")
        offered = self.available_tools
        missing = [name for name in self.required_tools if offered and name not in offered]
        if missing or (self.required_tools and offered == ()):
            name = (missing or self.required_tools)[0]
            raise DefinitionError(
                f"required_tools names {name!r}, which is not in available_tools; name it there too"
            )


def _problem(point: InteractionPoint) -> str | None:
    """What is wrong with a point whose fields fit one by one."""
    if not point.prompt.strip():
        return "prompt is blank; say what is asked"
    if point.style == "multiple_choice" and not 2 <= len(point.options) <= MOST_OPTIONS:
        return f"options has {len(point.options)}; multiple_choice takes 2 to {MOST_OPTIONS}"
    if point.style != "multiple_choice" and point.options:
        return f"a point of style {point.style} takes no options; use multiple_choice"
    if label := twice(point.options):
        return f"options has {label!r} twice"
    return _stray(point) or _endless(point)


def _stray(point: InteractionPoint) -> str | None:
    """The entry of a list that is no option, or means two; a directive may also be for a decline."""
    labels = point.choices
    for key, entries, known in (
        ("abort_options", point.abort_options, labels),
        ("edit_options", point.edit_options, labels),
        ("directives", tuple(point.directives), point.revisable),
    ):
        meant = [match_option(known, entry) for entry in entries]
        if None in meant:
            listed = ", ".join(known) or "none, as a text is written here; declining aborts"
            return f"{key} names {entries[meant.index(None)]!r}; its options are {listed}"
        if label := twice(label for label in meant if label):
            return f"{key} names {label!r} twice"
    return None


def _endless(point: InteractionPoint) -> str | None:
    """Why no answer could satisfy a point, if none could."""
    if point.style == "confirm" and point.edits(NO):
        return f"edit_options names {NO!r}; declining a confirm aborts, or revises by a directive"
    if point.choices and not any(map(point.approves, point.choices)):
        return "every option is in a list, so that none approves; leave one out of the lists"
    return None
