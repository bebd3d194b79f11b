"""What the holder of one site's keys can be taken for, by anybody else: nothing."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import grpc
import grpc.aio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from penstock.central.sites import enrolment, model, roots
from penstock.kernel import authority
from penstock.kernel.authority import Authority
from penstock_contracts import identity, membership, rpc
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import NodeId, SiteId
from penstock_contracts.join import JoinToken
from penstock_contracts.membership import Member
from penstock_contracts.wire_pb2 import Enrolment, Frame, Hello, RenewRequest

from . import impostor, stand_in_site
from .impostor import Impostor
from .plane import Central
from .site_plane import SitePlane

pytestmark = pytest.mark.anyio

REFUSED = (grpc.aio.AioRpcError, ConnectionError, TimeoutError)


def faces(thief: Member, target: Member, uri: str, dns: str) -> dict[str, Impostor]:
    """Every server that the thief's keys can make of it."""
    by = impostor.authority_of(thief)
    answer = partial(impostor.false_answer, target, by)
    own = Authority(thief.key, by.certificate)
    return {
        "vouched by its authority": impostor.vouched(by, uri, dns, answer),
        "vouched by its own key": impostor.vouched(own, uri, dns, answer),
        "its own certificate": Impostor(thief.key, thief.membership.certificate_pem, answer),
    }


async def hello(to: Member, key: PrivateKey, chain: str) -> Frame | None:
    """Dial the link of a plane with this identity; its first frame, if it speaks to us."""
    held = to.membership
    channel = rpc.channel(
        held.link_address, held.server_name, held.root_pem.encode(), (key.pem(), chain.encode())
    )
    async with channel, asyncio.timeout(5):
        stream = rpc.ClientStream(channel)
        await stream.write(Frame(hello=Hello(cursor=0)))
        return await stream.read()


async def assert_not_taken_for_the_plane_above(member: Member, fakes: dict[str, Impostor]) -> None:
    """The member believes no answer of theirs, and opens no link to them."""
    held = member.membership
    chain = held.certificate_pem
    for name, fake in fakes.items():
        async with impostor.serving(fake):
            member.membership = replace(
                held, join_address=fake.join_address, link_address=fake.link_address
            )
            with pytest.raises(REFUSED):
                pytest.fail(f"{name} answered a renewal: {await member.renew()}")
            with pytest.raises(REFUSED):
                pytest.fail(f"{name} has a link: {await hello(member, member.key, chain)}")
            assert not fake.heard, f"{name} was told something"
            assert member.membership.certificate_pem == chain
    member.membership = held


async def test_a_sites_keys_cannot_pass_for_central_to_another_site(
    central: Central, thief: Member, tmp_path: Path
) -> None:
    member = await stand_in_site.joined(central, tmp_path / "other", "other")
    fakes = faces(thief, member, impostor.CENTRAL, enrolment.SERVER_NAME)
    await assert_not_taken_for_the_plane_above(member, fakes)
    await member.renew()  # central itself is believed, after all that


async def test_a_sites_keys_cannot_pass_for_central_to_a_site_that_joins(
    central: Central, thief: Member, tmp_path: Path
) -> None:
    made = await central.platform.made("/v1/sites", name="new")
    issued = await central.platform.made(f"/v1/sites/{made['id']}/token")
    token = JoinToken.decode(issued["token"])
    for name, fake in faces(thief, thief, impostor.CENTRAL, enrolment.SERVER_NAME).items():
        async with impostor.serving(fake):
            elsewhere = replace(token, address=fake.join_address)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1.5):
                    await membership.join(tmp_path / name, elsewhere, "new", with_ca=True)
            assert not fake.heard, f"{name} has the token's secret"


async def test_a_sites_keys_cannot_pass_for_another_site_to_its_nodes(
    victim: SitePlane, thief: Member, tmp_path: Path
) -> None:
    node = await victim.node(tmp_path / "node")
    site_id = SiteId.parse(victim.member.id)
    uri, dns = identity.spiffe("site", site_id), model.server_name(site_id)
    await assert_not_taken_for_the_plane_above(node, faces(thief, node, uri, dns))
    token = await victim.node_token()
    for name, fake in faces(thief, node, uri, dns).items():
        async with impostor.serving(fake):
            elsewhere = replace(token, address=fake.join_address)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1.5):
                    await membership.join(tmp_path / name, elsewhere, "n2")
            assert not fake.heard, f"{name} has the token's secret"
    frame = await hello(node, node.key, node.membership.certificate_pem)
    assert frame is not None, "its own site is believed, after all that"


