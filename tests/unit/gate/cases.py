"""Shell lines with what is to be decided about each."""

import json
from dataclasses import dataclass
from pathlib import Path

from placet.gate.shell import SHIPPED, Layer, LineVerdict, SafeList, Source, judge_line


@dataclass(frozen=True)
class Case:
    """One line, the list and the grants it is judged under, and the decision."""

    id: str
    category: str
    line: str
    safe: list[str]
    """Entries; `defaults` stands for what is shipped."""
    granted: list[str]
    expect: str
    grants_offered: list[str] | None
    firm: bool
    """Whether the decision is more than a matter of taste."""
    grants_firm: bool
    """The same for the grants."""

    def judged(self) -> LineVerdict:
        own = tuple(entry for entry in self.safe if entry != "defaults")
        layers = [SHIPPED] if "defaults" in self.safe else []
        safe = SafeList.of([*layers, Layer(Source.CONFIG, own)])
        return judge_line(self.line, safe, self.granted)


_FILE = Path(__file__).parent / "shell_cases.jsonl"
CASES = [Case(**json.loads(line)) for line in _FILE.read_text().splitlines()]
