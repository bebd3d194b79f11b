"""One log in object storage: segments that are never written twice, and a signed checkpoint.

Whoever begins at the same entry writes the same segment, so a process that died in between is
followed by one that finds its work and goes on.
"""

from collections.abc import Sequence

from penstock.central.evidence import segments
from penstock.central.evidence.model import Line, Point
from penstock.central.evidence.segments import Checkpoint
from penstock.kernel.objects import Objects
from penstock_contracts import identity
from penstock_contracts.identity import PrivateKey, SignatureRejected
from penstock_contracts.wire_pb2 import Signed


class Tampered(Exception):
    """The log, or what was exported of it, is not what it was."""


class Archive:
    """`folder` is where the log's objects are; the audit log's are at the top."""

    def __init__(self, objects: Objects, key: PrivateKey, log: str, folder: str = "") -> None:
        self._objects = objects
        self._key = key
        self._log = log
        self._folder = folder
        self.url = objects.url
        self.checkpoint = f"{folder}{segments.CHECKPOINT}"

    async def point(self) -> Point | None:
        """Where the log ends over there; None if nobody wrote that down."""
        body = await self._objects.get(self.checkpoint)
        if body is None:
            return None
        checkpoint = Checkpoint.decode(body)
        if checkpoint is None:
            raise Tampered(f"{self.checkpoint} cannot be read")
        payload = segments.signed_bytes(self._log, checkpoint.point)
        try:
            identity.verify(
                self._key.public(), Signed(payload=payload, signature=checkpoint.signature)
            )
        except SignatureRejected:
            raise Tampered(f"{self.checkpoint} is not signed by the platform's key") from None
        return checkpoint.point

    async def write(self, lines: Sequence[Line]) -> Sequence[Line]:
        """Write them as a segment; those that it has, if it was there already."""
        body = segments.body(lines)
        if await self._objects.put_new(self._name(lines[0]), body):
            return lines
        return await self.read(lines)

    async def read(self, lines: Sequence[Line]) -> Sequence[Line]:
        """Of these lines, those that the segment has which begins with the first of them."""
        name = self._name(lines[0])
        body = await self._objects.get(name)
        end = None if body is None else segments.end(body)
        same = [line for line in lines if end is not None and line.point.seq <= end.seq]
        if not same or segments.body(same) != body:
            raise Tampered(f"{name} is not what the log has from entry {lines[0].point.seq} on")
        return same

    async def sign(self, at: Point) -> None:
        """Write down that the log is here up to that point."""
        signature = self._key.sign(segments.signed_bytes(self._log, at)).signature
        await self._objects.put(self.checkpoint, Checkpoint(at, signature).encode())

    def _name(self, first: Line) -> str:
        return f"{self._folder}{segments.name(first)}"
