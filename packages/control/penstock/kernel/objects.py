"""Object storage by URL: a folder (`file:///…`), or a bucket (`s3://…`, `gs://…`, `az://…`).

A bucket's credentials come from the environment, by the names that its provider gives them.
"""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore, ObjectStore, from_url

Failed = BaseError  # what any of these raises when the store cannot do it


class ObjectsUnusable(Exception):
    """The URL names no object storage."""


class Objects:
    """Whole objects, by name. Made from a URL that says where they are."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._store: ObjectStore = _open(url)

    async def put_new(self, name: str, body: bytes) -> bool:
        """Write it if there is no such object; False if there is, which then stays as it was."""
        try:
            await obstore.put_async(self._store, name, body, mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        return True

    async def put(self, name: str, body: bytes) -> None:
        """Write it, over whatever there was; whoever reads gets one of the two, whole."""
        await obstore.put_async(self._store, name, body, use_multipart=False)

    async def get(self, name: str) -> bytes | None:
        try:
            found = await obstore.get_async(self._store, name)
        except FileNotFoundError:
            return None
        return bytes(await found.bytes_async())


def _open(url: str) -> ObjectStore:
    parts = urlsplit(url)
    if parts.scheme != "file":
        try:
            return from_url(url)
        except (BaseError, ValueError) as error:
            why = str(error).partition("\n")[0]
            raise ObjectsUnusable(f"{url!r} is not where objects can be kept: {why}") from None
    folder = Path(unquote(parts.path))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # for its owner alone
    return LocalStore(folder)
