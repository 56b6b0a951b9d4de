"""Logs: one JSON line per event on stderr, with run and input ids bound, and no secrets in them."""

import logging
import re
import sys
from typing import Any

import orjson
import structlog
from structlog.contextvars import bind_contextvars, bound_contextvars, clear_contextvars
from structlog.typing import EventDict, WrappedLogger

__all__ = ["bind_contextvars", "bound_contextvars", "clear_contextvars", "configure", "get"]

_HIDDEN = frozenset(
    {"authorization", "cookie", "password", "secret", "token", "api_key", "content", "answer"}
)
_KEY = re.compile(r"plc_([A-Za-z0-9]+)_[A-Za-z0-9_-]{20,}")
_PASSWORD = re.compile(r"(\w+://[^:/@\s]+):[^@/\s]+@")
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def configure(level: str = "info") -> None:
    """Set up structlog, and route what libraries log through it."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            hide_secrets,
            structlog.processors.JSONRenderer(serializer=_dumps),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.BytesLoggerFactory(sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers[:] = [_Bridge()]
    root.setLevel(max(_LEVELS[level], logging.WARNING))


def get(name: str) -> Any:
    """A logger whose lines say `module: NAME`."""
    return structlog.get_logger(module=name)


def hide_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Drop values of fields that hold secrets or answers, and keys and passwords inside texts."""
    return {name: "[hidden]" if name in _HIDDEN else _clean(value) for name, value in event.items()}


def _clean(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _PASSWORD.sub(r"\1:[hidden]@", _KEY.sub(r"plc_\1_[hidden]", value))


def _dumps(event: Any, **_: Any) -> bytes:
    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS)


class _Bridge(logging.Handler):
    """What a library logs, as a line like ours."""

    def emit(self, record: logging.LogRecord) -> None:
        line = structlog.get_logger(module=record.name)
        line.log(record.levelno, record.getMessage(), exc_info=record.exc_info or None)
