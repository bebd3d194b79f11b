"""Join tokens and certificates: one winner, nothing on trust, no outage locks anyone out."""

import asyncio
import secrets
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import grpc.aio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID

from penstock.central.sites import enrolment
from penstock.central.sites import service as sites
from penstock.central.sites.service import Trust
from penstock.kernel import authority, db
from penstock.kernel.actor import SYSTEM
from penstock.kernel.authority import Authority
from penstock.kernel.db import Database
from penstock.kernel.errors import Forbidden, Problem
from penstock.site.nodes import enrolment as node_enrolment
from penstock.site.nodes import store as node_store
from penstock.site.nodes.enrolment import Door
from penstock_contracts import identity, join, membership, rpc
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import SiteId, TokenId
from penstock_contracts.join import JoinToken
from penstock_contracts.membership import JoinRefused, Member
from penstock_contracts.wire_pb2 import EnrolRequest, Frame, Hello, RenewRequest

from . import stand_in_site
from .plane import Central

pytestmark = pytest.mark.anyio

RACERS = 50


def request(token: JoinToken, key: PrivateKey) -> EnrolRequest:
    csr, name = key.csr("x"), secrets.token_hex(4)
    return EnrolRequest(token_id=token.id, secret=token.secret, csr=csr, ca_csr=csr, name=name)


async def site_token(database: Database, root: Authority) -> JoinToken:
    trust = Trust("127.0.0.1:1", enrolment.SERVER_NAME, root)
    async with database.transaction() as tx:
        site = await sites.create(tx, SYSTEM, name=secrets.token_hex(4), auto_approve=False)
        issued = await sites.create_token(tx, SYSTEM, site.id, trust)
    return JoinToken.decode(issued.text)


async def test_of_fifty_sites_with_one_token_one_joins_and_may_ask_again(
    central_url: str, tmp_path: Path
) -> None:
    root = authority.load_or_create_root(tmp_path)
    database = await db.connect(central_url, "central")
    token = await site_token(database, root)
    keys = [PrivateKey.generate() for _ in range(RACERS)]

    async def attempt(key: PrivateKey) -> str | Problem:
        try:
            async with database.transaction() as tx:
                return (await enrolment.enrol(tx, root, "l:1", request(token, key))).id
        except Problem as refusal:
            return refusal

    outcomes = await asyncio.gather(*(attempt(key) for key in keys))
    winners = [at for at, outcome in enumerate(outcomes) if isinstance(outcome, str)]
    assert len(winners) == 1
    assert all(isinstance(o, Forbidden) for at, o in enumerate(outcomes) if at not in winners)
    winner = keys[winners[0]]
    assert await attempt(winner) == outcomes[winners[0]], "its answer may have been lost"
    async with database.transaction() as tx:
        stored = await tx.fetchval("SELECT public_key FROM sites")
    assert stored == winner.public()
    await database.close()


async def test_of_fifty_nodes_with_one_token_one_joins_and_may_ask_again(
    site_url: str, tmp_path: Path
) -> None:
    root = authority.load_or_create_root(tmp_path)
    database = await db.connect(site_url, "site")
    token = JoinToken(TokenId.new(), join.new_secret(), "a:1", "n", root.der, b"")
    async with database.transaction() as tx:
        expires_at = tx.now + timedelta(hours=1)
        await node_store.add_token(tx, token.id, join.hash_secret(token.secret), expires_at)
    keys = [PrivateKey.generate() for _ in range(RACERS)]
    door = Door("l:1", b"")

    async def attempt(key: PrivateKey) -> str | Problem:
        try:
            async with database.transaction() as tx:
                return (await node_enrolment.enrol(tx, root, door, request(token, key))).id
        except Problem as refusal:
            return refusal

    outcomes = await asyncio.gather(*(attempt(key) for key in keys))
    winners = [at for at, outcome in enumerate(outcomes) if isinstance(outcome, str)]
    assert len(winners) == 1
    assert await attempt(keys[winners[0]]) == outcomes[winners[0]]
    async with database.transaction() as tx:
        assert await tx.fetchval("SELECT count(*) FROM nodes") == 1
        assert await tx.fetchval("SELECT count(*) FROM feed_entries") == 1, "told central once"
    await database.close()


async def test_a_token_that_is_expired_altered_or_unknown_is_refused(
    central: Central, tmp_path: Path
) -> None:
    made = await central.platform.made("/v1/sites", name="late")
    issued = await central.platform.made(f"/v1/sites/{made['id']}/token")
    token = JoinToken.decode(issued["token"])
    wrong = replace(token, secret=join.new_secret())
    unknown = replace(token, id=TokenId.new())
    nul = replace(token, id=TokenId("token_\x00"))
    for number, bad in enumerate((wrong, unknown, nul)):
        with pytest.raises(JoinRefused):
            async with asyncio.timeout(10):
                await membership.join(tmp_path / str(number), bad, "late", with_ca=True)
    with pytest.raises(JoinRefused, match="its own certificate authority"):
        await membership.join(tmp_path / "no-ca", token, "late")
    await central.execute("UPDATE site_tokens SET expires_at = now() - interval '1 second'")
    with pytest.raises(JoinRefused, match="unknown, used or expired"):
        await membership.join(tmp_path / "expired", token, "late", with_ca=True)
    assert (await central.platform.get("/v1/sites/late")).json["status"] == "awaiting_join"


