"""A local server that speaks the OpenAI protocol and says what a test told it to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class OpenAIServer:
    """What it will say, and what it was sent."""

    port: int = 0
    replies: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def will_say(
        self, text: str | None = None, calls: list[tuple[str, str, str]] | None = None
    ) -> None:
        """A reply of text, or of calls: id, name, arguments as raw text."""
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": name, "arguments": args}}
                for id, name, args in calls
            ]
        reason = "tool_calls" if calls else "stop"
        body = {
            "id": "chat_1",
            "object": "chat.completion",
            "created": 1,
            "model": "test-model",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
        }
        self.replies.append((200, body))

    def will_fail(self, status: int, message: str) -> None:
        self.replies.append(
            (status, {"error": {"message": message, "type": "test", "code": "test"}})
        )


@contextmanager
def openai_server() -> Iterator[OpenAIServer]:
    state = OpenAIServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            state.requests.append(json.loads(self.rfile.read(size)))
            status, body = (
                state.replies.pop(0) if state.replies else (500, {"error": {"message": "no reply"}})
            )
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
