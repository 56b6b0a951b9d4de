"""Markdown of the asker as safe HTML: no markup of its own, no scripts, no images."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 65_536
MOST_BRACKETS = 2000
"""Each `[` that nothing closes is looked for to the end of the text: 65,536 of them take 6 seconds."""
_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li",
    "ol", "p", "pre", "s", "small", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


async def rendered(text: str) -> Markup:
    """The HTML; in a thread, as some texts take long."""
    return await asyncio.to_thread(_render, text)


def _render(text: str) -> Markup:
    if len(text) > LONGEST or text.count("[") > MOST_BRACKETS:
        return Markup('<pre class="value">{}</pre>').format(text)
    import nh3  # noqa: PLC0415 - only where a body is shown: a process starts sooner without

    html = _reader().render(text)
    clean = nh3.clean(
        html,
        tags=_TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)  # noqa: S704 - cleaned the line above


def _reader() -> "MarkdownIt":
    """A new one each time: its link finder keeps state, and renderings run in several threads."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as above

    reader = MarkdownIt("js-default", {"html": False, "linkify": True}).enable("linkify")
    reader.disable("image")
    reader.add_render_rule("link_close", _link_with_host)
    return reader


def _link_with_host(
    _self: Any, tokens: "Sequence[Token]", at: int, _options: Any, _env: Any
) -> str:
    """A link's text may say anything: the host that it leads to stands behind it."""
    opening = next((t for t in reversed(tokens[:at]) if t.type == "link_open"), None)
    href = str(opening.attrGet("href") or "") if opening else ""
    host = urlsplit(href).netloc
    return f"</a> <small>({escape(host)})</small>" if host else "</a>"