async def test_a_key_that_is_another_sites_cannot_join_a_second_one(
    central: Central, tmp_path: Path
) -> None:
    await stand_in_site.joined(central, tmp_path, "one")
    with pytest.raises(JoinRefused, match="another site"):
        async with asyncio.timeout(10):
            await stand_in_site.joined(central, tmp_path, "two")


async def test_an_enrolled_key_renews_whatever_expired_and_another_does_not(
    central: Central, tmp_path: Path
) -> None:
    """The answer to an outage longer than a certificate's life."""
    member = await stand_in_site.joined(central, tmp_path / "site", "one")
    await central.execute("UPDATE site_tokens SET expires_at = now() - interval '90 days'")
    old = member.membership.certificate_pem
    await member.renew()
    assert member.membership.certificate_pem != old
    assert member.membership.id == member.id
    stranger = PrivateKey.generate()
    held = member.membership
    channel = rpc.channel(held.join_address, held.server_name, held.root_pem.encode())
    async with channel:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await rpc.renew(channel, RenewRequest(csr=stranger.csr(held.id)), 10)
        assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
        for garbage in (b"", b"csr", stranger.csr("x")[:-5]):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await rpc.renew(channel, RenewRequest(csr=garbage), 10)
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def hello(member: Member, key: PrivateKey, chain: str) -> Frame | None:
    """Dial central's link with this identity; its first frame, if it speaks to us."""
    held = member.membership
    channel = rpc.channel(
        held.link_address, held.server_name, held.root_pem.encode(), (key.pem(), chain.encode())
    )
    async with channel, asyncio.timeout(5):
        stream = rpc.ClientStream(channel)
        await stream.write(Frame(hello=Hello(cursor=0)))
        return await stream.read()


def expired(root: Authority, key: PrivateKey, uri: str) -> str:
    """Good in everything but its time, which ended a minute ago."""
    now = datetime.now(UTC)
    name = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri)])
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    builder = (
        x509.CertificateBuilder()
        .subject_name(authority.common_name(uri))
        .issuer_name(root.certificate.subject)
        .public_key(key.key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now - timedelta(minutes=1))
        .add_extension(name, critical=False)
        .add_extension(x509.BasicConstraints(False, None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    )
    return authority.to_pem(builder.sign(root.key.key, hashes.SHA256())) + root.pem


async def test_only_a_live_certificate_of_this_plane_for_a_site_opens_the_link(
    central: Central, tmp_path: Path
) -> None:
    member = await stand_in_site.joined(central, tmp_path / "site", "one")
    other = await stand_in_site.joined(central, tmp_path / "other", "two")
    root = authority.load_or_create_root(central.settings.data)
    foreign = authority.load_or_create_root(tmp_path / "foreign")
    mine = identity.spiffe("site", member.id)
    key = PrivateKey.generate()

    def issued(by: Authority, uri: str) -> str:
        return authority.to_pem(by.issue(key.csr("x"), uri)) + by.pem

    site_ca = Authority(
        other.ca_key(),
        x509.load_pem_x509_certificate(other.membership.ca_certificate_pem.encode()),
    )
    refused = {
        "another root": issued(foreign, mine),
        "another site's authority": issued(site_ca, mine),
        "a node": issued(root, identity.spiffe("node", "node_1")),
        "a node of its own authority": issued(site_ca, identity.spiffe("node", "node_1")),
        "a node with a site's id": issued(root, identity.spiffe("node", member.id)),
        "a central with a site's id": issued(root, identity.spiffe("central", member.id)),
        "central itself": issued(root, identity.spiffe("central", "central")),
        "no kind of name": issued(root, "https://example.com"),
        "another trust domain": issued(root, f"spiffe://other/site/{member.id}"),
        "a name with more": issued(root, f"{mine}/more"),
        "expired": expired(root, key, mine),
        "an unknown site": issued(root, identity.spiffe("site", SiteId.new())),
        "a site id that is none": issued(root, identity.spiffe("site", "x")),
    }
    for name, chain in refused.items():
        with pytest.raises((grpc.aio.AioRpcError, TimeoutError, ConnectionError)):
            pytest.fail(f"{name} opened the link: {await hello(member, key, chain)}")
    assert (await central.platform.get("/v1/sites/one")).json["connected_at"] is None
    frame = await hello(member, member.key, member.membership.certificate_pem)
    assert frame is not None
    assert frame.WhichOneof("frame") == "hello"
