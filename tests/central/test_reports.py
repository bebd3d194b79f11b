"""What a site may say, and what becomes of what it may not say."""

from pathlib import Path

import pytest

from penstock_contracts import wire_pb2 as wire
from penstock_contracts.identity import PrivateKey

from . import stand_in_site
from .plane import Central, Tenant
from .stand_in_site import Node, StandInSite, fences, now_us, on_lease

pytestmark = pytest.mark.anyio

HUGE = (1 << 63) - 1


async def rejections(central: Central) -> list[str]:
    rows = await central.rows("SELECT reason FROM feed_rejections ORDER BY source, seq")
    return [row["reason"] for row in rows]


async def lease(
    site: StandInSite, tenant: Tenant, gpus: int = 1
) -> tuple[str, wire.DesiredAllocation]:
    made = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=gpus)
    return f"/v1/allocations/{made['id']}", await site.order(made)


async def test_a_report_with_a_stale_fence_changes_nothing(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    path, order = await lease(site, tenant, gpus=2)
    for spoiled in ([], fences(order)[:1], [_older(fence) for fence in fences(order)]):
        seen = wire.AllocationObserved(
            observed=wire.OBSERVED_ACTIVE,
            at_us=now_us(),
            fences=spoiled,
        )
        await site.report(on_lease(order, seen))
        assert (await tenant.member.get(path)).json["observed"] == "nothing"
    assert await central.value("SELECT count(*) FROM usage_segments") == 0


def _older(fence: wire.SlotFence) -> wire.SlotFence:
    return wire.SlotFence(slot_id=fence.slot_id, fence=fence.fence - 1)


async def test_a_site_cannot_give_its_node_another_key_and_then_vouch_for_it(
    central: Central, site: StandInSite
) -> None:
    (node,) = site.nodes.values()
    mine = PrivateKey.generate()
    renamed = wire.NodeEnrolled(node_id=node.id, name=node.name, public_key=mine.public())
    await site.report(
        wire.SiteReport(enrolled=renamed),
        wire.SiteReport(topology=node.signed_topology(key=mine)),
    )
    reasons = await rejections(central)
    assert len(reasons) == 2
    assert "another key" in reasons[0]
    same = wire.NodeEnrolled(node_id=node.id, name=node.name, public_key=node.key.public())
    await site.report(wire.SiteReport(enrolled=same))
    assert len(await rejections(central)) == 2, "saying it again is not a change"
    assert await central.value("SELECT public_key FROM nodes") == node.key.public()


async def test_a_site_can_say_nothing_of_another_sites_things_and_its_feed_goes_on(
    central: Central, site: StandInSite, tenant: Tenant, tmp_path: Path
) -> None:
    path, order = await lease(site, tenant)
    node = site.nodes[order.node_id]
    async with stand_in_site.connected(central, tmp_path / "other", "site-b") as other:
        other.nodes[node.id] = node
        await other.observe(order, wire.OBSERVED_ACTIVE)
        await other.step(order, "realize", "provision")
        await other.clean(order, [])
        away = wire.NodePresence(node_id=node.id, connected=False, at_us=now_us())
        await other.report(wire.SiteReport(presence=away))
        await other.report(wire.SiteReport(topology=node.signed_topology()))
        stolen = wire.NodeEnrolled(
            node_id=node.id, name="mine-now", public_key=PrivateKey.generate().public()
        )
        await other.report(wire.SiteReport(enrolled=stolen))
        reasons = await rejections(central)
        assert len(reasons) == 6
        assert all(other.id in reason or "another site" in reason for reason in reasons)
        mine = await other.add(Node("b-n0"))
        shown = (await central.platform.get(f"/v1/nodes/{mine.id}")).json
        assert shown["posture"] == "fully_available", "the feed went on"
    assert (await tenant.member.get(path)).json["observed"] == "nothing"
    owner = (await central.platform.get(f"/v1/nodes/{node.id}")).json
    assert (owner["site"], owner["connected"], owner["name"]) == (site.id, True, node.name)
    assert await central.value("SELECT public_key FROM nodes WHERE id = $1", node.id) == (
        node.key.public()
    )


def nonsense(order: wire.DesiredAllocation, node: Node) -> dict[str, bytes]:
    """Reports that no honest site sends. Each must be set aside, never stop the feed."""
    id = order.allocation_id
    step = wire.Stepped(kind="lease", key=id, revision=1, step="s", at_us=now_us())
    seen = wire.AllocationObserved(observed=wire.OBSERVED_ACTIVE, fences=fences(order))

    def stepped(**changes: object) -> bytes:
        changed = wire.Stepped()
        changed.CopyFrom(step)
        for name, value in changes.items():
            setattr(changed, name, value)
        return wire.SiteReport(stepped=changed).SerializeToString()

    def observed(**changes: object) -> bytes:
        changed = wire.AllocationObserved()
        changed.CopyFrom(seen)
        for name, value in changes.items():
            setattr(changed, name, value)
        return on_lease(order, changed).SerializeToString()

    def reported(**changes: object) -> bytes:
        changed = on_lease(order, seen)
        for name, value in changes.items():
            setattr(changed.reported, name, value)
        return changed.SerializeToString()

    def enrolled(**fields: object) -> bytes:
        made = wire.NodeEnrolled(
            node_id=Node("x").id, name="x", public_key=PrivateKey.generate().public()
        )
        for name, value in fields.items():
            setattr(made, name, value)
        return wire.SiteReport(enrolled=made).SerializeToString()

    wide = node.topology()
    wide.slots[0].numa_node = (1 << 32) - 1
    other = Node("wide")
    return {
        "garbage": b"\xff\xfe\xfd",
        "empty": b"",
        "only a correlation id": wire.SiteReport(correlation_id="c").SerializeToString(),
        "a step at no time": stepped(at_us=HUGE),
        "a step before time": stepped(at_us=-HUGE),
        "a step with NUL": stepped(detail="a\x00b"),
        "a NUL correlation id": wire.SiteReport(
            correlation_id="a\x00b", stepped=step
        ).SerializeToString(),
        "a revision never desired": stepped(revision=9),
        "an old step with NUL": stepped(revision=0, detail="a\x00b"),
        "an observation at no time": observed(at_us=HUGE),
        "a state of another version": observed(observed=99),
        "a reason with NUL": observed(at_us=now_us(), reason="\x00"),
        "no allocation": stepped(key="alloc_nope"),
        "an id with NUL": stepped(key="alloc_\x00"),
        "a step of an unknown kind": stepped(kind="cluster"),
        "a report of an unknown kind": reported(kind="cluster"),
        "a report that is none": reported(body=b"\xff"),
        "a report on nothing": reported(body=b""),
        "a node id that is none": enrolled(node_id="../../etc"),
        "a node name with NUL": enrolled(name="\x00"),
        "a node name taken": enrolled(name=node.name),
        "a node key taken": enrolled(public_key=node.key.public()),
        "a node key that is none": enrolled(public_key=b"key"),
        "presence of no node": wire.SiteReport(
            presence=wire.NodePresence(node_id="node_nope", connected=True)
        ).SerializeToString(),
        "a topology of no node": wire.SiteReport(
            topology=other.signed_topology(wide)
        ).SerializeToString(),
        "a topology that is none": wire.SiteReport(
            topology=wire.Signed(payload=b"\xff", signature=b"")
        ).SerializeToString(),
        "a topology by another key": wire.SiteReport(
            topology=node.signed_topology(key=PrivateKey.generate())
        ).SerializeToString(),
    }


async def test_nonsense_is_set_aside_and_the_feed_goes_on(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    path, order = await lease(site, tenant)
    node = site.nodes[order.node_id]
    before = (await tenant.member.get(path)).json["states"]
    for number, (name, body) in enumerate(nonsense(order, node).items(), start=1):
        await site.send(body)
        assert len(await rejections(central)) == number, name
    after = (await tenant.member.get(path)).json["states"]
    for which in ("desired", "observed", "execution"):
        assert after[which]["state"] == before[which]["state"]
    assert (await central.platform.get(f"/v1/nodes/{node.id}")).json["posture_reason"] == ""
    assert await central.value("SELECT count(*) FROM nodes") == 1
    await site.observe(order, wire.OBSERVED_ACTIVE)
    assert (await tenant.member.get(path)).json["status"] == "active"
    counted = {item["name"]: item["violations"] for item in (
        await central.platform.get("/v1/invariants")
    ).items}  # fmt: skip
    assert counted["feed_rejections"] == len(nonsense(order, node)), "operators are told"


async def test_numbers_that_no_host_has_are_a_fault_of_the_node_and_the_feed_goes_on(
    central: Central, site: StandInSite
) -> None:
    odd = await site.add(Node("odd", family="l40s"))
    for field, value in (
        ("numa_node", (1 << 32) - 1),
        ("cpus", 1 << 31),
        ("memory_mib", (1 << 64) - 1),
    ):
        wide = Node(f"wide-{field}", family="l40s")
        topology = wide.topology()
        setattr(topology.slots[0], field, value)
        enrolled = wire.NodeEnrolled(node_id=wide.id, name=wide.name, public_key=wide.key.public())
        await site.report(
            wire.SiteReport(enrolled=enrolled),
            wire.SiteReport(topology=wide.signed_topology(topology)),
        )
        shown = (await central.platform.get(f"/v1/nodes/{wide.id}")).json
        assert "than a machine can have" in shown["posture_reason"], field
        assert (await central.platform.get(f"/v1/nodes/{wide.id}/slots")).items == []
    assert await rejections(central) == []
    assert (await central.platform.get(f"/v1/nodes/{odd.id}")).json["gpus_free"] == 8


async def test_nonsense_between_good_reports_of_one_batch_harms_neither(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    path, order = await lease(site, tenant)
    seen = wire.AllocationObserved(
        observed=wire.OBSERVED_ACTIVE, at_us=now_us(), fences=fences(order)
    )
    good = on_lease(order, seen)
    step = wire.SiteReport(
        stepped=wire.Stepped(
            kind="lease", key=order.allocation_id, revision=1, workflow="realize", step="verify",
            status=wire.STEP_STATUS_DONE, at_us=now_us(),
        )
    )  # fmt: skip
    bodies = list(nonsense(order, site.nodes[order.node_id]).values())
    await site.send(step.SerializeToString(), *bodies, good.SerializeToString())
    shown = (await tenant.member.get(path)).json
    assert (shown["status"], shown["execution"]) == ("active", "realize.verify done")


@pytest.mark.parametrize(
    ("first", "late"),
    [
        (wire.OBSERVED_STOPPING, wire.OBSERVED_ACTIVE),
        (wire.OBSERVED_RELEASED, wire.OBSERVED_STOPPING),
        (wire.OBSERVED_RELEASED, wire.OBSERVED_ACTIVE),
        (wire.OBSERVED_ACTIVE, wire.OBSERVED_ACTIVE),
    ],
)
async def test_an_observation_that_comes_late_changes_nothing(
    central: Central,
    site: StandInSite,
    tenant: Tenant,
    first: "wire.Observed",
    late: "wire.Observed",
) -> None:
    path, order = await lease(site, tenant)
    await tenant.member.made(f"{path}/release")
    asked = await site.order(order.allocation_id, revision=2)
    await site.observe(asked, first)
    before = (await tenant.member.get(path)).json["states"]["observed"]
    await site.observe(asked, late)
    after = (await tenant.member.get(path)).json["states"]["observed"]
    assert (before["state"], before["at"]) == (after["state"], after["at"])
    assert await rejections(central) == []
    assert await central.violations() == {}


async def test_a_late_step_of_an_older_revision_is_told_but_is_not_the_state(
    site: StandInSite, tenant: Tenant
) -> None:
    path, order = await lease(site, tenant)
    await tenant.member.made(f"{path}/release")
    asked = await site.order(order.allocation_id, revision=2)
    await site.step(asked, "release", "stop")
    await site.step(order, "realize", "provision", revision=1)
    assert (await tenant.member.get(path)).json["execution"] == "release.stop done"
    steps = [
        event["data"]["step"]
        for event in (await tenant.member.get(f"{path}/timeline")).items
        if event["type"] == "allocation.stepped"
    ]
    assert steps == ["stop", "provision"]


async def test_a_gpu_that_two_nodes_report_promotes_nothing_and_faults_the_second(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    honest = next(iter(site.nodes.values()))
    liar = Node("liar")
    site.nodes[liar.id] = liar
    await site.report(
        wire.SiteReport(
            enrolled=wire.NodeEnrolled(
                node_id=liar.id, name=liar.name, public_key=liar.key.public()
            )
        ),
        wire.SiteReport(presence=wire.NodePresence(node_id=liar.id, connected=True, at_us=1)),
        wire.SiteReport(topology=liar.signed_topology(liar.topology(uuid_of=honest.name))),
    )
    shown = (await central.platform.get(f"/v1/nodes/{liar.id}")).json
    assert shown["posture"] == "unavailable"
    assert f"which is node {honest.id}'s" in shown["posture_reason"]
    assert (await central.platform.get(f"/v1/nodes/{liar.id}/slots")).items == []
    await central.platform.post(f"/v1/nodes/{liar.id}/approve")
    assert (await central.platform.get(f"/v1/nodes/{liar.id}/slots")).items == []
    assert (await central.platform.get(f"/v1/nodes/{honest.id}")).json["gpus_free"] == 8


async def test_a_node_whose_gpus_changed_is_at_fault_until_they_are_back(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    node = next(iter(site.nodes.values()))
    await site.report(
        wire.SiteReport(topology=node.signed_topology(node.topology(uuid_of="swapped")))
    )
    shown = (await central.platform.get(f"/v1/nodes/{node.id}")).json
    assert shown["posture"] == "unavailable"
    assert "GPU 0 was GPU-site-a-n0-0, is now GPU-swapped-0" in shown["posture_reason"]
    refused = await tenant.member.post("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    assert refused.code == "sku_unavailable"
    await site.report(wire.SiteReport(topology=node.signed_topology()))
    await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)


async def test_a_node_whose_evidence_fails_takes_nothing_new_until_it_passes(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    """From the report to the refusal; what runs there goes on."""
    node = next(iter(site.nodes.values()))
    ask = {"project": "main", "sku": "h100.slice", "gpus": 1}
    runs = await tenant.member.made("/v1/allocations", **ask)
    await site.observe(await site.order(runs), wire.OBSERVED_ACTIVE)
    sick = node.topology()
    sick.readiness.add(check="ecc.clean", detail="GPU 3 has\x1b[2J 17 errors")
    sick.readiness.add(check="link.up")
    await site.report(wire.SiteReport(topology=node.signed_topology(sick)))
    why = "it is not ready: ecc.clean: GPU 3 has [2J 17 errors, link.up did not pass"
    shown = (await central.platform.get(f"/v1/nodes/{node.id}")).json
    assert (shown["posture"], shown["posture_reason"]) == ("unavailable", why)
    refused = await tenant.member.post("/v1/allocations", **ask)
    assert (refused.code, refused.json["never"]) == ("sku_unavailable", False)
    told = refused.json["explanation"]
    assert told["rejections"]["schedulable"] == 1
    assert [(miss["node_id"], miss["rule"], miss["why"]) for miss in told["near"]] == [
        (node.id, "schedulable", why)
    ]
    still = (await tenant.member.get(f"/v1/allocations/{runs['id']}")).json
    assert still["status"] == "active"
    await site.report(wire.SiteReport(topology=node.signed_topology()))
    assert (await tenant.member.made("/v1/allocations", **ask))["node"] == node.id


async def test_why_a_nodes_evidence_was_not_accepted_is_the_platforms_to_know(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    """It may name another's node."""
    node, other = next(iter(site.nodes.values())), await site.add(Node("other", family="l40s"))
    stolen = node.topology(uuid_of=other.name)
    await site.report(wire.SiteReport(topology=node.signed_topology(stolen)))
    refused = await tenant.member.post("/v1/allocations", project="main", sku="h100.slice")
    assert other.id not in str(refused.json)
    assert refused.json["explanation"]["near"][0]["why"] == "its evidence was not accepted"
    shown = (await central.platform.get(f"/v1/nodes/{node.id}")).json
    assert other.id in shown["posture_reason"]


async def test_without_evidence_or_policy_slots_wait_for_an_operator(
    central: Central, site: StandInSite, tmp_path: Path
) -> None:
    sick = Node("sick", family="l40s")
    enrolled = wire.NodeEnrolled(node_id=sick.id, name=sick.name, public_key=sick.key.public())
    await site.report(
        wire.SiteReport(enrolled=enrolled),
        wire.SiteReport(topology=sick.signed_topology(sick.topology(ready=False))),
    )
    states = [s["state"] for s in (await central.platform.get(f"/v1/nodes/{sick.id}/slots")).items]
    assert states == ["proposed"] * 9
    first = (await central.platform.get(f"/v1/nodes/{sick.id}/slots")).items[1]["id"]
    for path in (f"/v1/slots/{first}/approve", f"/v1/nodes/{sick.id}/approve"):
        refused = await central.platform.post(path)
        assert (refused.status, refused.code) == (409, "node_not_ready")
        assert "it is not ready: gpu.visible did not pass" in refused.json["detail"]
    states = [s["state"] for s in (await central.platform.get(f"/v1/nodes/{sick.id}/slots")).items]
    assert states == ["proposed"] * 9
    async with stand_in_site.connected(
        central, tmp_path / "careful", "careful", auto_approve=False
    ) as careful:
        node = await careful.add(Node("c-n0"))
        shown = (await central.platform.get(f"/v1/nodes/{node.id}")).json
        assert (shown["posture"], shown["posture_reason"]) == ("unavailable", "no slot is approved")
        first = (await central.platform.get(f"/v1/nodes/{node.id}/slots")).items[1]["id"]
        assert (await central.platform.made(f"/v1/slots/{first}/approve"))["state"] == "approved"
        await central.platform.made(f"/v1/nodes/{node.id}/approve")
        slots = (await central.platform.get(f"/v1/nodes/{node.id}/slots")).items
        assert [slot["state"] for slot in slots] == ["approved"] * 9
