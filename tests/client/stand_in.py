"""A small HTTP server that speaks the API: scripted answers, a real event stream."""

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast
from urllib.parse import parse_qsl, urlsplit

JSON = "application/json"
PROBLEM = "application/problem+json"
TOKEN = "pk_very_secret"


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., Outcome]


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    drop: bool = False  # close the connection without a word

    @property
    def kind(self) -> str:
        return PROBLEM if self.status >= 400 else JSON


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, object]


def event(sequence: int, type: str, subject: str, **data: object) -> dict[str, object]:
    return {
        "specversion": "1.0",
        "id": f"event_{sequence}",
        "source": "penstock",
        "type": type,
        "subject": subject,
        "time": f"2026-01-01T00:00:{sequence:02d}Z",
        "tenantid": "tenant_1",
        "correlationid": "c-1",
        "sequence": sequence,
        "data": data,
    }


class Api:
    """What the server answers, and what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], list[Answer]] = defaultdict(list)
        self.calls: list[Call] = []
        self.log: list[dict[str, object]] = []
        self.changed = threading.Condition()
        self.closed = False
        self.streams_cut_after: list[int] = []  # for each coming stream, its messages
        self.server = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Bound", (Handler,), {"api": self})
        )
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def on(self, method: str, path: str, *answers: Answer | object) -> None:
        """Answer in turn; the last answer stays. Anything but an Answer is a 200's body."""
        given = [each if isinstance(each, Answer) else Answer(body=each) for each in answers]
        self.answers[method, path] = given

    def emit(self, *events: dict[str, object]) -> None:
        with self.changed:
            self.log.extend(events)
            self.changed.notify_all()

    def wait_for(self, place: int) -> dict[str, object] | None:
        """The event at that place of the log, once it is there; None when all is over."""
        with self.changed:
            self.changed.wait_for(lambda: self.closed or len(self.log) > place)
            return None if self.closed else self.log[place]

    def next_answer(self, method: str, path: str) -> Answer:
        queue = self.answers.get((method, path))
        if not queue:
            body = {"title": "Not found", "status": 404, "code": "not_found", "detail": path}
            return Answer(404, body)
        return queue.pop(0) if len(queue) > 1 else queue[0]

    def asked(self, method: str, path: str) -> list[Call]:
        return [call for call in self.calls if (call.method, call.path) == (method, path)]

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Handler(BaseHTTPRequestHandler):
    api: Api
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        call = self.record({})
        if call.path == "/v1/events" and not self.api.answers.get(("GET", "/v1/events")):
            self.stream(call)
        else:
            self.answer(call)

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if "form" in self.headers.get("Content-Type", ""):
            self.answer(self.record(dict(parse_qsl(text.decode()))))
        else:
            self.answer(self.record(cast("Mapping[str, object]", json.loads(text or b"{}"))))

    do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815 the names are the library's

    def record(self, body: Mapping[str, object]) -> Call:
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = Call(self.command, url.path, dict(parse_qsl(url.query)), headers, body)
        self.api.calls.append(call)
        return call

    def answer(self, call: Call) -> None:
        answer = self.api.next_answer(call.method, call.path)
        if answer.drop:
            self.close_connection = True
            return
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in {"Content-Type": answer.kind, **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, call: Call) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        cut_after = self.api.streams_cut_after.pop(0) if self.api.streams_cut_after else 1_000
        for message in self.messages(call, cut_after):
            try:
                self.wfile.write(message)
            except OSError:
                return

    def messages(self, call: Call, cut_after: int) -> Iterator[bytes]:
        """Each event after the last one seen, as it comes."""
        place = 0
        after = int(call.headers.get("last-event-id", "0"))
        while cut_after > 0:
            found = self.api.wait_for(place)
            if found is None:
                return
            place += 1
            sequence = int(str(found["sequence"]))
            if sequence <= after or call.query.get("subject") not in (None, found["subject"]):
                continue
            cut_after -= 1
            text = f"id: {sequence}\nevent: {found['type']}\ndata: {json.dumps(found)}\n\n"
            yield text.encode()

    def log_message(self, format: str, *args: object) -> None:
        """Tests read what was asked from `calls`, not from stderr."""
