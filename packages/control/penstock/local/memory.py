"""What `penstock up` remembers of a data folder between runs: DIR/up.json."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final, cast

from penstock.local import ports
from penstock.local.errors import Refused
from penstock_contracts import files

# Join tokens and memberships name these ports, so a folder keeps them for ever.
LISTENERS: Final = (
    "central_join",
    "central_link",
    "central_metrics",
    "site_join",
    "site_link",
    "site_metrics",
    "agents_health",
)


@dataclass(frozen=True)
class Memory:
    hardware: str
    ports: dict[str, int] = field(default_factory=dict[str, int])

    def address(self, listener: str) -> str:
        return ports.address(self.ports[listener])


def recall(data: Path, hardware: str) -> Memory:
    """What this folder was begun with; the hardware of its nodes cannot change."""
    path = data / "up.json"
    if not path.exists():
        return Memory(hardware)
    try:
        memory = _read(path)
    except (ValueError, TypeError) as error:
        raise Refused(
            f"{path} is damaged ({error}): put back a copy of it, or use another --data"
        ) from error
    if memory.hardware != hardware:
        raise Refused(
            f"the nodes in {data} are {memory.hardware}; they cannot become {hardware}. "
            f"Use --hardware {memory.hardware}, or another --data for {hardware}"
        )
    return memory


def _read(path: Path) -> Memory:
    memory = Memory(**json.loads(path.read_bytes()))
    if not isinstance(cast("object", memory.hardware), str):
        raise TypeError("it names no hardware")
    if not isinstance(cast("object", memory.ports), dict):
        raise TypeError("it names no ports")
    for listener, port in memory.ports.items():
        if not isinstance(cast("object", port), int) or not 0 < port < 65_536:
            raise TypeError(f"{listener} is no port")
    return memory


def settle_ports(memory: Memory, api_port: int) -> Memory:
    """Pick the ports that are missing; refuse if one that is remembered is taken."""
    chosen = dict(memory.ports)
    for listener in LISTENERS:
        if listener not in chosen:
            chosen[listener] = ports.pick({api_port, *chosen.values()})
        elif why := ports.trouble(chosen[listener]):
            raise Refused(
                f"{why}; it is this folder's {listener.replace('_', ' ')} port, and its site "
                "and nodes know no other, so that process must end first"
            )
    return replace(memory, ports=chosen)


def keep(data: Path, memory: Memory) -> None:
    files.write_private(data / "up.json", json.dumps(asdict(memory), indent=2).encode())
