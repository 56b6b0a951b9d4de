"""One question as every page shows it: the exact call first, then the asker's words, then the facts."""

from datetime import datetime
from typing import Any

from placet.domain.interaction import UrlRequest
from placet_broker.api.page import appearance, markdown, views
from placet_broker.rules.record import Record


async def shown(record: Record, now: datetime) -> dict[str, Any]:
    """The names that the template `question.html` needs."""
    asked = record.request()
    return {
        "record": record,
        "asked": asked,
        "row": views.row(record, now),
        "arguments": views.arguments(record, asked),
        "body": await markdown.rendered(asked.body) if asked.body else None,
        "context": views.context(record, asked),
        "why": views.why(record, asked),
        "host": appearance.host_note(asked.url) if isinstance(asked, UrlRequest) else "",
        "outcome": _outcome(record),
        "claimed": record.claim if record.claim and record.claim.until > now else None,
    }


def _outcome(record: Record) -> Any:
    resolution = record.resolution
    if resolution is None:
        return None
    content = resolution.outcome.content
    return {
        "how": views.how(record),
        "at": f"{resolution.at:%Y-%m-%d %H:%M:%S} UTC",
        "channel": resolution.channel,
        "reason": resolution.outcome.reason,
        "scope": resolution.outcome.scope,
        "content": None if isinstance(content, bool) or content is None else content,
    }
