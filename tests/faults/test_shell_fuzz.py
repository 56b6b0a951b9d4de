"""The shell reader against real bash: whatever it accepts, bash runs just that, and writes nothing.

Dice from a printed seed; `PLACET_SEED` gives the same lines again.
"""

import os
import random
from collections.abc import Iterator, Sequence
from itertools import islice

import pytest

from placet.gate.shell import Command, Line, Opaque, read
from tests.support.oracle import Jail, Ran, Unfit
from tests.support.shell_lines import Lines
from tests.unit.gate.cases import CASES

pytestmark = pytest.mark.faults

LONG = os.environ.get("PLACET_FAULTS") == "long"
ACCEPTED = int(os.environ.get("PLACET_SHELL_LINES", "20000" if LONG else "300"))
SEED = int(os.environ.get("PLACET_SEED", random.randrange(10**6)))  # noqa: S311
READ = 1_000_000 if LONG else 5_000


@pytest.fixture(scope="module")
def jail(tmp_path_factory: pytest.TempPathFactory) -> Jail:
    try:
        return Jail(tmp_path_factory.mktemp("jail"))
    except Unfit as lacking:
        pytest.fail(str(lacking))


@pytest.fixture
def lines() -> Lines:
    print(f"seed {SEED}")
    return Lines(random.Random(SEED), [case.line for case in CASES])  # noqa: S311


def accepted(lines: Lines) -> Iterator[tuple[str, Line]]:
    """Lines that the reader accepts, each once."""
    seen: set[str] = set()
    for line in lines:
        found = read(line)
        if isinstance(found, Line) and line not in seen:
            seen.add(line)
            yield line, found


@pytest.mark.timeout(3000)
def test_bash_runs_nothing_but_what_the_reader_says_and_writes_no_file(
    jail: Jail, lines: Lines
) -> None:
    wrong: list[str] = []
    for line, found in islice(accepted(lines), ACCEPTED):
        found_wrong = filter(None, (difference(found, ran) for ran in jail.ran(line)))
        wrong.extend(f"{line!r}: {why}" for why in found_wrong)
    print(f"{ACCEPTED} accepted lines, {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong[:20])


def difference(line: Line, ran: Ran) -> str | None:
    """What bash did that the reader did not say, or `None`."""
    if ran.files:
        return f"it changed the files {ran.files}"
    if ran.misformed:
        return f"it is no line for bash: {ran.errors}"
    if not all_among(ran.commands, line.commands):
        return f"it ran {ran.commands}, not {line.commands}"
    return None


def all_among(ran: Sequence[Sequence[str]], said: Sequence[Command]) -> bool:
    """Whether each program that ran is another one of those said; members of a pipe run in any order."""
    holder: dict[int, int] = {}

    def place(one: int, tried: set[int]) -> bool:
        for other, command in enumerate(said):
            if other not in tried and is_said(ran[one], command):
                tried.add(other)
                if other not in holder or place(holder[other], tried):
                    holder[other] = one
                    return True
        return False

    return all(place(one, set()) for one in range(len(ran)))


def is_said(words: Sequence[str], command: Command) -> bool:
    """Whether a program ran with these words as was said; what expands may be any number of words."""
    if not words or words[0] != command.program:
        return False
    reached = {1}
    for word in command.arguments:
        if word.text is None:
            reached = set(range(min(reached), len(words) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(words) and words[at] == word.text}
        if not reached:
            return False
    return len(words) in reached


@pytest.mark.timeout(3000)
def test_the_reader_never_raises_whatever_the_line(lines: Lines) -> None:
    kinds = {type(read(line)) for line in islice(lines, READ)}
    assert kinds == {Line, Opaque}
