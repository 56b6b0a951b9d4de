"""The twelve invariants, each as a check of what happened."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from placet import audit
from placet.domain.interaction import ApprovalDecision, InputState, Kind
from placet.domain.resolution import Resolution
from placet.kernel import fold
from placet.kernel.journal import (
    CallJudged,
    GrantGiven,
    GrantRevoked,
    InputOpened,
    InputResolved,
    MessageReceived,
    ModelReplied,
    StageEntered,
    ToolFinished,
    ToolStarted,
)
from placet.kernel.turns import CallOutcome, ModelTurn, ResultsTurn
from tests.support.stateful.evidence import Evidence, Story, digest_now
from tests.support.stateful.freezing import started_frozen
from tests.support.stateful.plans import APPROVERS, EACH_TIME, GATED, UNSAFE, Effect

Flaws = Iterator[str]


def invariant_1(seen: Evidence) -> Flaws:
    """A question exists durably before anyone hears of it."""
    yield from seen.unheard


def invariant_2(seen: Evidence) -> Flaws:
    """No tool that needs a person runs without a valid, authorised yes for exactly that call, or a
    grant or trust that a person gave and that names it."""
    for effect in seen.effects:
        if effect.tool in GATED and not _allowed(seen, effect):
            yield f"nobody allowed {effect}"


def invariant_3(seen: Evidence) -> Flaws:
    """An interaction settles once; every later answer learns how."""
    for record in seen.records.values():
        yield from (f"{record.id}: {flaw}" for flaw in audit.flaws(record.history))
        settled = [e for e in record.history if e["what"] in ("settled", "closed unseen")]
        if len(settled) != (0 if record.pending else 1):
            yield f"{record.id} is {record.state} and settled {len(settled)} times"
    for attempt in seen.attempts:
        if attempt.settled is None:
            continue
        told, record = attempt.settled.resolution, seen.records[attempt.input_id]
        if told != record.resolution:
            yield f"{attempt} was told {told}, and it is {record.resolution}"


def invariant_4(seen: Evidence) -> Flaws:
    """A settled answer is never lost, and its run always goes on from it (after an abort it is kept
    and shown as not applied)."""
    for story in seen.runs.values():
        taken = story.resolved()
        for input_id in story.opened():
            record = seen.records.get(input_id)
            told = record.resolution if record else None
            if input_id in taken and taken[input_id].resolution.outcome != getattr(
                told, "outcome", 0
            ):
                yield f"{story.id} went on from another end of {input_id} than {told}"
            if input_id not in taken and not story.live and story.status == "completed":
                yield f"{story.id} completed and never heard how {input_id} ended: {told}"
            if record is None or record.pending:
                yield f"{input_id} of {story.id} ({story.status}) is still open at the broker"
        if story.live:
            yield f"{story.id} did not come to its end: {story.document}"
        yield from _unclosed(story)


def _unclosed(story: Story) -> Flaws:
    for entry in story.document["waiting"]:
        if entry["resolution"] is None:
            yield f"{story.id} ended and waits for {entry['kind']} {entry['id']}"


def invariant_5(seen: Evidence) -> Flaws:
    """An approved call takes effect once per idempotency key, or a person is asked whether it did."""
    counted = Counter((e.run_id, e.call_id, e.key) for e in seen.effects if e.tool in UNSAFE)
    for (run_id, call_id, key), count in counted.items():
        again = sum(
            opened.kind is Kind.REVIEW
            and opened.call_id == call_id
            and _says(seen, opened.input_id, "rerun")
            for opened in seen.runs[run_id].of(InputOpened)
        )
        if count > 1 + again:
            yield f"{key}: {count} effects although {again} times somebody said to run it again"
    for execution, count in Counter((e.key, e.attempt) for e in seen.effects).items():
        if count > 1:
            yield f"{execution} took effect {count} times"
    calls: dict[str, tuple[str, str]] = {}
    for effect in seen.effects:
        if calls.setdefault(effect.key, (effect.run_id, effect.call_id)) != (
            effect.run_id,
            effect.call_id,
        ):
            yield f"two calls have the key {effect.key}"


def _says(seen: Evidence, input_id: str, word: str) -> bool:
    record = seen.records[input_id]
    content = record.resolution.outcome.content if record.resolution else None
    return isinstance(content, dict) and content.get("outcome") == word


def invariant_6(seen: Evidence) -> Flaws:
    """Every model call has one reply in the journal, every tool call exactly one result, in order."""
    for story in seen.runs.values():
        turns = fold(story.journal).turns
        for before, turn in pairwise(turns):
            if isinstance(before, ModelTurn) and before.reply.calls:
                wanted = [call.id for call in before.reply.calls]
                got = [r.call_id for r in turn.results] if isinstance(turn, ResultsTurn) else None
                if got != wanted:
                    yield f"{story.id}: the calls {wanted} have the results {got}"
        finished = Counter(entry.result.call_id for entry in story.of(ToolFinished))
        yield from (f"{story.id}: {id} has {n} results" for id, n in finished.items() if n > 1)
        replies = [call.id for entry in story.of(ModelReplied) for call in entry.reply.calls]
        yield from (f"{story.id}: {id} twice" for id, n in Counter(replies).items() if n > 1)


def invariant_7(seen: Evidence) -> Flaws:
    """A finished step never runs again."""
    for story in seen.runs.values():
        ended: set[str] = set()
        for entry in story.journal:
            if isinstance(entry, ToolFinished):
                ended.add(entry.result.call_id)
            elif isinstance(entry, ToolStarted) and entry.call_id in ended:
                yield f"{story.id} started {entry.call_id} after its result"
    for number, effect in enumerate(seen.effects):
        if number >= seen.finished.get((effect.run_id, effect.call_id), len(seen.effects)):
            yield f"{effect} came after the call's result"


def invariant_8(seen: Evidence) -> Flaws:
    """No write with an older epoch succeeds once a newer one was granted."""
    yield from seen.zombies


def invariant_9(seen: Evidence) -> Flaws:
    """A suspended run holds nothing: no task, no connection, no lease, no unacked message."""
    yield from seen.holding


def invariant_10(seen: Evidence) -> Flaws:
    """Silence never approves a call or an `ask` point and is never recorded as a person's refusal."""
    for record in seen.records.values():
        ended = record.resolution
        if record.state is InputState.EXPIRED and ended and (ended.by or ended.outcome.decision):
            yield f"{record.id} expired and was decided: {ended}"
    for story in seen.runs.values():
        results = {entry.result.call_id: entry.result for entry in story.of(ToolFinished)}
        for opened in story.of(InputOpened):
            told = story.resolved().get(opened.input_id)
            silent = told is not None and told.resolution.state is InputState.EXPIRED
            result = results.get(opened.call_id)
            if not silent or opened.kind is not Kind.TOOL_APPROVAL or result is None:
                continue
            if result.outcome not in (CallOutcome.EXPIRED, CallOutcome.CANCELLED):
                yield f"nobody answered {opened.input_id}, and its call is {result}"


