"""Whether a shell line may run without a person."""

from collections.abc import Collection
from dataclasses import dataclass

from placet.domain.visible import visible
from placet.gate.shell.entries import Entry
from placet.gate.shell.layers import SafeList
from placet.gate.shell.naming import grants_of, key_of, with_folder
from placet.gate.shell.parts import Command, Line, Opaque
from placet.gate.shell.programs import relative
from placet.gate.shell.reader import read
from placet.gate.verdict import Decision, Reason


@dataclass(frozen=True, slots=True)
class Coverage:
    """What covers one command of a line."""

    command: Command
    key: str
    entry: Entry | None
    """The entry of the safe list; `None` where a grant of the run covers it."""


@dataclass(frozen=True, slots=True)
class LineVerdict:
    """What is decided about a line."""

    decision: Decision
    """`allow` or `ask`."""
    reason: Reason
    uncovered: tuple[Command, ...] = ()
    """The commands that nothing covers; none where the line could not be read."""
    covered: tuple[Coverage, ...] = ()
    grants: tuple[str, ...] | None = None
    """The keys that an approval for longer would grant; `None` where nothing can be named."""


def judge_line(line: str, safe: SafeList, granted: Collection[str] = ()) -> LineVerdict:
    """Allow a line of which every command is covered by the safe list or by a grant of the run; else ask.

    Give `granted` as a set where it is long. More entries or grants never turn an allow into an ask.
    """
    found = read(line)
    if isinstance(found, Opaque):
        reason = Reason(code=found.code, sentence=f"the line holds {found.sentence}")
        return LineVerdict(Decision.ASK, reason)
    covered: list[Coverage] = []
    uncovered: list[tuple[Command, bool]] = []
    for command, moved in with_folder(found):
        if coverage := _coverage(command, safe, granted, moved=moved):
            covered.append(coverage)
        else:
            uncovered.append((command, moved))
    return _verdict(found, covered, uncovered, safe)


def _coverage(
    command: Command, safe: SafeList, granted: Collection[str], *, moved: bool
) -> Coverage | None:
    if granted:
        key = key_of(command, moved=moved)
        if key is not None and key in granted:
            return Coverage(command, key, None)
    entry = safe.covering(command, moved=moved)
    return Coverage(command, entry.name, entry) if entry else None


def _verdict(
    line: Line, covered: list[Coverage], uncovered: list[tuple[Command, bool]], safe: SafeList
) -> LineVerdict:
    offered = grants_of(line)
    if uncovered:
        reason = _uncovered(*uncovered[0], safe)
        commands = tuple(command for command, _ in uncovered)
        return LineVerdict(Decision.ASK, reason, commands, tuple(covered), offered)
    keys = dict.fromkeys(each.key for each in covered)
    told = ", ".join(f"`{key}`" for key in keys)
    reason = Reason(code="covered", sentence=f"safe or granted: {told}")
    return LineVerdict(Decision.ALLOW, reason, (), tuple(covered), offered)


def _uncovered(command: Command, moved: bool, safe: SafeList) -> Reason:
    shown = visible(command.text if len(command.text) <= 80 else f"{command.text[:80]}...")
    if moved and (safe.covering(command) or relative([command.program])):
        why = "it means another file after the `cd` before it"
        return Reason(code="after_cd", sentence=f"`{shown}` is not covered: {why}")
    narrow = [name for name in safe.shell if name.startswith(f"{command.program} ")]
    if narrow:
        some = ", ".join(f"`{name}`" for name in narrow[:3])
        return Reason(code="not_covered", sentence=f"`{shown}` is not covered; only {some} is")
    why = f"{command.program} is not on the safe list and was not granted"
    return Reason(code="not_covered", sentence=f"`{shown}` is not covered: {why}")
