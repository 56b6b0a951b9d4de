"""Shell lines: a reader that accepts only what it fully understands, and the list of what is safe."""

from placet.gate.shell.defaults import DEFAULTS
from placet.gate.shell.entries import Caution, Entry, Kind, Source, parse_entry
from placet.gate.shell.layers import SHIPPED, Effective, Layer, SafeList
from placet.gate.shell.lines import Coverage, LineVerdict, judge_line
from placet.gate.shell.naming import grants
from placet.gate.shell.parts import Command, Line, Opaque, Word
from placet.gate.shell.reader import read

__all__ = [
    "DEFAULTS",
    "SHIPPED",
    "Caution",
    "Command",
    "Coverage",
    "Effective",
    "Entry",
    "Kind",
    "Layer",
    "Line",
    "LineVerdict",
    "Opaque",
    "SafeList",
    "Source",
    "Word",
    "grants",
    "judge_line",
    "parse_entry",
    "read",
]
