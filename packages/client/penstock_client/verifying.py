"""Whether an audit log is what was exported of it. Nobody's word is taken for it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock_client import exports
from penstock_client.chains import Chain, Fault, Line, compare
from penstock_client.exports import Checkpoint, Export


@dataclass
class Verified:
    """How far both were read."""

    exported: int = 0
    logged: int = 0
    checkpoint: int | None = None
    signed: bool | None = None  # None: no certificate was given to check it with


def verify(
    export: Export,
    logged: Iterable[Line],
    *,
    claimed: int,
    certificate: bytes | None,
    to: Verified,
    start: int = 0,
) -> Iterator[Fault]:
    """Every fault there is; `claimed` is how far the platform says that it exported, `start` the
    last entry that it trimmed."""
    checkpoint = export.checkpoint()
    reached = _Reached(checkpoint.seq if isinstance(checkpoint, Checkpoint) else 0)
    yield from compare(reached.watch(export.lines()), _counted(logged, to), start=start)
    to.exported = reached.chain.seq
    if isinstance(checkpoint, Fault):
        yield checkpoint
    else:
        to.checkpoint = checkpoint.seq
        yield from _check(checkpoint, reached, certificate, to)
    if reached.chain.seq < claimed:
        what = f"it ends with entry {reached.chain.seq}, but {claimed} entries were exported"
        yield Fault(export.url, f"{what}: objects are missing")


class _Reached:
    """Where the export ends, and its hash at the checkpoint."""

    def __init__(self, at: int) -> None:
        self._at = at
        self.chain = Chain()
        self.hash = ""

    def watch(self, lines: Iterable[Line]) -> Iterator[Line]:
        for line in lines:
            self.chain.follow(line)
            if self.chain.seq == self._at:
                self.hash = self.chain.hash.hex()
            yield line


def _check(
    checkpoint: Checkpoint, reached: _Reached, certificate: bytes | None, to: Verified
) -> Iterator[Fault]:
    if not reached.hash:
        what = f"it is at entry {checkpoint.seq}, which no segment has"
        yield Fault(exports.CHECKPOINT, what)
    elif reached.hash != checkpoint.hash:
        what = f"its hash of entry {checkpoint.seq} is not the one in the segments"
        yield Fault(exports.CHECKPOINT, what)
    if certificate is not None:
        to.signed = exports.is_signed(checkpoint, certificate)
        if not to.signed:
            yield Fault(exports.CHECKPOINT, "it is not signed by the platform's key")


def _counted(lines: Iterable[Line], to: Verified) -> Iterator[Line]:
    for line in lines:
        to.logged += 1
        yield line