def invariant_11(seen: Evidence) -> Flaws:
    """Nothing that arrives is dropped: it is handled, refused with a reason, or in the dead-letter
    queue."""
    read = [entry.text for story in seen.runs.values() for entry in story.of(MessageReceived)]
    ended = [story for story in seen.runs.values() if story.status in ("failed", "cancelled")]
    left = [message["text"] for story in ended for message in story.document["inbox"]]
    for text in seen.said:
        if (count := read.count(text) + left.count(text)) != 1:
            yield f"the message {text!r} is there {count} times"
    yield from (f"a dead letter: {letter}" for letter in seen.dead)
    yield from (f"nobody answered to {each}" for each in seen.unanswered)


def invariant_12(seen: Evidence) -> Flaws:
    """Who answered comes from a credential."""
    for record in seen.records.values():
        ended = record.resolution
        if ended is None or ended.by is None:
            continue
        tries = [a for a in seen.attempts if a.input_id == record.id and not a.refused]
        if (ended.by.id, ended.channel) not in [(a.who, a.channel) for a in tries]:
            yield f"{record.id} was answered by {ended.by.id} over {ended.channel}; tried: {tries}"
        if not record.audience.admits({ended.by.id}):
            yield f"{record.id} was answered by {ended.by.id}, who may not: {record.audience}"


