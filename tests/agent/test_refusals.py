"""Nonsense is refused, never half done, and never ends the agent."""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock_agent import orders
from penstock_agent.tasks import bindings
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import NodeId
from penstock_contracts.wire_pb2 import LeaseTask, SlotBinding, Task, TaskStatus

from .stage import Pen, allocation, stage

REFUSED = TaskStatus.TASK_STATUS_REFUSED
PEN = Pen()
GPU_0, GPU_1 = PEN.gpu(0), PEN.gpu(1)


def changed(change: Callable[[Task], object]) -> Task:
    task = PEN.provision(allocation(), PEN.gpu(0))
    change(task)
    return task


def with_slot(**fields: object) -> Task:
    slot = PEN.gpu(0)
    for name, value in fields.items():
        if name == "cleanup_steps":
            del slot.cleanup_steps[:]
            slot.cleanup_steps.extend(value)  # pyright: ignore[reportArgumentType] # the table's own lists
        else:
            setattr(slot, name, value)
    return PEN.provision(allocation(), slot)


NONSENSE = {
    "another node": changed(lambda t: setattr(t, "node_id", NodeId.new())),
    "no input": changed(lambda t: t.ClearField("provision")),
    "no slots": PEN.provision(allocation()),
    "a slot twice": PEN.provision(allocation(), GPU_0, GPU_0),
    "a gpu twice": PEN.provision(
        allocation(), GPU_0, SlotBinding(slot_id=GPU_1.slot_id, fence=1, gpu_uuid=GPU_0.gpu_uuid)
    ),
    "too many slots": PEN.provision(allocation(), *[GPU_0] * (bindings.SLOTS_MAX + 1)),
    "a bad allocation": PEN.provision("alloc_'; DROP TABLE fences; --", PEN.gpu(0)),
    "no allocation": PEN.provision("", PEN.gpu(0)),
    "a bad slot id": with_slot(slot_id="../../etc/passwd"),
    "an unknown gpu": with_slot(gpu_uuid="GPU-unknown"),
    "an unknown nvme": with_slot(nvme_serial="S000"),
    "an unknown fabric device": with_slot(fabric_guid="0x0"),
    "a shell in the gpu": with_slot(gpu_uuid="$(reboot)"),
    "a new line in the nvme": with_slot(nvme_serial="S1\n"),
    "no gpu": with_slot(gpu_uuid=""),
    "no fence": with_slot(fence=0),
    "a huge fence": with_slot(fence=1 << 63),
    "huge memory": with_slot(memory_mib=1 << 63),
    "huge cpus": with_slot(cpus=1 << 31),
    "a huge index": with_slot(index=1 << 31),
    "a huge nonce": with_slot(cleanup_nonce=bytes(257)),
    "a step twice": with_slot(cleanup_steps=["gpu.reset", "gpu.reset"]),
    "too many steps": with_slot(cleanup_steps=[f"s{i}" for i in range(33)]),
    "a malformed step": with_slot(cleanup_steps=["rm -rf /"]),
    "the chassis in a slice": PEN.provision(allocation(), PEN.chassis()),
    "baremetal without chassis": PEN.assign(allocation(), PEN.gpu(0)),
    "release without nonce": PEN.release(allocation(), PEN.gpu(0)),
    "a long correlation id": changed(lambda t: setattr(t, "correlation_id", "x" * 201)),
    "an unprintable correlation id": changed(lambda t: setattr(t, "correlation_id", "a\x00b")),
}


def test_every_kind_of_nonsense_is_refused_with_its_task_and_a_reason(tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path, replace(PEN, read=0)) as on:
            for what, task in NONSENSE.items():
                result = await on.do(task)
                assert result.status == REFUSED, what
                assert result.reason, what
            assert (await on.do(PEN.provision(allocation(), PEN.gpu(0)))).status != REFUSED

    asyncio.run(run())


@pytest.mark.parametrize("task_id", ["", "x" * 201, "a b", "a\n", "é"])
def test_a_task_without_a_proper_id_is_refused(task_id: str) -> None:
    task = PEN.discover()
    task.task_id = task_id
    with pytest.raises(orders.OrderRefused, match="task id"):
        orders.read(PEN.sign(task), PEN.node_id, PEN.site_key.public())


def test_only_the_site_can_sign_a_task() -> None:
    task = PEN.discover()
    forged = PrivateKey.generate().sign(task.SerializeToString())
    altered = PEN.site_key.sign(task.SerializeToString())
    altered.payload = PEN.discover().SerializeToString()
    for body in (forged.SerializeToString(), altered.SerializeToString(), b"", b"\xff" * 100):
        with pytest.raises(orders.OrderRefused) as refusal:
            orders.read(body, PEN.node_id, PEN.site_key.public())
        assert refusal.value.task_id == ""


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
numbers = st.integers(0, 2**32 - 1)
slots = st.builds(
    SlotBinding,
    slot_id=st.sampled_from(PEN.slots) | texts,
    fence=st.integers(0, 2**64 - 1),
    chassis=st.booleans(),
    index=numbers,
    gpu_uuid=texts.map(lambda text: f"x{text}"),
    nvme_serial=texts,
    fabric_guid=texts,
    cpus=numbers,
    memory_mib=st.integers(0, 2**64 - 1),
    cleanup_nonce=st.binary(max_size=300),
    cleanup_steps=st.lists(texts, max_size=40),
)
tasks = st.builds(
    Task,
    task_id=st.sampled_from(["t"]) | texts,
    node_id=st.sampled_from([PEN.node_id]) | texts,
    deadline_us=st.integers(2**50, 2**63 - 1),
    correlation_id=texts,
    provision=st.builds(
        LeaseTask,
        shape=st.integers(0, 3),
        allocation_id=st.builds(allocation) | texts,
        slots=st.lists(slots, max_size=4),
    ),
) | st.builds(
    Task,
    task_id=st.sampled_from(["t"]),
    node_id=st.just(PEN.node_id),
    deadline_us=st.integers(-(2**63), 2**63 - 1),
    release=st.builds(
        LeaseTask,
        shape=st.integers(0, 3),
        allocation_id=st.builds(allocation),
        slots=st.lists(slots, max_size=4),
    ),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(tasks.map(PEN.sign) | st.binary(max_size=200), min_size=1, max_size=5))
def test_fuzzed_entries_are_all_refused_and_the_agent_goes_on(bodies: list[bytes]) -> None:
    async def run(folder: Path) -> None:
        async with stage(folder, replace(PEN, read=0)) as on:
            await on.send(*bodies)
            assert {(await on.result()).status for _ in bodies} <= {REFUSED}
            last = await on.do(PEN.discover())
            assert last.status == TaskStatus.TASK_STATUS_DONE

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))
