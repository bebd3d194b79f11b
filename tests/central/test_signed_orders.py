"""Whom a site and a node obey: the key they learned when they joined, whatever a link says."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import grpc.aio
import pytest

from penstock.central.sites import enrolment, roots
from penstock.kernel import authority
from penstock.kernel.feed import Inbox
from penstock.site import uplink
from penstock_contracts import identity, membership
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import AllocationId, NodeId
from penstock_contracts.join import JoinToken
from penstock_contracts.membership import JoinRefused, Member, RenewalRefused
from penstock_contracts.wire_pb2 import (
    DESIRED_ACTIVE,
    DesiredAllocation,
    Document,
    Enrolment,
    SiteOrder,
)

from . import impostor, site_plane
from .impostor import Impostor
from .plane import Central
from .site_plane import SitePlane

pytestmark = pytest.mark.anyio


async def test_no_renewal_changes_whom_a_node_obeys(victim: SitePlane, tmp_path: Path) -> None:
    """Not even one by the site's own authority: only the key of old, or joining anew."""
    node = await victim.node(tmp_path / "node")
    held = node.membership
    assert bytes.fromhex(held.order_key_hex) == victim.member.key.public()
    by = impostor.authority_of(victim.member)
    uri = identity.spiffe("site", victim.member.id)
    answer = partial(impostor.false_answer, node, by)
    async with impostor.serving(impostor.vouched(by, uri, held.server_name, answer)) as fake:
        node.membership = replace(held, join_address=fake.join_address)
        with pytest.raises(RenewalRefused, match="another key for orders"):
            await node.renew()
        assert fake.heard, "it was asked, and not believed"
    node.membership = held
    kept = membership.load(node.folder)
    assert kept is not None
    assert kept.order_key == victim.member.key.public()
    await node.renew()
    assert node.membership.order_key_hex == held.order_key_hex


async def test_a_join_obeys_the_key_in_the_token_and_no_other(
    victim: SitePlane, tmp_path: Path
) -> None:
    """A site's authority vouches for who serves, and cannot say whose tasks are carried out."""
    by = impostor.authority_of(victim.member)
    token = await victim.node_token()
    uri = identity.spiffe("site", victim.member.id)
    answer = partial(impostor.false_answer, victim.member, by)
    async with impostor.serving(impostor.vouched(by, uri, token.server_name, answer)) as fake:
        with pytest.raises(JoinRefused, match="another key for orders"):
            await membership.join(tmp_path, replace(token, address=fake.join_address), "n")
        assert fake.heard
    assert membership.load(tmp_path) is None
    joined = await membership.join(tmp_path, token, "n")
    assert joined.order_key == victim.member.key.public()


async def test_once_a_site_and_its_nodes_joined_anew_the_old_keys_are_nobodys(
    central: Central, site_url: str, tmp_path: Path
) -> None:
    """What is left when a site's keys were stolen. A node that keeps its own is the same node."""
    async with site_plane.running(central, site_url, tmp_path / "site", "site") as site:
        node, old = await site.node(tmp_path / "node"), site.member
    issued = await central.platform.made(f"/v1/sites/{old.id}/token")
    token = JoinToken.decode(issued["token"])
    new = await membership.join(tmp_path / "again", token, "site", with_ca=True)
    assert new.id == old.id
    with pytest.raises(JoinRefused, match="not enrolled"):
        await old.renew()
    async with site_plane.serving(central, site_url, new) as site:
        address = (await site.node_token()).address
        node.membership = replace(node.membership, join_address=address)
        with pytest.raises(grpc.aio.AioRpcError):
            await node.renew()  # it still trusts the old authority, and that one alone
        joined = await site.node(node.folder)
        await joined.renew()
    assert joined.id == node.id
    assert joined.order_key == new.key.public()
    by, uri = impostor.authority_of(old), identity.spiffe("site", old.id)
    answer = partial(impostor.false_answer, joined, by)
    thief = impostor.vouched(by, uri, joined.membership.server_name, answer)
    async with impostor.serving(thief):
        joined.membership = replace(joined.membership, join_address=thief.join_address)
        with pytest.raises(grpc.aio.AioRpcError):
            await joined.renew()
    assert not thief.heard


def desired(site_id: str, allocation: str) -> SiteOrder:
    body = DesiredAllocation(
        allocation_id=allocation, revision=1, desired=DESIRED_ACTIVE, node_id=NodeId.new()
    )
    document = Document(kind="lease", key=allocation, revision=1, body=body.SerializeToString())
    return SiteOrder(site_id=site_id, document=document)


async def test_only_what_central_signed_for_this_site_is_an_order(
    central: Central, victim: SitePlane, thief: Member
) -> None:
    """Even to a peer that has central's certificate: a link is not a signature."""
    member, root = victim.member, authority.load_or_create_root(central.settings.data)
    allocation = AllocationId.new()
    order = desired(member.id, allocation).SerializeToString()
    others = desired(thief.id, allocation).SerializeToString()
    central_key = roots.order_key(root)
    false = {
        "unsigned": order,
        "signed by a site": thief.key.sign(order).SerializeToString(),
        "signed by a site's authority": thief.ca_key().sign(order).SerializeToString(),
        "signed by the site itself": member.key.sign(order).SerializeToString(),
        "another site's": central_key.sign(others).SerializeToString(),
        "no site's": central_key.sign(desired("", allocation).SerializeToString())
        .SerializeToString(),
        "nonsense": b"\xff\xff",
    }  # fmt: skip
    held = member.membership
    cursor = await victim.value("SELECT coalesce(max(seq), 0) FROM feed_cursors")
    for name, body in false.items():
        answer = partial(impostor.false_answer, member, root)
        fake = impostor.vouched(root, impostor.CENTRAL, enrolment.SERVER_NAME, answer)
        fake.orders = [body]
        async with impostor.serving(fake):
            member.membership = replace(held, link_address=fake.link_address)
            why = await refusal(victim, fake)
            assert "an order is" in why, f"{name}: {why}"
            assert await victim.value("SELECT key FROM documents") is None, name
            assert await victim.value("SELECT count(*) FROM feed_rejections") == 0, name
            reached = await victim.value("SELECT coalesce(max(seq), 0) FROM feed_cursors")
            assert reached == cursor, f"{name} moved the cursor"
    member.membership = held
    assert await victim.node_token(), "central's own orders arrive, after all that"


async def refusal(site: SitePlane, fake: Impostor) -> str:
    """Dial the false central as the site does; why the link broke, if no order was believed."""
    reasons: list[str] = []
    broken = asyncio.Event()

    def changed(up: bool, why: str) -> None:
        if not up:
            reasons.append(why)
            broken.set()

    feeds = Impostor(PrivateKey.generate(), "", lambda _csr: Enrolment())  # it has no reports
    inbox = Inbox(site.database, uplink.SOURCE, partial(uplink.handle, site.member, site.kinds))
    dialling = asyncio.create_task(site.member.dial(feeds, inbox, changed))
    waiting = [asyncio.create_task(event.wait()) for event in (broken, fake.believed)]
    await asyncio.wait(waiting, timeout=15, return_when=asyncio.FIRST_COMPLETED)
    for task in (dialling, *waiting):
        task.cancel()
    await asyncio.wait([dialling, *waiting])
    return reasons[0] if reasons else "it believed the order"
