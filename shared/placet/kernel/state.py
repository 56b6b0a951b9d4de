"""The state of a run: the fold of its journal."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from placet.domain.grant import Grant
from placet.domain.heritage import NO_HERITAGE, Heritage
from placet.domain.interaction import InputState, Kind
from placet.domain.label import Label, highest
from placet.domain.run import PassedPoint
from placet.gate import Standing
from placet.gate.names import same_tool
from placet.kernel.call import Ask, CallState
from placet.kernel.journal import (
    AnswerJudged,
    CallJudged,
    ChildEnded,
    Delegated,
    Entry,
    Frozen,
    GrantGiven,
    GrantRevoked,
    InputOpened,
    InputResolved,
    MessageReceived,
    ModelReplied,
    PointSettled,
    RegionReplaced,
    ResourceDrifted,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    StageEntered,
    ToolChanged,
    ToolFinished,
    ToolStarted,
    TrustGiven,
)
from placet.kernel.refusals import Refusals
from placet.kernel.staging import Region, Staging
from placet.kernel.turns import CallOutcome, CallResult, ModelTurn, ResultsTurn, Turn, UserTurn


@dataclass(slots=True)
class State:
    """Everything that `decide` looks at."""

    started: RunStarted | None = None
    turns: list[Turn] = field(default_factory=list)
    calls: dict[str, CallState] = field(default_factory=dict)
    """The calls of the last model turn, in the model's order, until each has its result."""
    unread: list[UserTurn] = field(default_factory=list)
    """Messages that came while calls were open: they follow the results."""
    heard: int = 0
    """Messages so far; the first one is the run's input, and its sender the initiator."""
    wanted: str = ""
    """The last message."""
    initiator: str | None = None
    speaker: str | None = None
    """Who the run works for now: whoever sent the last message, or else the initiator."""
    spoke: dict[str | None, None] = field(default_factory=dict)
    """Whoever sent a message, each once; None: nobody in particular."""
    stage: Staging = field(default_factory=Staging)
    behind: list[PassedPoint] = field(default_factory=list)
    """Points of the stages before this one that nobody approved."""
    regions: dict[str, Region] = field(default_factory=dict)
    """Pinned parts of what the model sees, by name."""
    steps: int = 0
    journaled: int = 0
    grants: list[Grant] = field(default_factory=list)
    """What holds beyond one call, in the order in which it was given."""
    trusted: dict[str, str] = field(default_factory=dict)
    """Tools that the speaker trusts, each with the digest of its schema then."""
    refusals: Refusals = field(default_factory=Refusals)
    applied: list[str] = field(default_factory=list)
    """Ids of the inputs whose end the run has acted on."""
    end: RunCompleted | RunFailed | RunCancelled | None = None
    told: Label = Label.PUBLIC
    """The highest label of what the model has been told."""

    @property
    def standing(self) -> Standing:
        """What was allowed before and still holds, as the gate takes it."""
        return Standing(tuple(self.grants), dict(self.trusted))

    def __post_init__(self) -> None:
        """The turns that it begins with were told too."""
        told = [turn.results for turn in self.turns if turn.role == "results"]
        self.told = highest(self.told, *(r.label for results in told for r in results))

    @property
    def heritage(self) -> Heritage:
        """What the run has from the runs above it, and from whoever started it."""
        return self.started.heritage if self.started else NO_HERITAGE

    @property
    def passed(self) -> list[PassedPoint]:
        """Points that the run passed although nobody approved them."""
        return [*self.behind, *self.stage.passed]

    @property
    def taint(self) -> Label:
        """The highest label of what the run was told, has pinned, or came with."""
        pinned = (region.label for region in self.regions.values())
        return highest(self.heritage.taint, self.told, *pinned)

    def apply(self, entry: Entry) -> None:
        """Take one more fact in."""
        self.journaled += 1
        match entry:
            case RunStarted():
                self.started, self.stage = entry, Staging(entry.stage)
                self.refusals.inherit(entry.heritage.refused)
            case StageEntered() | PointSettled() | RegionReplaced():
                self._advance(entry)
            case MessageReceived():
                self._hear(entry)
            case ModelReplied():
                self._reply(entry)
            case GrantGiven() | GrantRevoked() | TrustGiven():
                self._allow(entry)
            case CallJudged() | AnswerJudged() | ResourceDrifted() | ToolChanged():
                self._judge(entry)
            case InputOpened() | InputResolved():
                self._ask(entry)
            case ToolStarted() | Delegated() | ChildEnded():
                self._go_on(self.calls[entry.call_id], entry)
            case ToolFinished():
                self._finish(entry.result)
            case RunCompleted() | RunFailed() | RunCancelled():
                self._end(entry)
            case Frozen():
                pass  # for people; whether a freeze holds is read at each dispatch
            case _:
                assert_never(entry)

    def _hear(self, entry: MessageReceived) -> None:
        """A message. From somebody else, it ends what was allowed to the one before."""
        self.refusals.clear()
        if not self.heard:
            self.initiator = self.speaker = entry.sender
        elif entry.sender != self.speaker:
            self.grants, self.trusted = [], {}  # they were given to somebody else's wishes
            self.speaker = entry.sender or self.initiator
        self.spoke[entry.sender] = None
        self.heard, self.wanted = self.heard + 1, entry.text
        self.stage.spoken()
        turn = UserTurn(text=entry.text, sender=entry.sender)
        (self.unread if self.calls else self.turns).append(turn)

    def _advance(self, entry: StageEntered | PointSettled | RegionReplaced) -> None:
        match entry:
            case StageEntered():
                self.behind += self.stage.passed
                self.stage = Staging(entry.stage)
                # What was granted for a stage ends where another one comes between.
                self.grants = [g for g in self.grants if g.scope == "run" or g.stage == entry.stage]
                self.turns.append(UserTurn(text=f"The stage {entry.stage} begins."))
            case PointSettled():
                self.turns += self.stage.settle(entry)
            case RegionReplaced():
                self.regions[entry.region] = Region(entry.text, entry.edited, entry.label)

    def _reply(self, entry: ModelReplied) -> None:
        self.steps += 1
        self.turns.append(ModelTurn(reply=entry.reply))
        if not entry.reply.calls:
            self.stage.answered(entry.reply.text)
        self.calls = {call.id: CallState(call) for call in entry.reply.calls}
        for bad in entry.reply.bad_calls:
            self._finish(bad)

    def _ask(self, entry: InputOpened | InputResolved) -> None:
        if isinstance(entry, InputOpened):
            self._open(entry)
        else:
            self._resolve(entry)

    def _open(self, entry: InputOpened) -> None:
        ask = Ask(
            entry.input_id,
            entry.kind,
            entry.message,
            entry.digest,
            entry.ask,
            entry.fingerprint,
            changed_to=entry.changed_to,
            stops=entry.stops,
            policy=entry.policy,
        )
        if entry.point:
            self.stage.opened(entry.point, ask)
            return
        call = self.calls[entry.call_id]
        if entry.changed_to:
            call.change, call.changes = ask, call.changes + 1
        elif entry.kind is Kind.REVIEW:
            call.review = ask
        elif entry.ask is not None:
            call.asks.append(ask)
            call.in_doubt = False
        else:
            call.approval, call.approvals = ask, call.approvals + 1
            ask.facts, ask.verdict = call.facts, call.verdict

    def _resolve(self, entry: InputResolved) -> None:
        self.applied.append(entry.input_id)
        if entry.resolution.by is not None and entry.resolution.state is InputState.ANSWERED:
            self.refusals.clear()  # another no does not bring a refused call back
        if self.stage.ask is not None and self.stage.ask.input_id == entry.input_id:
            self.stage.ask.resolution = entry.resolution
        for call in self.calls.values():
            for ask in call.questions:
                if ask.input_id == entry.input_id and ask.resolution is None:
                    ask.resolution = entry.resolution
                    args = entry.resolution.outcome.args
                    if ask is call.approval and ask.approved and args is not None:
                        call.edited(args)

    def _allow(self, entry: GrantGiven | GrantRevoked | TrustGiven) -> None:
        match entry:
            case GrantGiven():
                self.grants.append(entry.grant)
            case GrantRevoked():
                self.grants = [grant for grant in self.grants if grant.id != entry.grant_id]
                for call in self.calls.values():
                    call.lose(entry.grant_id)
            case TrustGiven():
                self.trusted[entry.tool] = entry.schema_digest

    def _judge(self, entry: CallJudged | AnswerJudged | ResourceDrifted | ToolChanged) -> None:
        if isinstance(entry, CallJudged):
            call = self.calls[entry.call_id]
            call.verdict, call.risk = entry.verdict, entry.risk
            call.schema_digest, call.facts = entry.schema_digest, entry.facts
            return
        if isinstance(entry, ToolChanged):
            call = self.calls[entry.call_id]
            tool = same_tool(call.call.tool)
            self.grants = [grant for grant in self.grants if same_tool(grant.tool) != tool]
            self.trusted.pop(tool, None)
            call.accepted(entry)
            return
        if isinstance(entry, ResourceDrifted):
            call = self.calls[entry.call_id]
            asked = call.approval.input_id if call.approval else ""
            # The yes does not count, and neither does what came with it.
            self.grants = [grant for grant in self.grants if grant.input_id != asked]
            call.drifted(entry)
            return
        for call in self.calls.values():
            if call.approval and call.approval.input_id == entry.input_id:
                call.approval.judged = entry.approves

    def _go_on(self, call: CallState, entry: ToolStarted | Delegated | ChildEnded) -> None:
        match entry:
            case ToolStarted():
                call.attempt, call.in_doubt = entry.attempt, True
            case Delegated():
                call.children = entry.children
            case ChildEnded():
                call.ends[entry.end.run_id] = entry.end

    def _finish(self, result: CallResult) -> None:
        call = self.calls[result.call_id]
        call.result, call.in_doubt = result, False
        if result.label is not self.told:
            self.told = highest(self.told, result.label)
        self.refusals.note(call.call, result, asked=call.approval is not None)
        if all(c.result for c in self.calls.values()):
            results = tuple(c.result for c in self.calls.values() if c.result)
            self.turns += [ResultsTurn(results=results), *self.unread]
            self.calls, self.unread = {}, []

    def _end(self, entry: RunCompleted | RunFailed | RunCancelled) -> None:
        for call in list(self.calls.values()):
            if call.result is None:
                self._finish(_unfinished(call))
        self.end = entry


def fold(entries: Iterable[Entry], *, earlier: Sequence[Turn] = ()) -> State:
    """The state after these entries; `earlier` are the turns of the agent's runs before this one."""
    state = State(turns=list(earlier))
    for entry in entries:
        state.apply(entry)
    return state


def _unfinished(call: CallState) -> CallResult:
    """The one result of a call that the run's end cut off."""
    tried = call.in_doubt
    return CallResult(
        call_id=call.call.id,
        tool=call.call.tool,
        outcome=CallOutcome.UNKNOWN if tried else CallOutcome.CANCELLED,
        content="Started; its outcome is unknown." if tried else "Not run: the run ended first.",
    )
