"""The openb benchmark: its arithmetic, its last line, and its manners with bad files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,65536,2,T4\nn1,16000,65536,4,G2\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
    "p0,4000,4096,1,1000,,LS\np1,2000,2048,1,470,T4|G2,BE\np2,2000,2048,1,810,T4,BE\n"
    "p3,8000,8192,0,0,,LS\np4,4000,4096,2,1000,G2,LS\n"
)


def run(folder: Path, nodes: str, pods: str, *more: str) -> "subprocess.CompletedProcess[str]":
    (folder / "nodes.csv").write_text(nodes)
    (folder / "pods.csv").write_text(pods)
    command = [sys.executable, ROOT / "bench" / "quality.py", "--json"]
    files = ["--nodes", folder / "nodes.csv", "--pods", folder / "pods.csv"]
    return subprocess.run([*command, *files, *more], capture_output=True, text=True, check=False)


def test_the_last_line_has_every_policy_and_none_beats_the_bound(tmp_path: Path) -> None:
    done = run(tmp_path, NODES, PODS, "--seeds", "1-3")
    assert done.returncode == 0, done.stderr
    result: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    assert set(result) == {"ours", "fgd", "bestfit", "dotprod", "packing", "random", "bound"}
    for found in result.values():
        assert set(found) == {"at100", "at130"}
        assert 0 < found["at100"] <= result["bound"]["at100"] + 1e-6 <= 100 + 1e-6
        assert found["at100"] <= found["at130"] <= result["bound"]["at130"] + 1e-6


def test_the_same_seeds_give_the_same_figures(tmp_path: Path) -> None:
    first, second = (run(tmp_path, NODES, PODS, "--seeds", "7").stdout for _ in range(2))
    assert first == second


def test_only_the_policy_asked_for_is_run(tmp_path: Path) -> None:
    done = run(tmp_path, NODES, PODS, "--seeds", "1,2", "--policy", "ours")
    assert set(json.loads(done.stdout.splitlines()[-1])) == {"ours", "bound"}


# The multi-GPU lists have no gpu_spec.
MULTI = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,qos,pod_phase,creation_time\n"
    "p0,4000,4096,1,1000,LS,Running,0\np1,8000,8192,2,1000,LS,Running,1\n"
    "p2,2000,2048,1,470,BE,Running,2\np3,8000,8192,0,0,LS,Running,3\n"
)
SAME = MULTI.replace(",qos", ",gpu_spec,qos").replace(",LS", ",,LS").replace(",BE", ",,BE")


def test_a_list_without_models_is_one_whose_pods_take_any(tmp_path: Path) -> None:
    done = run(tmp_path, NODES, MULTI, "--seeds", "1-2")
    assert done.returncode == 0, done.stderr
    assert done.stdout == run(tmp_path, NODES, SAME, "--seeds", "1-2").stdout
    assert json.loads(done.stdout)["ours"]["at130"] > 0


def test_what_a_list_leaves_out_is_said(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "pods.csv").write_text(MULTI.replace("memory_mib", "memory"))
    command = [sys.executable, str(ROOT / "bench" / "quality.py"), "--policy", "ours"]
    command += ["--nodes", str(tmp_path / "nodes.csv"), "--pods", str(tmp_path / "pods.csv")]
    done = subprocess.run([*command, "--seeds", "1"], capture_output=True, text=True, check=False)
    first = done.stdout.splitlines()[0]
    assert "no gpu_spec: any model will do; no memory_mib: no memory is asked for" in first


@pytest.mark.parametrize(
    ("nodes", "pods", "said"),
    [
        (NODES.replace("32000", "many"), PODS, "nodes.csv:2: cpu_milli is 'many'"),
        (NODES.replace(",T4", ","), PODS, "nodes.csv:2: a node with GPUs names no model"),
        (NODES.replace("gpu,", "gpus,"), PODS, "nodes.csv:2: there is no column 'gpu'"),
        (NODES.splitlines()[0] + "\n", PODS, "nodes.csv: no node has a GPU"),
        (NODES, PODS.replace("2,1000,G2", "2,500,G2"), "pods.csv:6: 2 GPUs of 500/1000 each"),
        (NODES, PODS.replace(",470,", ",1470,"), "pods.csv:3: gpu_milli is 1470, not 0 to 1000"),
        (NODES, PODS + "p5,1\n", "pods.csv:7: num_gpu is None"),
        (NODES, "", "pods.csv: no pod asks for a GPU"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(
    tmp_path: Path, nodes: str, pods: str, said: str
) -> None:
    done = run(tmp_path, nodes, pods, "--seeds", "1")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    run(tmp_path, NODES, PODS)
    missing = ["--nodes", str(tmp_path / "none.csv"), "--seeds", "1"]
    done = run(tmp_path, NODES, PODS, *missing)
    assert done.returncode == 2
    assert "none.csv: cannot be read" in done.stderr
