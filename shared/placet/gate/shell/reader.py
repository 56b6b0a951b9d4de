"""Reads a line as bash would, or says that it cannot: what is not fully understood is opaque."""

from placet.gate.shell.obstacles import before_program, limits, obstacle, refused
from placet.gate.shell.parts import Command, Line, Opaque, Word
from placet.gate.shell.tokens import TOKEN, word_at

MOST_COMMANDS = 50


def read(line: str) -> Line | Opaque:
    """The simple commands of a line, in order; `Opaque` for every line that is anything else.

    Never raises, and takes time in proportion to the line. Holds for
    `bash --noprofile --norc -c LINE` and for no other shell, in an environment without `BASH_ENV`,
    `BASHOPTS`, `SHELLOPTS`, `POSIXLY_CORRECT` and functions: these change how bash reads.
    """
    return limits(line) or _Reading(line).all()


class _Reading:
    """How far a line has been read."""

    __slots__ = ("at", "commands", "end", "joined", "line", "redirected", "start", "words")

    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0
        self.commands: list[Command] = []
        self.joined = False
        self._next_command()

    def _next_command(self) -> None:
        self.words: list[Word] = []
        self.redirected = False
        self.start = self.end = -1

    def all(self) -> Line | Opaque:
        """The whole line, or the first thing in it that is not understood."""
        while self.at < len(self.line):
            if found := self._token():
                return found
        unfinished = self.start >= 0 or self.joined or not self.commands
        if unfinished and (found := self._operator("", self.at)):
            return found
        return Line(tuple(self.commands))

    def _token(self) -> Opaque | None:
        token = TOKEN.match(self.line, self.at)
        kind = (token and token.lastgroup) or ""
        if not token or not kind:
            return obstacle(self.line, self.at, self.at)
        start, self.at = token.span(kind)
        if kind == "word":
            return self._word(Word(token[kind], token[kind]), start)
        if kind == "operator":
            return self._operator(token[kind], start)
        if kind == "redirect":
            self.redirected = True
            self._reach(start)
        elif kind == "other" and start < len(self.line):
            word, self.at = word_at(self.line, start)
            return self._word(word, start) if word else obstacle(self.line, start, self.at)
        return None

    def _word(self, word: Word, start: int) -> Opaque | None:
        if not self.words and (found := before_program(word, start)):
            return found
        self.words.append(word)
        self._reach(start)
        return None

    def _reach(self, start: int) -> None:
        self.start = start if self.start < 0 else self.start
        self.end = self.at

    def _operator(self, operator: str, start: int) -> Opaque | None:
        """End the command; only a newline may stand where there is none."""
        if self.start < 0:
            return None if operator == "\n" else refused("empty_command", operator, start)
        if not self.words:
            return refused("no_program", "", self.start)
        if len(self.commands) == MOST_COMMANDS:
            return refused("too_many", str(MOST_COMMANDS), self.start)
        program, *arguments = self.words
        text = self.line[self.start : self.end]
        self.commands.append(Command(program.raw, tuple(arguments), self.redirected, text))
        self.joined = operator in ("&&", "||", "|")
        self._next_command()
        return None
