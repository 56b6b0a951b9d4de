"""The safe list: its layers, what is left out of them, and what a person is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placet.gate import Decision
from placet.gate.shell import (
    DEFAULTS,
    SHIPPED,
    Caution,
    Entry,
    Kind,
    Layer,
    SafeList,
    Source,
    judge_line,
    parse_entry,
)

pytestmark = pytest.mark.unit

CONFIG = Layer(Source.CONFIG, ("cargo test", "ls"), ("read_file",), "placet.toml")
AGENT = Layer(Source.AGENT, ("cargo test", "npm run build"), (), "placet.toml")
BLUEPRINT = Layer(Source.BLUEPRINT, ("cargo test", "curl"), ("fetch",), "ops.md")


def allowed(line: str, safe: SafeList) -> bool:
    return judge_line(line, safe).decision is Decision.ALLOW


def entry(text: str, kind: Kind = Kind.SHELL) -> Entry:
    found, _ = parse_entry(text, kind)
    assert found
    return found


def caution(text: str, kind: Kind = Kind.SHELL) -> Caution:
    _, found = parse_entry(text, kind)
    assert found
    return found


def test_l50_the_shipped_list_holds_wherever_it_is_not_left_out() -> None:
    assert len(set(DEFAULTS)) == 45
    assert allowed("ls | wc -l", SafeList.of([SHIPPED]))
    assert allowed("cat x", SafeList.of([SHIPPED, CONFIG]))
    assert not allowed("cat x", SafeList.of([CONFIG]))


@pytest.mark.parametrize(
    "program",
    """
    find sed awk sort tee xargs env nohup timeout watch cargo cp mv rm mkdir curl wget ssh sh bash eval
    uniq tree rg git diff file date hostname printf test less python3 node make docker sudo command
    """.split(),  # noqa: SIM905 - a list of words reads best as one
)
def test_nothing_that_can_write_or_run_or_connect_is_shipped(program: str) -> None:
    assert program not in DEFAULTS
    assert not allowed(f"{program} x", SafeList.of([SHIPPED]))


def test_l52_the_narrowest_layer_names_the_source_whatever_their_order() -> None:
    layers = [BLUEPRINT, AGENT, SHIPPED, CONFIG]
    for given_layers in (layers, layers[::-1]):
        rows = {row.key: row for row in SafeList.of(given_layers, allow_blueprint=True).effective()}
        assert rows["shell:cat"] == ("shell:cat", Source.DEFAULT, "")
        assert rows["shell:ls"] == ("shell:ls", Source.CONFIG, "placet.toml")
        assert rows["shell:npm run build"].source is Source.AGENT
        assert rows["shell:cargo test"] == ("shell:cargo test", Source.BLUEPRINT, "ops.md")
        assert rows["read_file"].source is Source.CONFIG
        assert list(rows) == sorted(rows)


def test_l53_what_a_definition_brings_is_inert_until_it_is_allowed() -> None:
    inert = SafeList.of([CONFIG, BLUEPRINT])
    assert not allowed("curl x", inert)
    assert "fetch" not in inert.tools
    assert [each.key for each in inert.inert] == ["shell:cargo test", "shell:curl", "fetch"]
    assert inert.shell["cargo test"].source is Source.CONFIG
    opted = SafeList.of([CONFIG, BLUEPRINT], allow_blueprint=True)
    assert allowed("curl x", opted)
    assert (opted.tools["fetch"].file, opted.inert) == ("ops.md", ())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ls; x", "not_plain"),
        ("ls;", "not_plain"),
        ("ls | wc", "not_plain"),
        ("ls 2>/dev/null", "not_plain"),
        ("ls # all", "not_plain"),
        ("ls 'x'", "not_plain"),
        ("ls *", "not_plain"),
        ("a b c d", "not_plain"),
        ("ls > f", "writes"),
        ("$CMD", "program"),
        ("'ls'", "program"),
        ("", "empty"),
        (" \t", "empty"),
        ("ls -la", "narrows_nothing"),
        ("sleep 5", "narrows_nothing"),
        ("for", "control"),
        ("eval", "shell_state"),
        ("export", "shell_state"),
        ("FOO=1 ls", "assignment"),
        ("ls\u200b", "hidden_character"),
        ("a" * 10_001, "too_long"),
    ],
)
def test_l54_a_bad_entry_is_left_out_with_a_caution_and_the_others_stay(
    text: str, code: str
) -> None:
    safe = SafeList.of([Layer(Source.CONFIG, ("pytest", text, "cargo test"), (), "placet.toml")])
    assert set(safe.shell) == {"pytest", "cargo test"}
    found = next(each for each in safe.cautions if each.skipped)
    assert (found.code, found.text, found.file) == (code, text, "placet.toml")
    assert found.sentence.isprintable()


@pytest.mark.parametrize(
    "text", ["shell:sh", "shell:ls", " shell:sh", "bash", "shell", "ls; x", "", "*"]
)
def test_l55_a_shell_cannot_be_smuggled_in_among_the_tools(text: str) -> None:
    safe = SafeList.of([Layer(Source.CONFIG, (), (text, "read_file"))])
    assert list(safe.tools) == ["read_file"]
    assert not safe.shell
    assert [each.skipped for each in safe.cautions] == [True]


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("text", [">", "> f", ">f", " >> f", ">&2", ">/dev/null"])
def test_l56_a_write_can_never_be_approved_beforehand(text: str, kind: Kind) -> None:
    assert parse_entry(text, kind)[0] is None
    assert caution(text, kind).code == "write"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *(
            (text, "multi_tool")
            for text in ("git", "npm", "docker", "npm run", "gh pr", "/usr/bin/git")
        ),
        *(
            (text, "runs_anything")
            for text in ("python3", "bash", "xargs", "sudo", "vim", "docker exec")
        ),
        *((text, "not_read_only") for text in ("sort", "find", "curl", "rm", "printf", "base64")),
    ],
)
def test_a_person_who_adds_much_is_told_so_and_has_it(text: str, code: str) -> None:
    assert (caution(text).code, caution(text).skipped) == (code, False)
    assert allowed(f"{text} x y z", SafeList.of([Layer(Source.CONFIG, (text,))]))


@pytest.mark.parametrize(
    "text", ["git status", "npm run build", "pytest", "./gradlew", "python3 x.py", "gh pr view"]
)
def test_an_entry_that_says_what_it_means_needs_no_caution(text: str) -> None:
    assert parse_entry(f"  {text.replace(' ', '   ')} ", Kind.SHELL) == (entry(text), None)
    assert entry(text).name == text


def test_nobody_is_cautioned_about_what_is_shipped() -> None:
    assert SafeList.of([SHIPPED]).cautions == ()


@pytest.mark.parametrize(
    "line",
    [
        *("cargo tests", "cargo 'test'", "cargo te\\st", "cargo -q test", "cargo $X test", "cargo"),
        *("CARGO test", "./cargo test", "/bin/cargo test", "cargo.exe test"),
    ],
)
def test_an_entry_covers_its_exact_words_and_no_others(line: str) -> None:
    safe = SafeList.of([CONFIG])
    assert allowed("cargo\ttest -- --nocapture $X", safe)
    assert not allowed(line, safe)


def test_a_relative_entry_holds_in_the_agents_own_folder_only() -> None:
    safe = SafeList.of(
        [SHIPPED, Layer(Source.CONFIG, ("./gradlew", "python3 x.py", "/opt/x", "make"))]
    )
    for line in (
        "./gradlew test",
        "python3 x.py",
        "cd a && /opt/x",
        "cd a; make",
        "./gradlew; cd a",
    ):
        assert allowed(line, safe), line
    for line in (
        "cd a && ./gradlew test",
        "ls; cd a | ls; ./gradlew",
        "cd a\npython3 x.py",
        "cd .;./gradlew",
    ):
        assert not allowed(line, safe), line
        assert judge_line(line, safe).reason.code == "after_cd"


def test_the_narrowest_entry_is_the_one_that_covers() -> None:
    safe = SafeList.of([Layer(Source.CONFIG, ("npm", "npm run", "npm run build"))])
    keys = [
        judge_line(line, safe).covered[0].key for line in ("npm run build x", "npm run x", "npm x")
    ]
    assert keys == ["npm run build", "npm run", "npm"]


@given(st.text(max_size=30), st.sampled_from(Kind))
def test_any_text_is_an_entry_or_is_left_out_with_a_caution(text: str, kind: Kind) -> None:
    found, told = parse_entry(text, kind)
    assert (found is None) == (told is not None and told.skipped)