INVARIANTS: Sequence[Callable[[Evidence], Flaws]] = (
    *(invariant_1, invariant_2, invariant_3, invariant_4, invariant_5, invariant_6),
    *(invariant_7, invariant_8, invariant_9, invariant_10, invariant_11, invariant_12),
)


def flaws(seen: Evidence) -> list[str]:
    """Everything that is wrong, each with the invariant that it breaks."""
    crashed = [f"it crashed: {crash}" for crash in seen.crashes]
    frozen = [f"it was frozen: {flaw}" for flaw in started_frozen(seen)]
    return (
        crashed
        + frozen
        + [
            f"{check.__name__} ({' '.join((check.__doc__ or '').split())}) {flaw}"
            for check in INVARIANTS
            for flaw in check(seen)
        ]
    )


# --- who allowed a call ---


def _allowed(seen: Evidence, effect: Effect) -> bool:
    """Whether, when it was started, a yes for exactly this call stood in the journal, or a grant."""
    story = seen.runs[effect.run_id]
    before = _until_started(story, effect)
    if before is None:
        return False
    judged = [e for e in before if isinstance(e, CallJudged) and e.call_id == effect.call_id]
    schema = judged[-1].schema_digest if judged else ""
    if any(_is_yes(seen, story, entry, effect, schema) for entry in before):
        return True
    if effect.tool in EACH_TIME or not judged:
        return False
    standing = _grants(seen, before)
    return any(
        grant.grant.tool == effect.tool
        and grant.grant.schema_digest in ("", schema)
        and grant.grant.exact in ("", digest_now(effect.tool, schema, effect.args))
        for id, grant in standing.items()
        if id in judged[-1].verdict.grants and not _was_taken_back(seen, id, effect)
    )


def _was_taken_back(seen: Evidence, grant_id: str, effect: Effect) -> bool:
    started = seen.landed[effect.key, str(effect.attempt)]
    return seen.landed.get((grant_id,), started) < started


def _until_started(story: Story, effect: Effect) -> list[object] | None:
    for number, entry in enumerate(story.journal):
        if isinstance(entry, ToolStarted) and (entry.call_id, entry.key, entry.attempt) == (
            effect.call_id,
            effect.key,
            effect.attempt,
        ):
            return list(story.journal[:number])
    return None


def _is_yes(seen: Evidence, story: Story, entry: object, effect: Effect, schema: str) -> bool:
    if not isinstance(entry, InputResolved):
        return False
    opened, record = story.opened()[entry.input_id], seen.records[entry.input_id]
    if opened.call_id != effect.call_id or opened.kind is not Kind.TOOL_APPROVAL:
        return False
    if not _person_allowed(record.resolution) or record.resolution != entry.resolution:
        return False
    if opened.digest != record.digest:
        return False
    edited = entry.resolution.outcome.args
    if edited is not None:
        return edited == effect.args
    return record.digest == digest_now(effect.tool, schema, effect.args)


def _person_allowed(resolution: Resolution | None) -> bool:
    return (
        resolution is not None
        and resolution.by is not None
        and resolution.state is InputState.ANSWERED
        and resolution.outcome.decision is ApprovalDecision.APPROVED
        and resolution.by.id in ("alice", "carol", *APPROVERS)
    )


def _grants(seen: Evidence, before: Sequence[object]) -> dict[str, GrantGiven]:
    """Those that stood: given by a person's yes, not taken back, and not ended by another speaker."""
    standing: dict[str, GrantGiven] = {}
    speaker, heard = None, False
    for entry in before:
        match entry:
            case GrantGiven() if _person_allowed(seen.records[entry.grant.input_id].resolution):
                standing[entry.grant.id] = entry
            case GrantRevoked():
                standing.pop(entry.grant_id, None)
            case StageEntered():
                standing = {
                    id: given
                    for id, given in standing.items()
                    if given.grant.scope == "run" or given.grant.stage == entry.stage
                }
            case MessageReceived():
                if heard and entry.sender != speaker:
                    standing = {}
                speaker, heard = entry.sender, True
            case _:
                pass
    return standing
