"""A model that is none: answers an agent's requests on loopback so that it calls `search`, then `read` with the ref that it got.

Usage: python model.py LOG. Prints the port. Every request of the agent is written to LOG, a JSON line each. It speaks the streaming
API that the agent under test uses, as far as that agent needs it.
"""

from __future__ import annotations

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

REF = re.compile(r"[a-z0-9_-]+\.[a-z0-9_]+:[0-9a-f]{14}:-?[0-9a-f]+\.[0-9a-f]+:[0-9a-f]{6}")


def parts(request: dict[str, object]) -> list[dict[str, object]]:
    """What the model says next: by how many tools have answered, and what they said."""
    names = [one["name"] for tool in request.get("tools", ()) for one in tool.get("functionDeclarations", ())]  # type: ignore[attr-defined,union-attr]
    answers = [part["functionResponse"] for turn in request["contents"] for part in turn["parts"] if "functionResponse" in part]  # type: ignore[attr-defined]
    ours = {name.rsplit("_", 1)[-1]: name for name in names if "deepgrep" in name}
    if "search" not in ours:
        return [{"text": "NO TOOLS"}]
    if not answers:
        return [{"functionCall": {"name": ours["search"], "args": {"query": "idempotency", "effort": "exhaustive"}}}]
    if len(answers) == 1:
        ref = REF.search(json.dumps(answers[0]))
        return [{"functionCall": {"name": ours["read"], "args": {"ref": ref[0] if ref else "none", "around": 2}}}]
    return [{"text": "DONE " + ("READ" if "conversation" in json.dumps(answers[1]) else "FAILED")}]


class Model(BaseHTTPRequestHandler):
    """Any request is answered; the reply streams where the path asks for it."""

    log = Path(sys.argv[1] if len(sys.argv) > 1 else "requests.jsonl")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        request = json.loads(raw or b"{}")
        with self.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps({"path": self.path, "body": request}) + "\n")
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        if "countTokens" in self.path:
            body: dict[str, object] = {"totalTokens": 1}
        else:
            said = parts(request) if "contents" in request else [{"text": "{}"}]
            candidate = {"content": {"role": "model", "parts": said}, "finishReason": "STOP", "index": 0}
            body = {"candidates": [candidate], "usageMetadata": usage}
        streams = "stream" in self.path
        payload = f"data: {json.dumps(body)}\n\n" if streams else json.dumps(body)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streams else "application/json")
        self.end_headers()
        self.wfile.write(payload.encode())

    do_GET = do_POST  # noqa: N815 - the names that the library looks for

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
