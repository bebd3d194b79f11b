"""Objects in a folder, and in a bucket that speaks S3's protocol."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from penstock.kernel.objects import Failed, Objects, ObjectsUnusable

pytestmark = pytest.mark.anyio


class Bucket(BaseHTTPRequestHandler):
    """As much of S3 as whole objects need: PUT, PUT if there is none, GET."""

    protocol_version = "HTTP/1.1"
    kept: ClassVar[dict[str, bytes]] = {}
    broken: ClassVar[bool] = False

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.broken:
            self._answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        elif self.headers.get("If-None-Match") == "*" and self.path in self.kept:
            self._answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        else:
            self.kept[self.path] = body
            self._answer(200, b"")

    def do_GET(self) -> None:
        body = self.kept.get(self.path)
        if body is None:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            self._answer(200, body)

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("ETag", '"x"')
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Bucket]]:
    own = type("Own", (Bucket,), {"kept": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), own)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_address[1]}", "AWS_REGION": "x",
        "AWS_ALLOW_HTTP": "true", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
        "NO_PROXY": "127.0.0.1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    yield own
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(params=["folder", "bucket"])
def objects(request: pytest.FixtureRequest, tmp_path: Path, bucket: type[Bucket]) -> Objects:
    assert bucket.kept == {}
    folder = (tmp_path / "a folder").as_uri()
    return Objects(folder if request.param == "folder" else "s3://bucket/prefix")


async def test_a_new_object_is_written_once_and_stays(objects: Objects) -> None:
    assert await objects.get("a/b.txt") is None
    assert await objects.put_new("a/b.txt", b"first")
    assert not await objects.put_new("a/b.txt", b"second")
    assert await objects.get("a/b.txt") == b"first"


async def test_an_object_is_replaced_when_asked(objects: Objects) -> None:
    await objects.put("a", b"first")
    await objects.put("a", b"second")
    assert await objects.get("a") == b"second"


async def test_a_bucket_that_refuses_is_a_failure(bucket: type[Bucket]) -> None:
    bucket.broken = True
    with pytest.raises((Failed, OSError)):
        await Objects("s3://bucket/prefix").put_new("a", b"x")


async def test_a_folder_is_its_owners_alone(tmp_path: Path) -> None:
    Objects((tmp_path / "own").as_uri())
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("url", ["nonsense://x", "no-url", "s3://"])
def test_a_url_that_names_no_storage_is_refused(url: str) -> None:
    with pytest.raises(ObjectsUnusable, match="is not where objects can be kept"):
        Objects(url)
