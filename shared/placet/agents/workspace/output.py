"""What a line writes, as much of it as is kept."""

import orjson

MOST_ENCODED = 110_000
"""Bytes of one stream's text as JSON: both fit into a tool's result, whatever is written."""


class Output:
    """The first and the last of one stream, within a bound, and how much there was."""

    def __init__(self, most: int) -> None:
        """Keep at most so many bytes: half of them from the start, half from the end."""
        self.total = 0
        self._first = most // 2
        self._last = most - self._first
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        """Take what was read. Holds no more than three halves of the bound, whatever comes."""
        self.total += len(data)
        room = self._first - len(self._head)
        self._head += data[:room]
        self._tail += data[room:][-self._last :]
        if len(self._tail) > 2 * self._last:
            del self._tail[: -self._last]

    @property
    def text(self) -> str:
        """What was kept, as text; a line in the middle says how much is left out."""
        most = self._first + self._last
        text = self._shown(most)
        while len(orjson.dumps(text)) > MOST_ENCODED:
            most //= 2  # what is no text takes up to six bytes for one
            text = self._shown(most)
        return text

    def _shown(self, most: int) -> str:
        first, last = most // 2, most - most // 2
        if self.total <= most:
            return (self._head + self._tail).decode("utf-8", "replace")
        head, tail = self._head[:first], (self._head + self._tail)[-last:]
        left_out = f"\n[... {self.total - first - last} bytes left out ...]\n"
        return head.decode("utf-8", "replace") + left_out + tail.decode("utf-8", "replace")

    @property
    def cut(self) -> bool:
        """Whether something is left out."""
        return self.total > self._first + self._last
