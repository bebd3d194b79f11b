"""A node's health, and where it differs from its leases, is shown and told; nothing acts on it."""

from pathlib import Path

import pytest

from penstock_contracts import wire_pb2 as wire
from penstock_contracts.identity import PrivateKey

from . import stand_in_site
from .plane import Central, Json
from .stand_in_site import Node, StandInSite, now_us

pytestmark = pytest.mark.anyio

XID = wire.Problem(check="gpu.xid", subject="GPU-n-3", detail="XID 79")
HOT = wire.Problem(check="gpu.temperature", subject="GPU-n-0", detail="94 °C")


def signed(node: Node, *problems: wire.Problem, key: PrivateKey | None = None) -> wire.SiteReport:
    result = wire.TaskResult(node_id=node.id, health=wire.HostHealth(problems=problems))
    return wire.SiteReport(health=(key or node.key).sign(result.SerializeToString()))


def differs(node: Node, *found: wire.Discrepancy) -> wire.SiteReport:
    return wire.SiteReport(
        discrepancies=wire.NodeDiscrepancies(node_id=node.id, found=found, at_us=now_us())
    )


async def shown(central: Central, node: Node) -> Json:
    return (await central.platform.get(f"/v1/nodes/{node.id}")).json["health"]


async def happened(central: Central, type: str) -> list[Json]:
    rows = await central.rows("SELECT data FROM events WHERE type = $1 ORDER BY seq", type)
    return [row["data"] for row in rows]


async def test_a_node_is_healthy_until_something_is_said(
    central: Central, site: StandInSite
) -> None:
    (node,) = site.nodes.values()
    assert await shown(central, node) == {
        "healthy": True,
        "problems": [],
        "problems_more": 0,
        "discrepancies": [],
        "changed_at": None,
    }


async def test_problems_are_shown_with_their_beginning_and_told_as_they_change(
    central: Central, site: StandInSite
) -> None:
    (node,) = site.nodes.values()
    await site.report(signed(node, XID))
    first = await shown(central, node)
    assert not first["healthy"]
    assert first["problems"] == [
        {"check": "gpu.xid", "subject": "GPU-n-3", "detail": "XID 79",
         "since": first["problems"][0]["since"]}
    ]  # fmt: skip
    await site.report(signed(node, XID), signed(node, XID, HOT))
    second = await shown(central, node)
    assert [one["check"] for one in second["problems"]] == ["gpu.xid", "gpu.temperature"]
    assert second["problems"][0] == first["problems"][0], "what goes on keeps its beginning"
    (listed,) = (await central.platform.get("/v1/nodes")).json["items"]
    assert listed["health"] == second
    await site.report(signed(node))
    assert (await shown(central, node))["healthy"]
    told = await happened(central, "node.health_changed")
    assert [(one["count"], one["problems"]) for one in told] == [
        (1, ["gpu.xid GPU-n-3 XID 79"]),
        (2, ["gpu.xid GPU-n-3 XID 79", "gpu.temperature GPU-n-0 94 °C"]),
        (0, []),
    ]


async def test_discrepancies_are_shown_told_and_cleared(
    central: Central, site: StandInSite
) -> None:
    (node,) = site.nodes.values()
    missing = wire.Discrepancy(kind=wire.DISCREPANCY_KIND_NOT_HELD, allocation_id="alloc_1")
    strange = wire.Discrepancy(
        kind=wire.DISCREPANCY_KIND_NOT_LEASED, allocation_id="alloc_2", runtime_id="vm-2"
    )
    await site.report(signed(node, XID), differs(node, missing, strange))
    seen = await shown(central, node)
    kinds = [(one["kind"], one["allocation"], one["runtime"]) for one in seen["discrepancies"]]
    assert kinds == [("not_held", "alloc_1", ""), ("not_leased", "alloc_2", "vm-2")]
    assert len(seen["problems"]) == 1, "each half is its own"
    view = (await central.platform.get(f"/v1/nodes/{node.id}")).json
    assert view["posture"] == "fully_available", "nothing acts on it"
    await site.report(differs(node, missing, strange), differs(node))
    assert (await shown(central, node))["discrepancies"] == []
    (found,) = await happened(central, "node.discrepancy_found")
    assert found["discrepancies"] == [
        "alloc_1 is active and has no runtime",
        "vm-2 runs for alloc_2, which nobody leases",
    ]
    assert len(await happened(central, "node.discrepancy_cleared")) == 1


async def test_what_the_node_did_not_sign_or_cannot_be_is_refused(
    central: Central, site: StandInSite, tmp_path: Path
) -> None:
    (node,) = site.nodes.values()
    await site.report(
        signed(node, XID, key=PrivateKey.generate()),
        signed(node, *[XID] * 257),
        differs(node, wire.Discrepancy(kind=wire.DISCREPANCY_KIND_UNSPECIFIED)),
    )
    async with stand_in_site.connected(central, tmp_path / "other", "site-b") as other:
        await other.report(signed(node, XID), differs(node))
    rows = await central.rows("SELECT reason FROM feed_rejections ORDER BY source, seq")
    assert len(rows) == 5
    assert sum("has no node" in row["reason"] for row in rows) == 2
    assert (await shown(central, node))["healthy"]


async def test_an_event_carries_a_bounded_number_of_problems(
    central: Central, site: StandInSite
) -> None:
    (node,) = site.nodes.values()
    many = [wire.Problem(check=f"check.{number}") for number in range(256)]
    await site.report(signed(node, *many))
    (told,) = await happened(central, "node.health_changed")
    assert (told["count"], len(told["problems"])) == (256, 16)
    assert len((await shown(central, node))["problems"]) == 256
