"""What a data folder remembers: hardware, ports, tokens."""

import json
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from penstock.local import memory, ports, tokens
from penstock.local.errors import Refused
from penstock.local.logfile import LogFile
from penstock.local.logline import readable
from penstock_client.views.fleet import JoinToken


def test_ports_are_picked_once_and_kept(tmp_path: Path) -> None:
    first = memory.settle_ports(memory.recall(tmp_path, "h100-8"), 8080)
    memory.keep(tmp_path, first)
    assert memory.settle_ports(memory.recall(tmp_path, "h100-8"), 8080) == first
    assert len(set(first.ports.values())) == len(memory.LISTENERS)
    assert (tmp_path / "up.json").stat().st_mode & 0o777 == 0o600


def test_a_remembered_port_that_is_taken_is_refused_by_name(tmp_path: Path) -> None:
    with socket.create_server((ports.LOOPBACK, 0)) as taken:
        port: int = taken.getsockname()[1]
        remembered = memory.Memory("h100-8", {"site_link": port})
        with pytest.raises(Refused, match=f"port {port} is in use.*site link"):
            memory.settle_ports(remembered, 8080)


def test_other_hardware_for_nodes_that_exist_is_refused(tmp_path: Path) -> None:
    memory.keep(tmp_path, memory.Memory("h100-8"))
    with pytest.raises(Refused, match=r"cannot become l40s-4.*another --data"):
        memory.recall(tmp_path, "l40s-4")


@pytest.mark.parametrize("content", ["{", "[]", '{"hardware": "h100-8", "colour": 1}'])
def test_a_damaged_memory_is_refused_and_not_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "up.json").write_text(content)
    with pytest.raises(Refused, match="damaged"):
        memory.recall(tmp_path, "h100-8")


def issuer(life: timedelta) -> tuple[Callable[[int], Sequence[JoinToken]], list[int]]:
    asked: list[int] = []

    def issue(count: int) -> Sequence[JoinToken]:
        asked.append(count)
        until = (datetime.now(UTC) + life).isoformat()
        made = range(sum(asked) - count + 1, sum(asked) + 1)
        return [{"token": f"token-{number}", "expires_at": until} for number in made]

    return issue, asked


def join(agent: Path, number: int) -> None:
    node = tokens.node_folder(agent, number)
    node.mkdir(parents=True)
    (node / "membership.json").write_text("{}")


def test_line_i_is_the_token_of_node_i_and_blank_once_it_has_joined(tmp_path: Path) -> None:
    issue, asked = issuer(timedelta(hours=1))
    tokens.write_for_nodes(tmp_path, 3, issue)
    assert (tmp_path / "tokens").read_text() == "token-1\ntoken-2\ntoken-3\n"
    join(tmp_path, 2)
    tokens.write_for_nodes(tmp_path, 4, issue)
    assert (tmp_path / "tokens").read_text() == "token-1\n\ntoken-3\ntoken-4\n"
    assert asked == [3, 1], "a node that has not joined keeps its token"
    assert (tmp_path / "tokens").stat().st_mode & 0o777 == 0o600


def test_a_token_that_ran_out_is_asked_for_again(tmp_path: Path) -> None:
    issue, asked = issuer(timedelta(seconds=30))
    tokens.write_for_site(tmp_path, issue)
    tokens.write_for_site(tmp_path, issue)
    assert asked == [1, 1]
    (tmp_path / "membership.json").write_text("{}")
    tokens.write_for_site(tmp_path, issue)
    assert asked == [1, 1]


def test_a_log_keeps_its_last_two_pieces(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "logs" / "a.log", bytes_max=10)
    for number in range(5):
        log.write(f"line {number}.......\n".encode())
    log.close()
    kept = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert kept == ["a.log", "a.log.old"]
    assert (tmp_path / "logs" / "a.log").read_text().startswith("line 4")


def test_a_structured_line_is_made_readable_and_any_other_left_alone() -> None:
    record = {
        "event": "slot blocked",
        "level": "warning",
        "timestamp": "2026-01-02T03:04:05.678Z",
        "node": "node_1",
    }
    assert readable(json.dumps(record)) == "03:04:05 warning slot blocked node=node_1"
    for text in ("Traceback (most recent call last):", "[1, 2]", "7", ""):
        assert readable(text) == text
