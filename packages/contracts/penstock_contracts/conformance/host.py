"""The rules of Host, by their numbers.

class TestMine(HostConformance):
    name = "mine"

    @pytest.fixture
    async def stage(self) -> AsyncGenerator[HostStage]:
        async with …:
            yield MyStage(…)
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, ClassVar, Final

import pytest

from penstock_contracts.conformance.declaration import DeclarationConformance
from penstock_contracts.conformance.host_stage import SLOTS, HostStage, Ledger, spoiled
from penstock_contracts.drivers.faults import CLOSED_SET, Conflict, DriverFault, Unsupported
from penstock_contracts.drivers.host import HOST, Fact, HeldSlot, Holding, Host
from penstock_contracts.drivers.lease import (
    Access,
    Image,
    ImageFormat,
    Lease,
    Network,
    Volume,
    VolumeMode,
)
from penstock_contracts.drivers.registry import Kind

CALL_S_MAX: Final = 60.0
RUNNING: Final = "runtime.running"


class HostConformance(DeclarationConformance):
    kind: ClassVar[Kind[Any]] = HOST

    @pytest.fixture
    def stage(self) -> HostStage:
        raise NotImplementedError("override the fixture `stage` with one for your driver")

    async def test_1_what_was_done_outlives_the_agent(self, stage: HostStage) -> None:
        ledger = await _ledger(stage)
        lease = ledger.slice(0, 1)
        runtime = await stage.host.provision(lease)
        again = await stage.restarted()
        assert await _held(again) == {lease.allocation_id: _holding(lease, runtime.id)}
        await again.release(lease)
        assert await _held(await stage.restarted()) == {}

    async def test_2_every_call_may_be_repeated_with_the_same_outcome(
        self, stage: HostStage
    ) -> None:
        ledger = await _ledger(stage)
        lease = ledger.slice(0)
        first = await stage.host.provision(lease)
        assert await stage.host.provision(lease) == first
        assert await (await stage.restarted()).provision(lease) == first
        assert first.gpu_uuids == tuple(slot.gpu_uuid for slot in lease.slots)
        passed = [_passed(await stage.host.release(lease)) for _ in range(3)]
        assert passed == [[True] * len(stage.steps)] * 3
        assert await stage.host.discover() == await stage.host.discover()

    async def test_3_what_a_cancelled_call_left_is_cleaned_by_a_release(
        self, stage: HostStage
    ) -> None:
        ledger = await _ledger(stage)
        for turns in range(12):
            lease = ledger.slice(0)
            begun = asyncio.create_task(_quietly(stage.host, lease))
            for _ in range(turns):
                await asyncio.sleep(0)
            begun.cancel()
            await asyncio.wait([begun])
            assert all(_passed(await stage.host.release(lease)))
            assert await _held(stage.host) == {}

    async def test_4_a_device_that_is_in_use_is_never_handed_over(self, stage: HostStage) -> None:
        ledger = await _ledger(stage)
        lease = ledger.slice(0)
        before = _holding(lease, (await stage.host.provision(lease)).id)
        free = ledger.slice(1)
        (mine,), (other,) = lease.slots, free.slots
        stolen = [ledger.slice(0), ledger.whole()]
        if mine.nvme_serial:
            theft = replace(other, nvme_serial=mine.nvme_serial)
            stolen.append(replace(free, slots=(theft,)))
        if mine.fabric_guid:
            theft = replace(other, fabric_guid=mine.fabric_guid)
            stolen.append(replace(free, slots=(theft,)))
        for wanted in stolen:
            with pytest.raises(Conflict):
                await stage.host.provision(wanted)
            assert await _held(stage.host) == {lease.allocation_id: before}, "it left no trace"

    async def test_4_nothing_of_a_whole_host_is_handed_over_besides(self, stage: HostStage) -> None:
        ledger = await _ledger(stage)
        whole = ledger.whole()
        await stage.host.provision(whole)
        with pytest.raises(Conflict):
            await stage.host.provision(ledger.slice(0))
        await stage.host.release(whole)

    async def test_4_a_device_that_was_left_unclean_is_never_handed_over(
        self, stage: HostStage
    ) -> None:
        ledger = await _ledger(stage)
        lease = ledger.slice(0)
        await stage.host.provision(lease)
        await stage.host.release(spoiled(lease))
        with pytest.raises(Conflict):
            await stage.host.provision(ledger.slice(0))
        await stage.host.release(lease)
        await stage.host.provision(ledger.slice(0))

    async def test_5_every_step_is_reported_in_order_for_its_fence_and_nonce(
        self, stage: HostStage
    ) -> None:
        ledger = await _ledger(stage)
        lease = ledger.slice(0, 1)
        await stage.host.provision(lease)
        cleanings = await stage.host.release(lease)
        asked = [(slot.id, slot.fence, slot.nonce) for slot in lease.slots]
        assert [(one.slot_id, one.fence, one.nonce) for one in cleanings] == asked
        for one in cleanings:
            assert [step.name for step in one.steps] == list(stage.steps)
            assert all(step.passed for step in one.steps)

    async def test_5_a_step_that_it_does_not_know_does_not_pass(self, stage: HostStage) -> None:
        ledger = await _ledger(stage)
        lease = ledger.slice(0)
        await stage.host.provision(lease)
        assert _passed(await stage.host.release(spoiled(lease))) == [True] * len(stage.steps) + [
            False
        ]
        assert await _held(stage.host) == {lease.allocation_id: _holding(lease, "")}

    async def test_6_what_it_cannot_give_is_unsupported_and_nothing_is_half_given(
        self, stage: HostStage
    ) -> None:
        ledger = await _ledger(stage)
        lease = _furnished(ledger.slice(0))
        try:
            await stage.host.provision(lease)
            given = {lease.allocation_id}
        except Unsupported:
            given = set[str]()
        assert set(await _held(stage.host)) == given

    async def test_6_only_faults_of_the_closed_set_are_raised_with_words(
        self, stage: HostStage
    ) -> None:
        ledger = await _ledger(stage)
        await stage.host.provision(ledger.slice(0))
        with pytest.raises(DriverFault) as raised:
            await stage.host.provision(ledger.slice(0))
        assert type(raised.value) in CLOSED_SET
        assert str(raised.value)

    async def test_7_it_tells_what_is_there_with_its_fences(self, stage: HostStage) -> None:
        ledger = await _ledger(stage)
        assert await _held(stage.host) == {}
        first, second = ledger.slice(0), ledger.slice(1)
        one = _holding(first, (await stage.host.provision(first)).id)
        two = _holding(second, (await stage.host.provision(second)).id)
        assert await _held(stage.host) == {first.allocation_id: one, second.allocation_id: two}
        await stage.kill(first.allocation_id)
        dead = replace(one, runtime_id="")
        assert await _held(stage.host) == {first.allocation_id: dead, second.allocation_id: two}
        await stage.host.release(first)
        assert await _held(stage.host) == {second.allocation_id: two}

    async def test_8_a_watch_begins_with_what_does_not_pass_and_tells_changes(
        self, stage: HostStage
    ) -> None:
        check, subject = await stage.ail()
        facts = stage.host.watch()
        assert await _next(facts, check, subject) is False
        await stage.mend()
        assert await _next(facts, check, subject) is True
        await stage.ail()
        assert await _next(facts, check, subject) is False
        await stage.mend()

    async def test_8_a_runtime_that_ended_by_itself_is_told_until_it_is_released(
        self, stage: HostStage
    ) -> None:
        ledger = await _ledger(stage)
        lease = ledger.slice(0)
        await stage.host.provision(lease)
        facts = stage.host.watch()
        await stage.kill(lease.allocation_id)
        assert await _next(facts, RUNNING, lease.allocation_id) is False
        later = (await stage.restarted()).watch()
        assert await _next(later, RUNNING, lease.allocation_id) is False
        await stage.host.release(lease)
        assert await _next(facts, RUNNING, lease.allocation_id) is True


async def _ledger(stage: HostStage) -> Ledger:
    proposed = (await stage.host.discover()).slots
    assert len(proposed) >= SLOTS, f"a host under test has at least {SLOTS} GPUs"
    assert {slot.gpu_uuid for slot in proposed} == stage.host.devices().gpu_uuids
    return Ledger(proposed, stage.steps)


async def _held(host: Host) -> dict[str, Holding]:
    return {one.allocation_id: one for one in await host.holds()}


def _holding(lease: Lease, runtime_id: str) -> Holding:
    slots = tuple(sorted(HeldSlot(slot.id, slot.fence) for slot in lease.slots))
    return Holding(lease.allocation_id, runtime_id, slots)


def _passed(cleanings: Any) -> list[bool]:
    return [step.passed for one in cleanings for step in one.steps]


async def _quietly(host: Host, lease: Lease) -> None:
    """A call that may be cancelled anywhere."""
    await host.provision(lease)


async def _next(facts: AsyncIterator[Fact], check: str, subject: str) -> bool:
    """Whether the check passes, by the next fact about it."""
    async with asyncio.timeout(CALL_S_MAX):
        async for fact in facts:
            if (fact.check, fact.subject) == (check, subject):
                return fact.passed
    raise AssertionError("the watch ended")


def _furnished(lease: Lease) -> Lease:
    """With everything that a lease can have."""
    return replace(
        lease,
        image=Image("https://images.example/a.qcow2", f"sha256:{'0' * 64}", ImageFormat.QCOW2),
        networks=(Network("net", 100, 0, "02:00:00:00:00:01", ("10.0.0.5/24",), "", 0),),
        volumes=(Volume("vol", 1 << 30, VolumeMode.READ_WRITE, "vdb"),),
        access=Access("ubuntu", (), b""),
    )
