"""What may be done to a site. The caller owns the transaction."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from penstock.central import fleet
from penstock.central.access.authorization import (
    Resource,
    authorize,
    authorize_fleet,
    authorize_list,
)
from penstock.central.sites import roots, store
from penstock.central.sites.model import Site, server_name
from penstock.kernel import audit, db, events, feed, wakeups
from penstock.kernel.actor import Actor
from penstock.kernel.authority import Authority
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Forbidden
from penstock_contracts import join
from penstock_contracts.ids import SiteId, TokenId
from penstock_contracts.join import JoinToken
from penstock_contracts.wire_pb2 import NodeToken, SiteDescribed, SiteOrder

TOKEN_LIFE: Final = timedelta(hours=24)
MISSING: Final = "sites.missing"  # who waits for this is told when a site is not connected


@dataclass(frozen=True)
class IssuedToken:
    id: TokenId
    text: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True)
class Trust:
    """How those who join can reach and recognize central."""

    join_address: str
    server_name: str
    root: Authority = field(repr=False)


def orders(id: SiteId) -> str:
    """The feed of orders to a site."""
    return f"site:{id}"


async def create(
    tx: Tx, actor: Actor, *, name: str, auto_approve: bool, tags: tuple[str, ...] = ()
) -> Site:
    authorize(actor, "site.create", Resource("site"))
    site = Site(
        SiteId.new(), name, auto_approve, None, None, "", "", False, None, False, tags, tx.now
    )
    await store.add(tx, site)
    audit.record(tx, actor, "site.create", site.id, name=name, auto_approve=auto_approve, tags=tags)
    events.emit(tx, "site.created", site.id, name=name)
    return site


async def get(tx: Tx, actor: Actor, reference: str) -> Site:
    return await _permitted(tx, actor, "site.view", reference)


async def _permitted(tx: Tx, actor: Actor, action: str, reference: str) -> Site:
    authorize_fleet(actor, "site", reference)
    site = await store.get(tx, reference)
    authorize(actor, action, Resource("site", reference, site_id=site.id))
    return site


async def names(tx: Tx) -> dict[SiteId, str]:
    """By id, for answers that name only sites which their reader may know."""
    return await store.names(tx)


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Site]:
    return await store.page(tx, authorize_list(actor, "site"), after, limit)


async def tag(tx: Tx, actor: Actor, reference: str, tags: tuple[str, ...]) -> Site:
    """Say what is true of the site, and so of each of its nodes."""
    await _permitted(tx, actor, "site.update", reference)
    await fleet.lock(tx)
    site = await store.get(tx, reference)
    if site.tags == tags:
        return site
    await store.set_tags(tx, site.id, tags)
    await fleet.changed_at(tx, site.id)
    audit.record(tx, actor, "site.update", site.id, tags=tags, before={"tags": site.tags})
    events.emit(tx, "site.updated", site.id, tags=tags)
    return replace(site, tags=tags)


async def describe(tx: Tx, id: SiteId, report: SiteDescribed) -> None:
    """Where nodes join it, as the site itself says."""
    # A site's row comes after the fleet's lock, which the next report may need.
    await fleet.lock(tx)
    await store.describe(
        tx, id, join_address=report.join_address[:200], version=report.version[:50]
    )
    events.emit(tx, "site.described", id, version=report.version[:50])


async def connected(tx: Tx, id: SiteId, public_key: bytes, session: str) -> None:
    """Its link is up. Forbidden if it is not enrolled with this key, or not any more."""
    site = await store.get(tx, id)
    if site.public_key != public_key:
        raise Forbidden("this key is not the one that the site is enrolled with")
    await fleet.lock(tx)
    if await store.connect(tx, id, session):
        await fleet.changed_at(tx, id)
    events.emit(tx, "site.connected", id, name=site.name)


async def disconnected(tx: Tx, id: SiteId, session: str) -> None:
    if await store.disconnect(tx, id, session):
        events.emit(tx, "site.disconnected", id)
        wakeups.notify(tx, MISSING)


async def forget_connections(tx: Tx, replica: str) -> None:
    """Connections that died with the process that served them."""
    await store.disconnect_all(tx, replica)
    wakeups.notify(tx, MISSING)


async def create_token(tx: Tx, actor: Actor, reference: str, trust: Trust) -> IssuedToken:
    """A permission for one control plane to become this site."""
    site = await _permitted(tx, actor, "site.join", reference)
    secret = join.new_secret()
    token = JoinToken(
        TokenId.new(), secret, trust.join_address, trust.server_name, trust.root.der,
        roots.order_key(trust.root).public(),
    )  # fmt: skip
    expires_at = tx.now + TOKEN_LIFE
    await store.add_token(tx, token.id, site.id, join.hash_secret(secret), expires_at)
    audit.record(tx, actor, "site.token_create", site.id, token=token.id)
    return IssuedToken(token.id, token.encode(), expires_at)


async def create_node_tokens(
    tx: Tx, actor: Actor, reference: str, count: int, trust: Trust
) -> list[IssuedToken]:
    """Permissions for nodes to join."""
    site = await _permitted(tx, actor, "site.join", reference)
    issued = [issue_node_token(tx, site, trust) for _ in range(count)]
    audit.record(tx, actor, "site.node_tokens_create", site.id, count=count)
    return issued


def issue_node_token(
    tx: Tx, site: Site, trust: Trust, *, name: str = "", rejoins: str = ""
) -> IssuedToken:
    """A permission for one node to join: for any, for one of this name, or for this node to come
    back. The site learns its hash, and checks it itself."""
    if not site.join_address or site.public_key is None or site.ca_public_key is None:
        raise Conflict(
            f"site {site.name!r} has not connected yet, so no node can join it",
            code="site_not_connected",
            suggestion="start the site with its own join token first",
        )
    expires_at = tx.now + TOKEN_LIFE
    root = roots.above(trust.root, site.id, site.ca_public_key)
    secret = join.new_secret()
    token = JoinToken(
        TokenId.new(), secret, site.join_address, server_name(site.id), root.der, site.public_key,
        rejoins,
    )  # fmt: skip
    permission = NodeToken(
        token_id=token.id,
        secret_sha256=join.hash_secret(secret),
        expires_at_us=db.to_us(expires_at),
        name=name,
        rejoins=rejoins,
    )
    order = SiteOrder(site_id=site.id, node_token=permission)
    feed.append(tx, orders(site.id), order.SerializeToString())
    return IssuedToken(token.id, token.encode(), expires_at)
