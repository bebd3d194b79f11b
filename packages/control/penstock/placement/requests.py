"""What may be asked of placement, and the policy that is laid over it."""

from dataclasses import dataclass
from enum import StrEnum

from penstock.placement.nodes import WHOLE_MILLI


class Shape(StrEnum):
    BAREMETAL = "baremetal"  # one allocation owns the whole node
    GPU_SLICE = "gpu_slice"  # one allocation owns approved GPU slots of one node


class Strategy(StrEnum):
    PACK = "pack"  # fill what is broken into; keep whole nodes whole
    SPREAD = "spread"  # the emptiest node first


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """What policy allows, whatever is asked. None means that anything is allowed."""

    tenant: str = ""  # whose reserved nodes may be used
    sites: tuple[str, ...] | None = None
    families_allowed: tuple[str, ...] | None = None
    residency: tuple[str, ...] = ()  # tags that a node must have, all of them
    price_micros_max: int | None = None  # per GPU and hour
    apart_from: tuple[str, ...] = ()  # nodes that hold what this must not sit beside
    kept: tuple[str, ...] = ()  # nodes kept for those who wait before it
    strategy: Strategy = Strategy.PACK

    @property
    def closed(self) -> tuple[str, ...]:
        """The nodes that it may not use, whatever is free there."""
        return (*self.apart_from, *self.kept)


@dataclass(frozen=True)
class Request(Overlay):
    """Whole GPUs of one node; or, with `nodes` above one, a gang of that many whole nodes."""

    family: str
    shape: Shape
    gpus: int  # of each node
    site_id: str | None = None
    nodes: int = 1


@dataclass(frozen=True)
class Share(Overlay):
    """Part of one GPU, or whole GPUs, or none, with CPU and memory of a divisible node."""

    families: tuple[str, ...]  # any of these; all if empty
    gpus: int
    milli: int  # of each GPU
    cpu_milli: int
    memory_mib: int
    site_id: str | None = None

    @property
    def divides(self) -> bool:
        return self.gpus == 1 and self.milli < WHOLE_MILLI

    @property
    def milli_total(self) -> int:
        return self.gpus * self.milli
