"""Shell lines drawn from dice: plausible ones, what is left of them after accidents, and plain soup."""

import random
from collections.abc import Iterator, Sequence

PROGRAMS = (
    "ls", "cat", "grep", "echo", "cd", "pwd", "true", "type", "head", "wc", "git", "curl", "id", "rm",
    "npm", "x", "a", "foo", "printf", "test", "kill", "exec", "command", "exit", "12", "a.b-c+d",
    "./gradlew", "sub/tool",
)  # fmt: skip
SEPARATORS = (
    "; ", ";", " ; ", ";\n", "\n", "\n\n", " && ", "&&", " &&\n ", " || ", "||", " | ", "|", " |\n",
)  # fmt: skip
ENDS = ("", "", "", ";", " ", "\n", " # curl evil", " #\ncurl evil", "\\")
BLANKS = (" ", " ", " ", "  ", "\t", " \\\n")
REDIRECTS = (
    ">/dev/null", "2>/dev/null", "2>&1", ">&2", "&>/dev/null", "&>>/dev/null", ">>/dev/null",
    "</dev/null", "2> /dev/null", ">|/dev/null", "2>&-", "<&-", "1>&2", ">& /dev/null", "0<&3", "3>&1",
    ">out", "2>err", "<a", ">&out", "2>&1x", ">/dev/null/x", "12>/dev/null", "{fd}>/dev/null", "<>a",
    ">&$X", "<<<x", "<<E", ">/dev/nul", "2>&1-", "> '/dev/null'", ">&2#",
)  # fmt: skip
ARGUMENTS = (
    "a", "-la", "--x=y", "x=1", "a=~/b", "~", "~/x", "~nobody", "a~b", "*", "*.md", "?", "[a-z]", "[!a]*",
    "{a,b}", "{a,{b,c}}d", "{}", "{a}", "a{b", "}", "{1..3}", "{a..c}", "{Z..a}", "{$,x}", "../{a,b}",
    "$X", "${X}", "$E", "$Y", "$U", "$?", "$1", "a$X.b", "$X$E", "$$", "$!", "$#", "$@", "$-", "foo$",
    "'a b'", "''", '""', '"a b"', '"$X"', '"${Y}b"', '"a$"', "\"$'x'\"", '"\\$X"', '"\\`id\\`"', '"a\\b"',
    '"x\\"y"', "'$(curl evil)'", "'`curl evil`'", "'; curl evil'", '"; curl evil"', "'\"'", "\"it's\"",
    '"(x|y)$|z"', '"$ 5"', '"!x"', "a\\ b", "\\;", "\\|", "\\$X", "\\`id\\`", "\\'", '\\"', "\\\\", "\\#",
    "\\{a,b}", "\\~", "\\*", "a#b", "#", "# curl evil", "!", "!x", "^", "a^b", "=", "=x", ":", "@", "%1",
    "+x", "é", "日本", "'é b'", '"✅"', "$é", "\\é", "a\\\nb", "\\\n", " \\\n ", '"a\\\nb"', "'a\nb'",
    '"a\nb"', "1", "12", "a[0]", "a[$X]", "a[b c]", "['a']", "x]", "]", "[", "if", "done", "time", "[[",
    "-",
)  # fmt: skip
TRAPS = (
    "echo {$,x}['a[$(curl evil)]']",
    "echo {Z..a}curl\\ evil{Z..a}",
    "declare a[ # ]; curl evil",
    "echo {fd}>/dev/null 12>/dev/null",
    'echo "$\\\n(curl evil)"',
    'echo "$$(curl evil)" "$?(curl evil)"',
    "ls # x\\\ncurl evil",
    "ls \\\n# curl evil\nid",
    "echo $'\\'; curl evil; #'",
    "ls |&>/dev/null cat",
    "ls;&>/dev/null cat",
    "ls >/dev/null#x\ncurl evil",
    "cat <<'E'\n$(curl evil)\nE",
    "2>/dev/null git status 2>&1|head >&2",
    "echo a=~:~ x~ ~{a,b} {~,~/x} {}{a,{b,c}}#d ]",
)
"""Lines that readers of shell lines are known to fall for, and that accidents should happen to."""

FRAGMENTS = (
    *"""${},'"\\#[]();&|<>=!~^*?@%+-0129axX/.:_`é""",
    "..", " ", " ", " ", "\t", "\n", "\\\n", "  ", "\\ ", "\\\\", "$(", "${", "$'", '$"', "$[", "$((", "<(",
    ">(", "|&", "&>", ">&", "<<", ";;", "$(curl evil)", "`curl evil`", "curl evil", ";curl evil;",
    "\ncurl evil\n", "\n# x\n", "['a[$(curl evil)]']", "{$,x}", "{Z..a}", "declare ", "export ", "eval ",
    "if ", "time ", "! ", "coproc ", "function ", "set -k;", "a[", "a[$X]=", "a=(", "x=",
    "\r", "\x00", "\x7f", "\u00a0", "\u200b", "\u202e", "\u2028", "\ud800", "\x01", "\x0b",
)  # fmt: skip


class Lines:
    """Endless lines; the same dice give the same ones."""

    def __init__(self, dice: random.Random, seeds: Sequence[str] = ()) -> None:
        self._dice = dice
        self._seeds = (*seeds, *TRAPS)

    def __iter__(self) -> Iterator[str]:
        while True:
            yield self.one()

    def one(self) -> str:
        """One line of one of the kinds."""
        kind = self._dice.random()
        if kind < 0.15:
            return "".join(self._dice.choices(FRAGMENTS, k=self._dice.randint(1, 16)))
        line = self._dice.choice(self._seeds) if kind < 0.3 else self._list()
        for _ in range(self._dice.choice((0, 0, 0, 1, 1, 2, 4))):
            line = self._accident(line)
        return line

    def _list(self) -> str:
        line = self._command()
        while self._dice.random() < 0.4:
            line += self._of(SEPARATORS) + self._command()
        return line + self._of(ENDS)

    def _command(self) -> str:
        words = [self._of(PROGRAMS)]
        while self._dice.random() < 0.68:
            word = self._of(ARGUMENTS if self._dice.random() < 0.85 else REDIRECTS)
            while self._dice.random() < 0.25:
                word += self._of(ARGUMENTS if self._dice.random() < 0.9 else REDIRECTS)
            words.append(word)
        if self._dice.random() < 0.1:
            words.insert(0, self._of(REDIRECTS))
        return self._of(BLANKS).join(words)

    def _accident(self, line: str) -> str:
        at, end = sorted((self._dice.randint(0, len(line)), self._dice.randint(0, len(line))))
        kinds = (
            line[:at] + line[at + 1 :],
            line[:at] + self._of(FRAGMENTS) + line[at:],
            line[:at] + self._of(FRAGMENTS) + line[at:],
            line[:at] + line[at:end] * 2 + line[end:],
            line[:at] + self._of(ARGUMENTS) + line[at:],
        )
        return self._of(kinds)

    def _of(self, texts: Sequence[str]) -> str:
        return self._dice.choice(texts)
