"""Retired, replaced and lost keys at a real site: over gRPC, with real certificates and links."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from penstock.site import reports
from penstock_contracts import link, membership, rpc
from penstock_contracts.identity import PrivateKey
from penstock_contracts.join import JoinToken
from penstock_contracts.membership import JoinRefused, Member
from penstock_contracts.wire_pb2 import Entry, Hardware, Signed, SiteReport

from .site_plane import SitePlane
from .stand_in_site import Node

pytestmark = pytest.mark.anyio

WHY = "its serial is on the box"


class Silent:
    """Both feeds of a node that takes everything and says nothing."""

    def __init__(self) -> None:
        self.taken = 0

    async def read(self, after: int, limit: int) -> Sequence[link.Outgoing]:
        return []

    async def wait(self, after: int) -> None:
        await asyncio.Event().wait()

    async def acknowledge(self, seq: int) -> None: ...

    async def head(self) -> int:
        return 0

    async def renumber(self, after: int) -> None: ...

    async def cursor(self) -> int:
        return self.taken

    async def apply(self, entries: Sequence[Entry]) -> int:
        self.taken = max([self.taken, *(entry.seq for entry in entries)])
        return self.taken


async def joined(site: SitePlane, folder: Path, name: str = "n1") -> tuple[Member, Node]:
    """A node that joined and told central what it is made of."""
    member = await site.node(folder, name)
    node = Node(name, key=member.key, id=member.id)  # pyright: ignore[reportArgumentType]
    signed = node.signed_topology()

    async def discovered(tx: Any) -> None:
        reports.send(tx, SiteReport(topology=signed))

    await site.database.run(discovered)
    await site.central.until(member.id, "node.discovered")
    return member, node


async def rejoin_token(site: SitePlane, id: str) -> JoinToken:
    return await token(site, f"/v1/nodes/{id}/rejoin-token")


async def token(site: SitePlane, path: str) -> JoinToken:
    issued = await site.central.platform.made(path)
    made = JoinToken.decode(issued["token"])
    await site.until("SELECT 1 FROM node_tokens WHERE id = $1", made.id)
    return made


def evidence(token: JoinToken, node: Node) -> Any:
    hardware = Hardware(node_id=token.rejoins, token_id=token.id, topology=node.topology())

    def sign(key: PrivateKey) -> Signed:
        return key.sign(hardware.SerializeToString())

    return sign


@asynccontextmanager
async def asking(
    token: JoinToken, folder: Path, node: Node, said: list[str]
) -> AsyncGenerator["asyncio.Task[Member]", None]:
    task = asyncio.create_task(
        membership.join(folder, token, node.name, evidence=evidence(token, node), waits=said.append)
    )
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def waiting(site: SitePlane, id: str) -> str:
    """The id of the node's re-enrolment, once central has it."""
    async with asyncio.timeout(20):
        while True:
            listed = await site.central.platform.get("/v1/reenrolments", node=id, status="waiting")
            if listed.items:
                return str(listed.items[0]["id"])
            await asyncio.sleep(0.02)


async def decide(site: SitePlane, id: str, verb: str) -> None:
    await site.central.platform.made(f"/v1/reenrolments/{id}/{verb}", reason=WHY)


async def refusal(member: Member) -> str:
    """Why the link is refused, dialled with the certificate that the member has."""
    held = member.membership
    channel = rpc.channel(
        held.link_address, held.server_name, held.root_pem.encode(), member.identity
    )
    silent = Silent()
    async with channel:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            async with asyncio.timeout(20):
                await link.run(rpc.ClientStream(channel), silent, silent)
    assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
    return str(refused.value.details())


async def test_a_node_that_lost_its_key_waits_and_comes_back_as_itself(
    victim: SitePlane, tmp_path: Path
) -> None:
    old, node = await joined(victim, tmp_path / "old")
    given = await rejoin_token(victim, old.id)
    said: list[str] = []
    async with asking(given, tmp_path / "new", node, said) as joining:
        id = await waiting(victim, old.id)
        assert not joining.done()
        await old.renew()  # until an operator decides, nothing changed
        await decide(victim, id, "approve")
        async with asyncio.timeout(20):
            new = await joining
    assert new.id == old.id
    assert new.key.public() != old.key.public()
    assert "an operator to approve key" in said[0]
    assert len(set(said)) == 1
    assert await refusal(old) == "this node is not enrolled here with this key"
    with pytest.raises(JoinRefused, match="this key is not enrolled"):
        await old.renew()
    await new.renew()
    once = await victim.value("SELECT count(*) FROM reenrolments")
    assert once == 1, "asked many times, told once"


