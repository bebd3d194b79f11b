"""The simulated host keeps the rules of hosts; whichever breaks one is found out by its number."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from penstock_agent import database
from penstock_agent.database import Database
from penstock_agent.simulated import world
from penstock_agent.simulated.faults import Ailment, Faults, Listed
from penstock_agent.simulated.simulated_host import SimulatedHost
from penstock_contracts.conformance.host import HostConformance
from penstock_contracts.conformance.host_stage import HostStage
from penstock_contracts.drivers.host import Cleaning, Fact, Holding, Runtime
from penstock_contracts.drivers.lease import Lease

from .stage import HARDWARE, STEPS


class SimulatedStage:
    """A simulated host, of whichever class."""

    steps: Sequence[str] = STEPS

    def __init__(self, kind: type[SimulatedHost], simulated: Database) -> None:
        self._kind = kind
        self._database = simulated
        self._faults = Faults(simulated)
        self.host = self._host()

    def _host(self) -> SimulatedHost:
        return self._kind("node-0001", HARDWARE, self._database, self._faults)

    async def restarted(self) -> SimulatedHost:
        return self._host()

    async def ail(self) -> tuple[str, str]:
        self._faults.listed = Listed(health=(Ailment("gpu.xid", 3, "", "XID 79"),))
        return "gpu.xid", HARDWARE.slots[3].gpu_uuid

    async def mend(self) -> None:
        self._faults.listed = Listed()

    async def kill(self, allocation_id: str) -> None:
        await self._database.run(lambda db: world.end(db, "node-0001", allocation_id, "killed"))
        self._faults.stir()


@asynccontextmanager
async def staged(folder: Path, kind: type[SimulatedHost]) -> AsyncGenerator[SimulatedStage]:
    with database.opened(folder / "world.db", world.SCHEMA) as simulated:
        yield SimulatedStage(kind, simulated)


class TestSimulated(HostConformance):
    name = "simulated"

    @pytest.fixture
    async def stage(self, tmp_path: Path) -> AsyncGenerator[HostStage]:
        async with staged(tmp_path, SimulatedHost) as stage:
            yield stage


@dataclass(frozen=True)
class Forgetful(SimulatedHost):
    """Breaks rule 1: a new instance knows nothing of what was done."""

    async def holds(self) -> Sequence[Holding]:
        mine: set[str] = self.__dict__.setdefault("mine", set[str]())
        return [one for one in await super().holds() if one.allocation_id in mine]

    async def provision(self, lease: Lease) -> Runtime:
        self.__dict__.setdefault("mine", set[str]()).add(lease.allocation_id)
        return await super().provision(lease)


@dataclass(frozen=True)
class Changing(SimulatedHost):
    """Breaks rule 2: a repeated call makes another runtime."""

    async def provision(self, lease: Lease) -> Runtime:
        made = await super().provision(lease)
        self.__dict__["count"] = count = self.__dict__.get("count", 0) + 1
        return replace(made, id=f"{made.id}-{count}")


@dataclass(frozen=True)
class Littering(SimulatedHost):
    """Breaks rule 3: what a cancelled call left cannot be released."""

    async def provision(self, lease: Lease) -> Runtime:
        try:
            made = await super().provision(lease)
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            stray = replace(lease, allocation_id=f"{lease.allocation_id}-stray")
            await self.database.run(lambda db: world.vacate(db, self.name, lease))
            for slot in lease.slots:
                await self._clean(slot)
            await self.database.run(lambda db: world.occupy(db, self.name, stray))
            raise
        return made


@dataclass(frozen=True)
class Generous(SimulatedHost):
    """Breaks rule 4: it minds only GPUs, and gives an NVMe device to two."""

    async def provision(self, lease: Lease) -> Runtime:
        bare = tuple(replace(slot, nvme_serial="", fabric_guid="") for slot in lease.slots)
        return await super().provision(replace(lease, slots=bare))


@dataclass(frozen=True)
class Careless(SimulatedHost):
    """Breaks rule 4: what was left unclean is given out."""

    async def release(self, lease: Lease) -> Sequence[Cleaning]:
        done = await super().release(lease)
        for slot in lease.slots:
            await self._clean(slot)
        return done


@dataclass(frozen=True)
class Boastful(SimulatedHost):
    """Breaks rule 5: every step passed, also those that it does not know."""

    async def release(self, lease: Lease) -> Sequence[Cleaning]:
        done = await super().release(lease)
        return [
            replace(one, steps=tuple(replace(step, passed=True) for step in one.steps))
            for one in done
        ]


@dataclass(frozen=True)
class Terse(SimulatedHost):
    """Breaks rule 5: it leaves steps out."""

    async def release(self, lease: Lease) -> Sequence[Cleaning]:
        return [replace(one, steps=one.steps[:-1]) for one in await super().release(lease)]


@dataclass(frozen=True)
class Blunt(SimulatedHost):
    """Breaks rule 6: what it raises is none of the faults of drivers."""

    async def provision(self, lease: Lease) -> Runtime:
        try:
            return await super().provision(lease)
        except Exception as error:
            raise RuntimeError("no") from error


@dataclass(frozen=True)
class Hopeful(SimulatedHost):
    """Breaks rule 7: it tells of runtimes that ended as if they ran."""

    async def holds(self) -> Sequence[Holding]:
        return [
            replace(one, runtime_id=f"vm-{one.allocation_id.rpartition('_')[2]}")
            for one in await super().holds()
        ]


@dataclass(frozen=True)
class Silent(SimulatedHost):
    """Breaks rule 8: it tells only of what is new, and then no more."""

    async def watch(self) -> AsyncGenerator[Fact]:
        if False:
            yield Fact("", "", passed=True)


@dataclass(frozen=True)
class Discreet(SimulatedHost):
    """Breaks rule 8: it does not tell of runtimes that ended."""

    async def watch(self) -> AsyncGenerator[Fact]:
        async for fact in super().watch():
            if fact.check != "runtime.running":
                yield fact
            else:
                return


RULES = sorted(
    name for name in dir(HostConformance) if name.startswith("test_") and name[5].isdigit()
)
FAULTY = [
    (Forgetful, 1), (Changing, 2), (Littering, 3), (Generous, 4), (Careless, 4), (Boastful, 5),
    (Terse, 5), (Blunt, 6), (Hopeful, 7), (Silent, 8), (Discreet, 8),
]  # fmt: skip


async def keeps(folder: Path, kind: type[SimulatedHost], rule: str) -> bool:
    async with staged(folder, kind) as stage:
        try:
            await getattr(TestSimulated(), rule)(stage)
        except (Exception, pytest.fail.Exception):
            return False
        return True


@pytest.mark.parametrize(("kind", "number"), FAULTY)
def test_a_host_that_breaks_a_rule_fails_its_test(
    tmp_path: Path, kind: type[SimulatedHost], number: int
) -> None:
    tests = [rule for rule in RULES if rule.startswith(f"test_{number}_")]

    async def run() -> list[bool]:
        return [await keeps(tmp_path / rule, kind, rule) for rule in tests]

    assert tests
    assert not all(asyncio.run(run()))


def test_an_honest_host_passes_them_all_in_the_same_way(tmp_path: Path) -> None:
    async def run() -> list[bool]:
        return [await keeps(tmp_path / rule, SimulatedHost, rule) for rule in RULES]

    assert all(asyncio.run(run()))


def test_every_rule_has_a_test_and_a_host_that_breaks_it() -> None:
    numbers = set(range(1, 9))
    assert {int(rule.split("_")[1]) for rule in RULES} == numbers
    assert {number for _, number in FAULTY} == numbers
