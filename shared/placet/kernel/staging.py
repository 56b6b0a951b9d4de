"""Where a run stands in its stage: the text at hand, and the points that a person has to pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from placet.domain.interaction import InputState
from placet.domain.label import Label
from placet.domain.run import PassedPoint
from placet.domain.stage import InteractionPoint, Stage
from placet.kernel.call import Ask
from placet.kernel.journal import PointSettled, RegionReplaced
from placet.kernel.points import Reading, read_answer
from placet.kernel.turns import UserTurn

CHANGED = "The text was changed since it was first shown; go by it as it is now."
EDITED = "I edited the text. It now reads:"


@dataclass(frozen=True, slots=True)
class Region:
    """A pinned part of what the model sees."""

    text: str
    edited: bool = False
    """Whether a person wrote it last."""
    label: Label = Label.PUBLIC


How = Literal["auto_approved", "proceeded_unanswered", "exhausted"]
_PASSED: Mapping[Reading, How] = {
    Reading.AUTO_APPROVED: "auto_approved",
    Reading.PROCEEDED_UNANSWERED: "proceeded_unanswered",
    Reading.EXHAUSTED: "exhausted",
}
_ROUNDS = (Reading.REVISED, Reading.EDITED)
_SAID = (Reading.APPROVED, Reading.REVISED)


@dataclass(slots=True)
class Staging:
    """One visit of a stage."""

    name: str = "main"
    concluded: bool = False
    """The model has answered without a call: the points fire, then the stage is over."""
    text: str = ""
    """The stage's latest text: the model's, or as a person edited it."""
    satisfied: dict[str, How | None] = field(default_factory=dict)
    """The points that need not ask any more, each with how it was passed where nobody approved it."""
    rounds: dict[str, int] = field(default_factory=dict)
    """Revisions and edits so far, by point."""
    shown: dict[str, int] = field(default_factory=dict)
    """How often each point has asked."""
    asking: str = ""
    """The point that waits, or whose answer was not read yet."""
    ask: Ask | None = None
    editing: bool = False
    """The point asks for its text to be edited, or is about to."""
    edited: bool = False
    """Whether a person wrote the text last."""
    revised: bool = False
    """Whether the text changed after a point had been shown."""
    ended: PointSettled | None = None
    """The answer that ends the run."""

    def opened(self, point: str, ask: Ask) -> None:
        """A point asks."""
        self.asking, self.ask = point, ask
        self.shown[point] = self.shown.get(point, 0) + 1

    def answered(self, text: str) -> None:
        """The model answered without a call: a text that nobody has seen."""
        self.concluded, self.text, self.edited = True, text, False
        self.satisfied = {}

    def spoken(self) -> None:
        """Somebody said something: the stage runs again."""
        self.concluded = False

    def settle(self, entry: PointSettled) -> list[UserTurn]:
        """What became of the point that asked; returns what joins the conversation."""
        reading, point = entry.reading, entry.point
        self.asking, self.ask, self.editing = "", None, reading is Reading.EDIT
        if reading in _ROUNDS:
            self.rounds[point] = self.rounds.get(point, 0) + 1
            self.satisfied = {}
        if entry.text is not None:
            # Also an edit at the cap: nobody approved this text. What was exhausted stays so, or two
            # points could edit for each other for ever.
            self.satisfied = {p: how for p, how in self.satisfied.items() if how == "exhausted"}
            self.text, self.edited, self.revised = entry.text, True, True
            return [UserTurn(text=f"{EDITED}\n\n{entry.text}", sender=entry.by), *self._pass(entry)]
        return self._pass(entry)

    def _pass(self, entry: PointSettled) -> list[UserTurn]:
        says = entry.says
        match entry.reading:
            case Reading.APPROVED if self.revised:
                says = f"{says}\n\n{CHANGED}"
            case Reading.REVISED:
                self.concluded, self.revised = False, True
            case Reading.SUPERSEDED:
                self.concluded = False
            case Reading.ABORTED | Reading.UNANSWERED | Reading.STOPPED:
                self.ended = entry
            case _:
                pass
        if entry.reading.passes:
            self.satisfied[entry.point] = _PASSED.get(entry.reading)
        heard = says and entry.reading in _SAID
        return [UserTurn(text=says, sender=entry.by)] if heard else []

    @property
    def passed(self) -> list[PassedPoint]:
        """The points that it went past although nobody approved them."""
        return [
            PassedPoint(stage=self.name, point=point, how=how)
            for point, how in self.satisfied.items()
            if how
        ]


@dataclass(frozen=True, slots=True)
class Present:
    """Put this point to a person, or its text to be edited."""

    point: InteractionPoint
    editing: bool = False


def pinned(
    point: InteractionPoint, text: str, label: Label, *, edited: bool
) -> list[RegionReplaced]:
    """The point's region with the text that it is about; nothing where there is no text.

    `edited`: a person wrote it. `label` is of what it was made from.
    """
    region = point.document_region
    if region is None or not text:
        return []
    return [RegionReplaced(region=region, text=text, edited=edited, label=label)]


def at_points(
    staging: Staging, stage: Stage | None, *, unattended: bool, label: Label
) -> Sequence[RegionReplaced | PointSettled] | Present | Literal["wait"] | None:
    """What the points of a concluded stage ask for, or the facts that follow; None: each is passed.

    `stage` is the definition as it is now; a point that it does not have any more is let go. `label`
    is of what the model has been told.
    """
    points = {point.name: point for point in stage.interaction_points} if stage else {}
    if staging.asking:
        return _read(staging, points.get(staging.asking), label)
    for point in points.values():
        if point.name in staging.satisfied:
            continue
        if unattended and point.unattended == "auto_approve":
            passed = PointSettled(point=point.name, reading=Reading.AUTO_APPROVED)
            return [*pinned(point, staging.text, label, edited=staging.edited), passed]
        return Present(point, staging.editing)
    return None


def _read(
    staging: Staging, point: InteractionPoint | None, label: Label
) -> Sequence[RegionReplaced | PointSettled] | Literal["wait"]:
    outcome = staging.ask.outcome if staging.ask else None
    if staging.ask is None or outcome is None:
        return "wait"
    by = staging.ask.resolution.by if staging.ask.resolution else None
    if point is None:  # nobody asks for it any more
        how = Reading.SUPERSEDED if outcome.state is InputState.SUPERSEDED else Reading.GONE
        return [PointSettled(point=staging.asking, reading=how)]
    rounds = staging.rounds.get(point.name, 0)
    found = read_answer(point, outcome, rounds=rounds, editing=staging.editing)
    text = found.text if found.text != staging.text else None
    settled = PointSettled(
        point=point.name,
        reading=found.reading,
        says=found.says,
        text=text,
        by=by.id if by else None,
    )
    if text and found.reading is Reading.EXHAUSTED:  # it is not presented again
        return [*pinned(point, text, label, edited=True), settled]
    return [settled]


def following(stages: Sequence[Stage], name: str) -> Stage | None:
    """The stage after this one; None where it was the last, or is not declared any more."""
    names = [stage.name for stage in stages]
    place = names.index(name) + 1 if name in names else len(names)
    return stages[place] if place < len(names) else None