async def test_a_link_with_the_old_key_ends_when_the_new_one_is_approved(
    victim: SitePlane, tmp_path: Path
) -> None:
    old, node = await joined(victim, tmp_path / "old")
    dialled = asyncio.create_task(refusal(old))  # the link is up until then
    await victim.central.until(old.id, "node.connected")
    assert not dialled.done()
    given = await rejoin_token(victim, old.id)
    async with asking(given, tmp_path / "new", node, []) as joining:
        await decide(victim, await waiting(victim, old.id), "approve")
        async with asyncio.timeout(20):
            await joining
            assert await dialled == "this node is not enrolled here with this key"


async def test_whoever_is_rejected_is_told_why_and_the_node_stays_who_it_was(
    victim: SitePlane, tmp_path: Path
) -> None:
    old, _ = await joined(victim, tmp_path / "old")
    given = await rejoin_token(victim, old.id)
    rogue = Node("rogue")
    async with asking(given, tmp_path / "rogue", rogue, []) as joining:
        id = await waiting(victim, old.id)
        refused = await victim.central.platform.post(
            f"/v1/reenrolments/{id}/approve", reason="in a hurry"
        )
        assert (refused.status, refused.code) == (409, "hardware_differs")
        await decide(victim, id, "reject")
        async with asyncio.timeout(20):
            with pytest.raises(JoinRefused, match=f"was rejected: {WHY}"):
                await joining
    await old.renew()


async def test_a_node_cannot_come_back_as_another_nor_without_evidence(
    victim: SitePlane, tmp_path: Path
) -> None:
    one, _ = await joined(victim, tmp_path / "one", "one")
    two, _ = await joined(victim, tmp_path / "two", "two")
    given = await rejoin_token(victim, one.id)
    with pytest.raises(JoinRefused, match=f"this key is node {two.id}'s"):
        await membership.join(tmp_path / "two", given, "two")
    with pytest.raises(JoinRefused, match="must say what it is made of"):
        await membership.join(tmp_path / "fresh", given, "one")
    again = await membership.join(
        tmp_path / "one", given_again := await rejoin_token(victim, one.id), "one"
    )
    assert (again.id, given_again.rejoins) == (one.id, one.id), "it had its key after all"
    assert (await victim.central.platform.get("/v1/reenrolments")).items == []


async def test_a_retired_node_is_cut_off_and_its_name_is_free_for_another(
    victim: SitePlane, tmp_path: Path
) -> None:
    old, _ = await joined(victim, tmp_path / "old")
    dialled = asyncio.create_task(refusal(old))
    await victim.central.until(old.id, "node.connected")
    await victim.central.platform.made(f"/v1/nodes/{old.id}/retire", reason="it is old")
    async with asyncio.timeout(20):
        assert f"node {old.id} is retired" in await dialled
    assert f"node {old.id} is retired" in await refusal(old), "nor may it dial again"
    with pytest.raises(JoinRefused, match="is retired"):
        await old.renew()
    given = await token(victim, f"/v1/nodes/{old.id}/replace")
    with pytest.raises(JoinRefused, match="is retired"):
        await membership.join(tmp_path / "old", given, "n1")
    given = await token(victim, f"/v1/nodes/{old.id}/replace")
    with pytest.raises(JoinRefused, match="for a node named 'n1', not 'n2'"):
        await membership.join(tmp_path / "new", given, "n2")
    new = await membership.join(tmp_path / "new", given, "n1")
    assert new.id != old.id
    await victim.central.until(new.id, "node.enrolled")
    seen = (await victim.central.platform.get(f"/v1/nodes/{new.id}")).json
    assert (seen["name"], seen["replaces"]) == ("n1", old.id)