async def test_a_sites_keys_cannot_pass_for_another_site_or_for_its_node(
    central: Central, victim: SitePlane, thief: Member, tmp_path: Path
) -> None:
    node = await victim.node(tmp_path / "node")
    by = impostor.authority_of(thief)
    key = PrivateKey.generate()
    taken_for = {
        (victim.member.id, "site"): victim.member,  # towards central
        (node.id, "node"): node,  # towards its site
        (NodeId.new(), "node"): node,
    }
    for (id, kind), dialled in taken_for.items():
        leaf = by.issue(key.csr("x"), identity.spiffe(kind, id))
        for chain in (authority.to_pem(leaf) + by.pem, authority.to_pem(leaf)):
            with pytest.raises(REFUSED):
                pytest.fail(f"{id} has a link: {await hello(dialled, key, chain)}")


async def test_a_copied_signing_request_gets_nobody_anothers_authority(
    central: Central, victim: SitePlane
) -> None:
    """It proves the key that made it, not who sends it, nor what else is asked for."""
    held, mine = victim.member.membership, PrivateKey.generate()
    copied = victim.member.key.csr(held.id)
    channel = rpc.channel(held.join_address, held.server_name, held.root_pem.encode())
    async with channel:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await rpc.renew(channel, RenewRequest(csr=copied, ca_csr=mine.csr("x")), 10)
    assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
    await victim.member.renew()  # with the authority that it joined with


def above(root: Authority, site: Member) -> Authority:
    """The root apart that signs the site's authority."""
    return roots.above(root, SiteId.parse(site.id), site.ca_key().public())


def out_of_date(site: Member, root: Authority) -> Authority:
    """The site's authority as if central had certified it 90 days ago, and not since."""
    held = impostor.authority_of(site)
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(held.certificate.subject)
        .issuer_name(root.certificate.subject)
        .public_key(held.key.key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - authority.SITE_CA_LIFE)
        .not_valid_after(now - timedelta(minutes=1))
    )
    for extension in held.certificate.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    return Authority(held.key, builder.sign(root.key.key, hashes.SHA256()))


async def test_a_renewed_authority_locks_no_node_out_and_one_that_ran_out_does(
    central: Central, victim: SitePlane, tmp_path: Path
) -> None:
    node, site = await victim.node(tmp_path / "node"), victim.member
    before = site.membership.ca_certificate_pem
    await site.renew()
    assert site.membership.ca_certificate_pem != before
    for _ in range(2):  # with the certificate by the old one, and with one by the new
        frame = await hello(node, node.key, node.membership.certificate_pem)
        assert frame is not None
        await node.renew()
    root = authority.load_or_create_root(central.settings.data)
    by = out_of_date(site, above(root, site))
    uri = identity.spiffe("site", site.id)
    answer = partial(impostor.false_answer, node, by)
    fake = impostor.vouched(by, uri, node.membership.server_name, answer)
    await assert_not_taken_for_the_plane_above(node, {"whoever was cut off": fake})


async def test_a_sites_authority_cannot_vouch_for_another_name_even_under_its_own_root(
    victim: SitePlane,
) -> None:
    """The name constraint alone: here the root is trusted, and still the name is refused."""
    held, site_id = victim.member.membership, SiteId.parse(victim.member.id)
    by = impostor.authority_of(victim.member)
    answer = partial(impostor.false_answer, victim.member, by)
    own, others = model.server_name(site_id), model.server_name(SiteId.new())
    for name, trusted in ((own, True), (others, False), (enrolment.SERVER_NAME, False)):
        uri = identity.spiffe("site", site_id)
        async with impostor.serving(impostor.vouched(by, uri, name, answer)) as fake:
            channel = rpc.channel(fake.join_address, name, held.ca_root_pem.encode())
            async with channel:
                asking = rpc.renew(channel, RenewRequest(csr=victim.member.key.csr("x")), 5)
                outcome = await asyncio.gather(asking, return_exceptions=True)
            assert isinstance(outcome[0], Enrolment) is trusted, name


async def test_every_replica_finds_the_same_roots_apart(tmp_path: Path) -> None:
    first, second = (authority.load_or_create_root(tmp_path) for _ in range(2))
    foreign = authority.load_or_create_root(tmp_path / "foreign")
    site, ca, new = SiteId.new(), PrivateKey.generate().public(), PrivateKey.generate().public()
    mine = roots.above(first, site, ca)
    assert mine.key.public() == roots.above(second, site, ca).key.public()
    assert roots.order_key(first).public() == roots.order_key(second).public()
    others = [
        first, foreign, roots.above(foreign, site, ca), roots.above(first, SiteId.new(), ca),
        roots.above(first, site, new),  # the same site, joined anew
    ]  # fmt: skip
    leaf = mine.issue(PrivateKey.generate().csr("x"), identity.spiffe("site", site))
    assert mine.issued(leaf)
    assert not any(other.issued(leaf) for other in others)
    keys = [mine.key, roots.order_key(first), roots.order_key(foreign), *(o.key for o in others)]
    assert len({key.public() for key in keys}) == len(keys)
