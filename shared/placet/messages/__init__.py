"""What travels between the services; `contracts/` is generated from here."""

from placet.messages.command import CommandName, RunCommand
from placet.messages.event import Event, EventType
from placet.messages.request import AnswerMessage, Close
from placet.messages.strict import decode_strict
from placet.messages.wire import decode, encode

__all__ = [
    "AnswerMessage",
    "Close",
    "CommandName",
    "Event",
    "EventType",
    "RunCommand",
    "decode",
    "decode_strict",
    "encode",
]
