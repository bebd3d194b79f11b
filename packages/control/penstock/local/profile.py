"""The hardware that simulated nodes have, as the agent itself describes it."""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from penstock.local.errors import Refused

AGENT: Final = (sys.executable, "-m", "penstock_agent.main")
SLICES: Final = (1, 2, 4, 8)
PRICE_MICROS_PER_GPU_HOUR: Final[Mapping[str, int]] = {
    "h100": 2_490_000,
    "h200": 3_290_000,
    "mi300x": 2_690_000,
    "gaudi3": 1_990_000,
    "l40s": 990_000,
}
PRICE_OTHERWISE: Final = 1_000_000


@dataclass(frozen=True)
class Profile:
    name: str
    family: str
    gpus: int

    @property
    def slice_sku(self) -> str:
        return f"{self.name}.slice"

    @property
    def metal_sku(self) -> str:
        return f"{self.name}.metal"

    @property
    def slice_counts(self) -> list[int]:
        return [count for count in SLICES if count <= self.gpus]

    @property
    def price_micros_per_gpu_hour(self) -> int:
        return PRICE_MICROS_PER_GPU_HOUR.get(self.family, PRICE_OTHERWISE)


async def check(hardware: str, agent_data: Path, faults: Path | None) -> Profile:
    """Ask the agent what `hardware` is; it also reads the faults file, if there is one."""
    command = [*AGENT, "--check", "--data", str(agent_data), "--simulate", hardware]
    command += ["--faults", str(faults)] if faults else []
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    told, complaint = await process.communicate()
    if process.returncode != 0:
        said = complaint.decode(errors="replace").strip().removeprefix("penstock-agent: ")
        raise Refused(said or f"{hardware} is not usable")
    try:
        described = cast("dict[str, object]", json.loads(told.splitlines()[-1]))
        name, family = str(described["name"]), str(described["gpu_family"])
        return Profile(name, family, int(cast("int", described["gpus"])))
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise Refused(f"the agent described {hardware} in words unknown here: {told!r}") from error
