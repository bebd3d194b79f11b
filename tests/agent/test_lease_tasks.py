"""A lease task arrives at its host whole, and each field of it is bounded."""

import ast
import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from penstock_agent import executor, fences, journal, lanes, orders, store
from penstock_agent.simulated.faults import Action, Fault
from penstock_agent.simulated.faults import Task as Call
from penstock_agent.tasks import access, attachments, kinds
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.wire_pb2 import LeaseTask, Task, TaskStatus

from .stage import Pen, allocation, stage

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f someone"
DIGEST = f"sha256:{'0a' * 32}"


def whole(pen: Pen) -> Task:
    """A provision with everything that a lease can have."""
    task = pen.provision(allocation(), pen.gpu(0))
    lease = task.provision
    lease.image.CopyFrom(
        wire.Image(
            reference="https://images.example/ubuntu-24.04.qcow2",
            digest=DIGEST,
            format=wire.IMAGE_FORMAT_QCOW2,
        )
    )
    lease.networks.add(
        network_id="net_1",
        vlan=100,
        vni=10_100,
        mac="02:00:00:00:00:01",
        addresses=["10.0.0.5/24", "fd00::5/64"],
        gateway="10.0.0.1",
        mtu=9000,
    )
    lease.volumes.add(
        volume_id="vol_1", size_bytes=1 << 40, mode=wire.VOLUME_MODE_READ_ONLY, device="vdb"
    )
    lease.access.CopyFrom(
        wire.Access(user="ubuntu", ssh_public_keys=[KEY], user_data=b"#cloud-config\n")
    )
    return task


def given(folder: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(folder / "world.db")) as world:
        return json.loads(world.execute("SELECT lease FROM runtimes").fetchone()[0])


def test_all_of_a_lease_reaches_its_host(tmp_path: Path) -> None:
    async def run() -> None:
        pen = Pen()
        async with stage(tmp_path, pen) as on:
            task = whole(pen)
            result = await on.do(task)
            assert (result.status, result.reason) == (TaskStatus.TASK_STATUS_DONE, "")
            held = given(tmp_path)
            assert held.pop("allocation_id") == task.provision.allocation_id
            (slot,) = held.pop("slots")
            assert slot["gpu_uuid"] == pen.gpu(0).gpu_uuid
            assert held == {
                "shape": "slice",
                "image": {
                    "reference": "https://images.example/ubuntu-24.04.qcow2",
                    "digest": DIGEST,
                    "format": "qcow2",
                },
                "networks": [
                    {
                        "id": "net_1",
                        "vlan": 100,
                        "vni": 10_100,
                        "mac": "02:00:00:00:00:01",
                        "addresses": ["10.0.0.5/24", "fd00::5/64"],
                        "gateway": "10.0.0.1",
                        "mtu": 9000,
                    }
                ],
                "volumes": [
                    {"id": "vol_1", "size_bytes": 1 << 40, "mode": "read_only", "device": "vdb"}
                ],
                "access": {
                    "user": "ubuntu",
                    "ssh_public_keys": [KEY],
                    "user_data": b"#cloud-config\n".hex(),
                },
            }

    asyncio.run(run())


def test_a_lease_of_slots_alone_is_whole(tmp_path: Path) -> None:
    async def run() -> None:
        pen = Pen()
        async with stage(tmp_path, pen) as on:
            result = await on.do(pen.provision(allocation(), pen.gpu(0)))
            assert result.status == TaskStatus.TASK_STATUS_DONE
            held = given(tmp_path)
            absent = (held["image"], held["networks"], held["volumes"], held["access"])
            assert absent == (None, [], [], None)

    asyncio.run(run())


def _twice(lease: LeaseTask) -> None:
    lease.volumes.add().CopyFrom(lease.volumes[0])


def _same_mac(lease: LeaseTask) -> None:
    lease.networks.add().CopyFrom(lease.networks[0])


def _many_networks(lease: LeaseTask) -> None:
    for number in range(attachments.NETWORKS_MAX):
        lease.networks.add().CopyFrom(lease.networks[0])
        lease.networks[-1].mac = f"02:00:00:00:01:{number:02x}"


def _many_volumes(lease: LeaseTask) -> None:
    for number in range(attachments.VOLUMES_MAX):
        lease.volumes.add().CopyFrom(lease.volumes[0])
        lease.volumes[-1].volume_id = f"more-{number}"
        lease.volumes[-1].device = f"vdx{number}"


