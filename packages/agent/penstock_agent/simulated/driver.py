"""Simulated hosts, declared."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import structlog
from structlog.typing import FilteringBoundLogger

from penstock_agent import database, profiles
from penstock_agent.database import Database
from penstock_agent.profiles import Profile, ProfileInvalid
from penstock_agent.simulated import faults, hardware, world
from penstock_agent.simulated.faults import Faults, FaultsInvalid, Listed
from penstock_agent.simulated.simulated_host import SimulatedHost
from penstock_contracts.drivers.config import within
from penstock_contracts.drivers.host import HOST
from penstock_contracts.drivers.registry import Driver

DELAY_MS_MAX: Final = 600_000

_log: FilteringBoundLogger = structlog.get_logger()


@dataclass(frozen=True)
class SimulatedConfig:
    """What the hosts are like, and where their world is kept."""

    profile: str  # its name or its file
    data: Path
    faults: Path | None = None  # to inject; SIGHUP reads it again
    delay_ms: Annotated[int, within(0, DELAY_MS_MAX)] = 0  # per task

    def __post_init__(self) -> None:
        try:
            self.hardware()
            self.listed()
        except (ProfileInvalid, FaultsInvalid) as error:
            raise ValueError(str(error)) from None

    def hardware(self) -> Profile:
        return profiles.load(self.profile)

    def listed(self) -> Listed:
        return faults.load(self.faults) if self.faults else Listed()


@dataclass(frozen=True)
class SimulatedHosts:
    """Any number of hosts in one world."""

    profile: Profile
    seed: bytes
    database: Database
    faults: Faults
    delay_s: float

    async def host(self, name: str, number: int) -> SimulatedHost:
        built = hardware.build(self.profile, self.seed, name, number)
        return SimulatedHost(name, built, self.database, self.faults, self.delay_s)


@asynccontextmanager
async def _open(config: SimulatedConfig) -> AsyncGenerator[SimulatedHosts]:
    with database.opened(config.data / "world.db", world.SCHEMA) as simulated:
        injected = Faults(simulated, config.listed())
        seed = await simulated.run(world.seed)
        with _read_again_on_hangup(config, injected):
            yield SimulatedHosts(
                config.hardware(), seed, simulated, injected, config.delay_ms / 1000
            )


@contextmanager
def _read_again_on_hangup(config: SimulatedConfig, injected: Faults) -> Generator[None]:
    def again() -> None:
        try:
            injected.listed = config.listed()
        except FaultsInvalid as error:
            _log.error("faults were not read again; the old ones stay", reason=str(error))
        else:
            _log.info("faults read again", count=len(injected.listed.faults))

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, again)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


DRIVER: Final = Driver(
    HOST,
    "simulated",
    "Simulates hosts, with the faults it is told to have.",
    SimulatedConfig,
    _open,
)
