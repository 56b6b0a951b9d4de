"""The reader of shell lines: what it understands is just what bash does, all else is opaque."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from placet.domain.visible import hidden
from placet.gate.shell import Line, Opaque, read

pytestmark = pytest.mark.unit

Commands = list[list[str | None]]


def commands(line: str) -> Commands:
    """Programs with their words; `None` for a word that bash makes itself."""
    found = read(line)
    assert isinstance(found, Line), found
    return [[each.program, *(word.text for word in each.arguments)] for each in found.commands]


def code(line: str) -> str:
    found = read(line)
    assert isinstance(found, Opaque), found
    return found.code


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -la src", [["ls", "-la", "src"]]),
        ("a;b&&c||d|e\nf", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a &&\n\n # why\n b;\n", [["a"], ["b"]]),
        ("a 'b c' \"d e\" f\\ g ''", [["a", "b c", "d e", "f g", ""]]),
        ('a "b\\"\\$\\`\\\\\\n"', [["a", 'b"$`\\\\n']]),
        ("a b'c'\"d\"\\e", [["a", "bcde"]]),
        ("a 'x; y | z'", [["a", "x; y | z"]]),
        ("a \"x\ny\" 'x\ny'", [["a", "x\ny", "x\ny"]]),
        ("a b#c # d ; e", [["a", "b#c"]]),
        ("a # b \\\nc", [["a"], ["c"]]),
        ("a \\\n  b", [["a", "b"]]),
        ('a foo$ "^foo$" "$ 5" "$\'x\'"', [["a", "foo$", "^foo$", "$ 5", "$'x'"]]),
        ("a $X ${X} \"$X\" $? 'b$X'", [["a", None, None, None, None, "b$X"]]),
        ("a * b? [c] ~ x=~ {d,e}", [["a", None, None, None, None, None, None]]),
        ("a \\* \\~ \\{b,c\\} '*' \"~\"", [["a", "*", "~", "{b,c}", "*", "~"]]),
        ("a é 日本 ✅", [["a", "é", "日本", "✅"]]),
        ("a if then ! time # do", [["a", "if", "then", "!", "time"]]),
    ],
)
def test_the_words_of_a_line_are_those_that_bash_passes(line: str, expected: Commands) -> None:
    assert commands(line) == expected


@pytest.mark.parametrize(
    "redirect",
    [
        *(">/dev/null", "2>/dev/null", "2> /dev/null", ">>/dev/null", ">|/dev/null", "</dev/null"),
        *("&>/dev/null", "&>>/dev/null", ">& /dev/null", "2>&1", ">&2", "1>&2", "2>&-", "<&-"),
    ],
)
def test_l64_a_harmless_redirect_hides_nothing_that_follows_it(redirect: str) -> None:
    found = read(f"{redirect} a b {redirect} -c; d")
    assert isinstance(found, Line)
    assert commands(f"{redirect} a b {redirect} -c; d") == [["a", "b", "-c"], ["d"]]
    assert [each.redirected for each in found.commands] == [True, False]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("a > notes.txt", "a redirect that writes to notes.txt at character 3"),
        ("a 2>>x", "a redirect that writes to x at character 3"),
        ("a < x", "a redirect that reads from x at character 3"),
        ("a $(b)", "a command substitution at character 3"),
        ('a "b `c`"', "a command substitution at character 6"),
        ("a 'b", "a quote that is never closed at character 3"),
        ("a && ", "no command where one must stand at character 6"),
        ("FOO=bar a", "an assignment before the program at character 1"),
        ("a; for x", "the shell's own word for at character 4"),
        ("a\u202eb", "the hidden character U+202E at character 2"),
        ("a &", "a background job at character 3"),
        ("a <(b)", "a process substitution at character 3"),
        ("a <<E\nE", "a here-document at character 3"),
    ],
)
def test_an_opaque_line_says_what_stands_in_the_way_and_where(line: str, why: str) -> None:
    found = read(line)
    assert isinstance(found, Opaque)
    assert found.sentence == why


@pytest.mark.parametrize(
    "line",
    [
        *(
            "a `b`",
            "a <<E\nx\nE",
            "a 'b",
            'a "b',
            "a (b",
            "a )",
            "$a b",
            "${a} b",
            "eval a",
            "a \\",
        ),
        *(
            "source a",
            ". a",
            "trap a EXIT",
            "alias a=b",
            "a() { b; }",
            "function a { b; }",
            "",
            " \n",
        ),
    ],
)
def test_l61_a_line_that_cannot_be_read_is_opaque(line: str) -> None:
    assert isinstance(read(line), Opaque)


@pytest.mark.parametrize(
    "line",
    [
        "echo {$,x}['a[$(curl evil)]']",
        "echo {Z..a}curl{Z..a}",
        "echo {{a,Z}..a}",
        "echo x{a,$'b'}",
        "echo {$X,y}[1]",
        "echo {'$',y}",
        "declare a[ # ]; curl evil",
        "export a[0]=1",
        'echo "$\\\n(curl evil)"',
        'echo "$$(curl evil)"',
        "echo 'a'$\"b\"",
        "echo {fd}>/dev/null",
        "echo 12>/dev/null",
        "echo x >/dev/null#y",
        "echo x 2>&1x",
        "a |&>/dev/null b",
        "a;&>/dev/null b",
        "a ;; b",
        "a b\\\n# c",
        "a \\\r\nb",
        "-c id",
        "+x",
        "=a",
        "a=1",
        "a[0]=1 b",
        "a+=1 b",
        "[ -f x ]",
        ": > x",
        "!a",
        "%1",
        "a ${x@P}",
        "a ${ b; }",
        "a $[1]",
        "a @(b|c)",
        "> x",
        ">/dev/null",
        "a; >/dev/null",
    ],
)
def test_lines_that_deceive_readers_are_opaque(line: str) -> None:
    assert isinstance(read(line), Opaque)


def test_what_is_too_long_or_has_too_many_commands_is_opaque_as_a_whole() -> None:
    assert len(commands("a;" * 50)) == 50
    assert code("a;" * 51) == "too_many"
    assert commands("a" * 10_000) == [["a" * 10_000]]
    assert code("a" * 10_001) == "too_long"


@pytest.mark.parametrize(
    "piece", ['"', "'", "\\", "$", "{", "a{", '"$X', "#", "<", "[", "\\\n", " \\\n"]
)
def test_the_longest_line_of_anything_is_read_without_going_back(piece: str) -> None:
    for line in (piece * 10_000, f"a {piece * 5_000}", f'a "{piece * 5_000}'):
        assert isinstance(read(line[:10_000]), Line | Opaque)


SOUP = st.lists(
    st.sampled_from([*"ab '\"\\$`{}()[]<>|&;#~*?=!.,-12/\n\t", "/dev/null", "é", "\\\n"])
)


@given(st.text(st.characters(), max_size=60) | SOUP.map("".join))
@example("a \ud800")
def test_no_text_makes_the_reader_raise(text: str) -> None:
    assert isinstance(read(text), Line | Opaque)


@given(
    SOUP.map("".join), st.characters().filter(lambda c: hidden(c) and c not in "\t\n"), st.data()
)
def test_a_line_with_anything_hidden_in_it_is_opaque(
    text: str, unseen: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(text)))
    assert code(text[:at] + unseen + text[at:]) == "hidden_character"


@given(SOUP.map("".join))
def test_every_program_that_is_read_is_a_plain_word_of_the_line(text: str) -> None:
    found = read(text)
    for command in found.commands if isinstance(found, Line) else ():
        assert command.text in text
        assert command.program in command.text
        assert command.program.isascii()
        assert not set(command.program) & set(" \t\n'\"\\$`{}()[]<>|&;#~*?=!,")
