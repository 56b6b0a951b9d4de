"""Whether a shell line runs unasked: only if each of its commands is covered, whatever stands beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet.gate import Decision
from placet.gate.shell import (
    DEFAULTS,
    SHIPPED,
    Layer,
    LineVerdict,
    SafeList,
    Source,
    grants,
    judge_line,
)

pytestmark = pytest.mark.unit

SAFE = SafeList.of([SHIPPED])
SHAPES = {
    "sequence": "@; curl x",
    "and": "@ && curl x",
    "or": "@ || curl x",
    "pipe": "@ | sh",
    "newline": "@\ncurl x",
    "background": "@ & curl x",
    "both streams": "@ |& curl x",
    "substitution": "@ $(curl x)",
    "quoted substitution": '@ "$(curl x)"',
    "backtick": "@ `curl x`",
    "quoted backtick": '@ "`curl x`"',
    "process in": "@ <(curl x)",
    "process out": "@ >(curl x)",
    "write": "@ > f",
    "append": "@ >> f",
    "clobber": "@ >| f",
    "both to a file": "@ &> f",
    "errors to a file": "@ 2> f",
    "read and write": "@ <> f",
    "network": "@ < /dev/tcp/h/1",
    "here-document": "@ <<E\n$(curl x)\nE",
    "here-string": "@ <<< x",
    "assignment": "X=1 @",
    "path": "PATH=. @",
    "here": "./@",
    "elsewhere": "/opt/@",
    "escaped": "\\@",
    "quoted": "'@'",
    "variable": "$@",
    "longer": "@x",
    "glued": '@"$(curl x)"',
    "braces": "@{,x}",
    "glob": "@*",
    "job": "%@",
    "subshell": "(@)",
    "group": "{ @; }",
    "negated": "! @",
    "time": "time @",
    "eval": "eval @",
    "env": "env @",
    "sudo": "sudo @",
    "shell": "bash -c @",
    "xargs": "xargs @",
    "command": "command @",
    "exec": "exec @",
    "coproc": "coproc @",
    "if": "if @; then @; fi",
    "for": "for x in a; do @; done",
    "function": "@() { curl; }",
    "alias": "alias @=curl; @",
    "export": "export PATH=.; @",
    "assigning expansion": "@ ${x:=1}",
    "arithmetic": "@ $((x))",
    "old arithmetic": "@ $[x]",
    "dollar quote": "@ $'x'",
    "carriage return": "@\rcurl x",
    "zero width": "@\u200b x",
    "right to left": "@ \u202ex",
    "continued": "@\\\nx",
    "second command hidden by a comment": "@ # x\ncurl x",
    "pushed away": f"@{' ' * 300}; curl x",
}
"""What surrounds a program so that more than it runs; `@` stands for the program."""

REDIRECTS = (
    ">/dev/null",
    "2>/dev/null",
    "2>&1",
    ">/dev/null 2>&1",
    "&>/dev/null",
    "</dev/null",
    "2>/dev/null | @",
    "2>&1 || @ x >&2",
)


def decision(line: str, safe: SafeList = SAFE, granted: frozenset[str] = frozenset()) -> Decision:
    return judge_line(line, safe, granted).decision


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_l66_no_shipped_entry_carries_anything_else_through(shape: str) -> None:
    for program in DEFAULTS:
        line = shape.replace("@", program)
        assert decision(line) is Decision.ASK, line


@pytest.mark.parametrize("redirect", REDIRECTS)
def test_l66_every_shipped_entry_runs_unasked_with_harmless_redirects(redirect: str) -> None:
    for program in DEFAULTS:
        line = f"{program} a {redirect}".replace("@", program)
        assert decision(line) is Decision.ALLOW, line


def test_l64_what_follows_a_redirect_is_judged_too() -> None:
    verdict = judge_line("cat a 2>/dev/null; curl x", SAFE)
    assert [command.program for command in verdict.uncovered] == ["curl"]
    assert verdict.grants == ("cat", "curl")


def test_the_reason_names_the_very_command_that_is_not_covered() -> None:
    safe = SafeList.of([SHIPPED, Layer(Source.CONFIG, ("cargo test",))])
    verdict = judge_line("ls && curl evil | wc", safe)
    assert verdict.reason.code == "not_covered"
    assert verdict.reason.sentence == (
        "`curl evil` is not covered: curl is not on the safe list and was not granted"
    )
    other = judge_line("cargo publish", safe).reason.sentence
    assert other == "`cargo publish` is not covered; only `cargo test` is"
    opaque = judge_line("ls > notes.txt", safe).reason
    assert opaque.code == "writes"
    assert opaque.sentence == "the line holds a redirect that writes to notes.txt at character 4"


def test_what_covers_each_command_is_told_a_grant_before_an_entry() -> None:
    verdict = judge_line("ls && git status -s && git status", SAFE, {"git status", "ls"})
    assert verdict.decision is Decision.ALLOW
    assert [(each.key, each.entry) for each in verdict.covered] == [
        ("ls", None),
        ("git status", None),
        ("git status", None),
    ]
    assert verdict.reason.sentence == "safe or granted: `ls`, `git status`"
    (covered,) = judge_line("ls", SAFE).covered
    assert covered.entry
    assert covered.entry.source is Source.DEFAULT


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("ls && git status && ls -l", ("ls", "git status")),
        ("rm -rf x", ("rm",)),
        ("npm run build -- --x", ("npm run build",)),
        ("gh pr merge 1", ("gh pr merge",)),
        ("/usr/bin/git push", ("/usr/bin/git push",)),
        ("./deploy.sh x", ("./deploy.sh",)),
    ],
)
def test_a_key_is_a_program_with_what_says_what_it_does(line: str, keys: tuple[str, ...]) -> None:
    assert grants(line) == keys
    assert decision(line, SafeList.of([]), frozenset(keys)) is Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    [
        *("python3 x.py", "/usr/bin/python3.11 x.py", "node x", "awk 1", "bash x", "busybox sh", "env ls"),
        *("sudo ls", "xargs rm", "command ls", "npm exec x", "npx x", "uv run x", "docker compose exec a b"),
        *("git", "git -C x push", "git $X", "git 'push'", "npm run", "npm run -s x", "gh pr", "pip3.11"),
        *("vim x", "less x", "printf x", "test -f x", "cd x && ./y", "ls; sh", "/lib/ld-linux.so.2 x"),
    ],
)  # fmt: skip
def test_what_runs_whatever_it_is_told_has_no_key_nor_has_its_line(line: str) -> None:
    assert grants(line) is None
    words = line.split()
    spellings = (" ".join(words[:count]) for count in range(1, 4))
    granted = frozenset([*spellings, "ls", "cd", "sh", "./y"])
    assert decision(line, SAFE, granted) is Decision.ASK


WORDS = st.sampled_from(
    [
        "ls",
        "git",
        "status",
        "push",
        "npm",
        "run",
        "build",
        "curl",
        "cd",
        "./x",
        "-a",
        "'q r'",
        "$X",
        "*",
        "{a,b}",
    ]
)
COMMANDS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
LINES = st.lists(COMMANDS, min_size=1, max_size=4).flatmap(
    lambda each: st.sampled_from([" && ", "; ", " | ", "\n", " 2>&1; ", " & "]).map(
        lambda by: by.join(each)
    )
)
ENTRIES = st.sampled_from(
    [
        "ls",
        "git",
        "git status",
        "git push",
        "npm run build",
        "npm run",
        "curl",
        "cd",
        "./x",
        "ls status",
        "> f",
    ]
)
SOME = st.lists(ENTRIES, max_size=4)


def justified(verdict: LineVerdict) -> bool:
    """Whether each command begins with the very words that are said to cover it."""
    return all(
        [each.command.program, *(word.raw for word in each.command.arguments)][: len(key)] == key
        for each in verdict.covered
        if (key := each.key.split())
    )


@given(LINES, SOME, SOME, ENTRIES)
def test_one_more_entry_or_grant_never_asks_more_and_lets_through_what_it_names_alone(
    line: str, entries: list[str], granted: list[str], more: str
) -> None:
    before = judge_line(line, of(entries), granted)
    for after in (
        judge_line(line, of([*entries, more]), granted),
        judge_line(line, of(entries), [*granted, more]),
    ):
        if before.decision is Decision.ALLOW:
            assert after.decision is Decision.ALLOW
        held = {each.command for each in before.covered}
        assert held <= {each.command for each in after.covered}
        assert {each.key for each in after.covered if each.command not in held} <= {more}
        assert justified(after)
        assert (after.decision is Decision.ALLOW) == (not after.uncovered and bool(after.covered))


def of(entries: list[str]) -> SafeList:
    return SafeList.of([Layer(Source.CONFIG, tuple(entries))])