NONSENSE: dict[str, tuple[Callable[[LeaseTask], object], str]] = {
    "no shape": (lambda it: setattr(it, "shape", 0), "shape"),
    "a shape of tomorrow": (lambda it: setattr(it, "shape", 9), "shape"),
    "no reference": (lambda it: setattr(it.image, "reference", ""), "reference"),
    "an option as image": (lambda it: setattr(it.image, "reference", "--help"), "reference"),
    "a new line in an image": (lambda it: setattr(it.image, "reference", "a\n"), "reference"),
    "a long reference": (lambda it: setattr(it.image, "reference", "a" * 501), "reference"),
    "no digest": (lambda it: setattr(it.image, "digest", ""), "digest"),
    "a weak digest": (lambda it: setattr(it.image, "digest", f"md5:{'0' * 32}"), "digest"),
    "no format": (lambda it: setattr(it.image, "format", 0), "format"),
    "no network": (lambda it: setattr(it.networks[0], "network_id", ""), "network"),
    "a VLAN of all ones": (lambda it: setattr(it.networks[0], "vlan", 4095), "VLAN"),
    "a huge VNI": (lambda it: setattr(it.networks[0], "vni", 1 << 24), "VNI"),
    "no MAC": (lambda it: setattr(it.networks[0], "mac", ""), "MAC"),
    "everyone's MAC": (lambda it: setattr(it.networks[0], "mac", "ff:ff:ff:ff:ff:ff"), "MAC"),
    "no address": (lambda it: it.networks[0].addresses.append("10.0.0"), "address"),
    "many addresses": (lambda it: it.networks[0].addresses.extend(["10.0.0.1"] * 7), "addresses"),
    "no gateway": (lambda it: setattr(it.networks[0], "gateway", "router"), "gateway"),
    "a tiny MTU": (lambda it: setattr(it.networks[0], "mtu", 68), "MTU"),
    "one MAC twice": (_same_mac, "same MAC"),
    "many networks": (_many_networks, "at most"),
    "no volume": (lambda it: setattr(it.volumes[0], "volume_id", "../x"), "volume"),
    "a volume without size": (lambda it: setattr(it.volumes[0], "size_bytes", 0), "size"),
    "a huge volume": (lambda it: setattr(it.volumes[0], "size_bytes", 1 << 61), "size"),
    "no mode": (lambda it: setattr(it.volumes[0], "mode", 0), "mode"),
    "a path as device": (lambda it: setattr(it.volumes[0], "device", "/dev/sda"), "device"),
    "one volume twice": (_twice, "twice"),
    "many volumes": (_many_volumes, "at most"),
    "no user": (lambda it: setattr(it.access, "user", ""), "user"),
    "a shell as user": (lambda it: setattr(it.access, "user", "$(id)"), "user"),
    "two lines in a key": (lambda it: it.access.ssh_public_keys.append(f"{KEY}\n{KEY}"), "key"),
    "options before a key": (
        lambda it: it.access.ssh_public_keys.append(f'command="sh" {KEY}'),
        "key",
    ),
    "a key that says another kind": (
        lambda it: it.access.ssh_public_keys.append(KEY.replace("ssh-ed25519", "ssh-rsa")),
        "key",
    ),
    "a private key": (lambda it: it.access.ssh_public_keys.append("-----BEGIN"), "key"),
    "many keys": (
        lambda it: it.access.ssh_public_keys.extend([KEY] * access.KEYS_MAX),
        "at most",
    ),
    "much user data": (
        lambda it: setattr(it.access, "user_data", bytes(access.USER_DATA_BYTES_MAX + 1)),
        "user data",
    ),
}


def test_nonsense_in_a_lease_is_refused_by_name(tmp_path: Path) -> None:
    async def run() -> None:
        pen = Pen()
        async with stage(tmp_path, pen) as on:
            for what, (spoil, named) in NONSENSE.items():
                task = whole(pen)
                spoil(task.provision)
                result = await on.do(task)
                assert result.status == TaskStatus.TASK_STATUS_REFUSED, what
                assert named in result.reason, (what, result.reason)
            assert (await on.do(whole(pen))).status == TaskStatus.TASK_STATUS_DONE

    asyncio.run(run())


def test_a_tenants_secrets_are_in_no_repr() -> None:
    pen = Pen()
    task = whole(pen)
    task.provision.access.user_data = b"a password"
    assert "a password" not in repr(kinds.KINDS["provision"].read(task))


def test_every_input_of_a_task_is_a_row_of_the_table() -> None:
    inputs = Task.DESCRIPTOR.oneofs_by_name["input"].fields
    assert {field.name for field in inputs} == set(kinds.KINDS)


@pytest.mark.parametrize("module", [executor, fences, journal, lanes, orders, store])
def test_no_kind_is_named_outside_the_table(module: ModuleType) -> None:
    read = ast.parse(Path(str(module.__file__)).read_text())
    said = {node.value for node in ast.walk(read) if isinstance(node, ast.Constant)}
    assert not said & set(kinds.KINDS)


@pytest.mark.parametrize("raises", ["transient", "rate_limited"])
def test_a_failure_carries_the_name_of_its_fault(tmp_path: Path, raises: str) -> None:
    fault = Fault(
        Call.VM_PROVISION, Action.FAIL, 1, node="", lie=None, step="", reason="later", id="",
        raises=raises,
    )  # fmt: skip

    async def run() -> None:
        pen = Pen()
        async with stage(tmp_path, pen, fault) as on:
            result = await on.do(pen.provision(allocation(), pen.gpu(0)))
            assert (result.status, result.fault) == (TaskStatus.TASK_STATUS_FAILED, raises)
            assert result.reason == "later"
            stolen = pen.gpu(1)
            stolen.nvme_serial = pen.gpu(0).nvme_serial
            await on.do(pen.provision(allocation(), pen.gpu(0, fence=2)))
            conflict = await on.do(pen.provision(allocation(), stolen))
            assert (conflict.fault, "in use by" in conflict.reason) == ("conflict", True)

    asyncio.run(run())
