"""Hardware profiles and fault files: the built-in ones load, nonsense is named."""

import copy
import json
import re
from pathlib import Path

import pytest

from penstock_agent import profiles
from penstock_agent.profiles import ProfileInvalid
from penstock_agent.simulated import faults, hardware
from penstock_agent.simulated.faults import FaultsInvalid

GOOD = json.loads((profiles.BUILT_IN / "h100-8.json").read_text())
ABSENT = object()


def test_the_built_in_profiles_load() -> None:
    loaded = {name: profiles.load(name) for name in profiles.names()}
    shown = {name: (p.gpu_family, len(p.gpus), p.numa_nodes) for name, p in loaded.items()}
    assert shown == {
        "gaudi3-8": ("gaudi3", 8, 2),
        "h100-8": ("h100", 8, 2),
        "h200-8": ("h200", 8, 2),
        "l40s-4": ("l40s", 4, 2),
        "mi300x-8": ("mi300x", 8, 2),
    }
    assert all(profile.name == name for name, profile in loaded.items())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "a/b"),
        ("name", 7),
        ("gpu_family", "H 100"),
        ("gpu_vendor", ABSENT),
        ("gpu_model", "a\nb"),
        ("gpu_model", "x" * 129),
        ("gpu_memory_mib", 0),
        ("gpu_memory_mib", -1),
        ("gpu_memory_mib", 1e9),
        ("cpus", 0),
        ("cpus", True),
        ("cpus", "224"),
        ("cpus", 10**9),
        ("memory_mib", None),
        ("memory_mib", 10**12),
        ("host_cpus", 224),
        ("host_memory_mib", 2097152),
        ("numa_nodes", 0),
        ("gpus", []),
        ("gpus", {}),
        ("gpus", [GOOD["gpus"][0]] * 2),
        ("gpus", [GOOD["gpus"][0]] * 65),
        ("gpus", [7]),
        ("numa_node", 2),
        ("numa_node", -1),
        ("pci_address", "1b"),
        ("nvme", 1),
        ("fabric", ABSENT),
        ("color", "red"),
    ],
)
def test_nonsense_in_a_profile_is_named(tmp_path: Path, field: str, value: object) -> None:
    bad = copy.deepcopy(GOOD)
    target = bad["gpus"][3] if field in GOOD["gpus"][3] else bad
    if value is ABSENT:
        del target[field]
    else:
        target[field] = value
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(bad))
    with pytest.raises(ProfileInvalid, match=rf"{re.escape(str(path))}.*{field}"):
        profiles.load(str(path))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"name": "a", "name": "b"}', "[" * 100_000])
def test_a_profile_that_is_no_object_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(ProfileInvalid, match="bad"):
        profiles.load(str(path))


@pytest.mark.parametrize("name", ["h100", "", "..", "../h100-8", "/nonexistent/x.json"])
def test_a_profile_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(ProfileInvalid):
        profiles.load(name)


def test_devices_are_stable_and_unique_between_nodes_and_worlds() -> None:
    profile = profiles.load("h100-8")
    built = [
        hardware.build(profile, seed, f"node-{number:04d}", number)
        for seed in (b"one", b"two")
        for number in (1, 2, 33)
    ]
    assert built[0] == hardware.build(profile, b"one", "node-0001", 1)
    uuids = [slot.gpu_uuid for node in built for slot in node.slots]
    assert len(set(uuids)) == len(uuids)
    assert [node.fabric_leaf for node in built[:3]] == ["leaf-001", "leaf-001", "leaf-002"]


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"task": "vm_provision"},
        {"task": "rm", "fault": "fail"},
        {"task": "vm_provision", "fault": "explode"},
        {"task": "vm_provision", "fault": "fail", "times": 0},
        {"task": "vm_provision", "fault": "fail", "when": "now"},
        {"task": "vm_provision", "fault": "lie"},
        {"task": "vm_provision", "fault": "lie", "lie": "omit_step"},
        {"task": "vm_release", "fault": "lie", "lie": "wrong_gpus"},
        {"task": "topology_discover", "fault": "lie", "lie": "nothing"},
        {"task": "vm_release", "fault": "fail_step"},
        {"task": "vm_provision", "fault": "fail_step", "step": "gpu.reset"},
        {"task": "vm_release", "fault": "hang", "reason": "why"},
        {"task": "vm_release", "fault": "fail", "step": "gpu.reset"},
    ],
)
def test_nonsense_in_a_fault_file_is_named(tmp_path: Path, entry: dict[str, object]) -> None:
    path = tmp_path / "faults.json"
    path.write_text(json.dumps({"faults": [entry]}))
    with pytest.raises(FaultsInvalid, match=re.escape(str(path))):
        faults.load(path)


def test_a_fault_given_twice_is_refused_unless_its_id_differs(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    entry = {"task": "vm_release", "fault": "hang"}
    path.write_text(json.dumps({"faults": [entry, entry]}))
    with pytest.raises(FaultsInvalid, match="twice"):
        faults.load(path)
    path.write_text(json.dumps({"faults": [entry, {**entry, "id": "second", "node": "node-0001"}]}))
    assert len(faults.load(path).faults) == 2
