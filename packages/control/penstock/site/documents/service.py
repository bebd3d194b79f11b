"""What central desires of a site, whatever its kind: the newest revision of each key."""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from penstock.kernel import wakeups
from penstock.kernel.db import Tx
from penstock.kernel.feed import Rejected
from penstock.site.documents import model, store
from penstock.site.documents.model import CORRELATION_ID_MAX, Document, Standing
from penstock_contracts import wire_pb2 as wire

DESIRED: Final = "desired"  # told when there may be a workflow to start

Decode = Callable[[Document], object]  # raises ValueError if the body is not what its kind says


class Superseded(Exception):
    """A newer revision of the document has arrived, or its key has ended for good."""


class NotNewest(Exception):
    """The revision is not the newest one, so nothing can be done about it."""


def changed(kind: str, key: str) -> str:
    """What is told when something happened to a document: a newer revision, a cancellation, …"""
    return f"desired:{kind}:{key}"


async def receive(tx: Tx, kinds: Mapping[str, Decode], told: wire.Document) -> None:
    """Keep the newest revision, and have its workflow started; drop what has ended for good."""
    fault = model.flaw(told.kind, told.key, told.revision, told.body)
    if fault:
        raise Rejected(fault)
    if told.gone:
        if await store.drop(tx, told.kind, told.key, told.revision):
            wakeups.notify(tx, changed(told.kind, told.key))
        return
    decode = kinds.get(told.kind)
    if decode is None:
        raise Rejected(f"this site does not know documents of kind {told.kind!r}")
    document = Document(
        told.kind, told.key, told.revision, told.correlation_id[:CORRELATION_ID_MAX], told.body
    )
    try:
        decode(document)
    except ValueError as error:
        raise Rejected(f"{told.kind} {told.key}: {error}") from error
    if await store.put(tx, document):
        wakeups.notify(tx, DESIRED)
        wakeups.notify(tx, changed(told.kind, told.key))


async def still_wanted(tx: Tx, document: Document, *, lock: bool = True) -> None:
    """Raises Superseded if it is not. Locked, so that no newer one comes before this commits."""
    kept = await store.kept(tx, document.kind, document.key, lock=lock)
    if kept is None or kept.revision != document.revision:
        raise Superseded


async def standing(tx: Tx, document: Document, version: int) -> tuple[Standing, str]:
    """What has become of the document, and the operator's reason if it was cancelled."""
    kept = await store.kept(tx, document.kind, document.key)
    if kept is None:
        return Standing.GONE, ""
    return kept.standing(document.revision, version), kept.cancelled


async def unstarted(tx: Tx, kinds: Collection[str]) -> list[Document]:
    """The documents of these kinds whose newest revision has no workflow yet."""
    return await store.unstarted(tx, kinds)


async def started(tx: Tx, document: Document, version: int) -> None:
    """A workflow of this version is there. One of an older version is told to leave it the work."""
    if await store.mark_started(tx, document, version):
        wakeups.notify(tx, changed(document.kind, document.key))


async def hand_over(tx: Tx, kind: str, key: str, revision: int) -> None:
    """Have the newest version of its workflow started, from its first step."""
    if not await store.restart(tx, kind, key, revision):
        raise NotNewest(_not_newest(kind, key, revision))
    wakeups.notify(tx, DESIRED)


async def cancel(tx: Tx, kind: str, key: str, revision: int, reason: str) -> None:
    """Have its workflow give up: undo what it did, and report that it failed."""
    if not await store.cancel(tx, kind, key, revision, reason):
        raise NotNewest(_not_newest(kind, key, revision))
    wakeups.notify(tx, changed(kind, key))


def _not_newest(kind: str, key: str, revision: int) -> str:
    return (
        f"revision {revision} of {kind} {key} is not the newest one here, so its workflow ends by "
        "itself; list the workflows again"
    )
