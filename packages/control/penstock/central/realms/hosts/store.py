"""All SQL that touches the tables of hosted realms."""

from collections.abc import Sequence
from datetime import datetime

import asyncpg

from penstock.central.access import grants
from penstock.central.realms.hosts.model import Guest, HostedRealm, State
from penstock.kernel.db import Tx
from penstock_contracts.drivers.realm import Hosted
from penstock_contracts.ids import InvitationId, TenantId, UserId

COLUMNS = """
    h.tenant_id, r.name, h.provider, h.issuer, h.keys_url, h.welcome_url, h.desired, h.actual,
    h.revision, h.refused, h.fault, h.failures, h.retry_at
"""
# All that decides about a token but its signature, in one round trip.
FACTS = f"""
    SELECT h.tenant_id, now() AS now, h.keys_url, r.suspended_at IS NOT NULL AS suspended,
        u.id AS user_id, u.role, u.disabled_at IS NULL AS enabled, {grants.sql("u.id")} AS grants
    FROM hosted_realms h JOIN realms r ON r.tenant_id = h.tenant_id
    LEFT JOIN hosted_identities i ON i.tenant_id = h.tenant_id AND i.subject = $2
    LEFT JOIN users u ON u.id = i.user_id AND u.tenant_id = h.tenant_id
    WHERE h.issuer = $1 AND h.desired <> 'removed' AND h.actual <> 'none'
"""


def _hosted(row: asyncpg.Record, guest: Guest | None = None) -> HostedRealm:
    there = row["issuer"] is not None
    return HostedRealm(
        tenant_id=TenantId(row["tenant_id"]),
        name=row["name"],
        provider=row["provider"],
        desired=State(row["desired"]),
        actual=State(row["actual"]),
        revision=row["revision"],
        hosted=Hosted(row["issuer"], row["keys_url"], row["welcome_url"]) if there else None,
        refused=row["refused"],
        fault=row["fault"],
        failures=row["failures"],
        retry_at=row["retry_at"],
        guest=guest,
    )


async def add(tx: Tx, realm: HostedRealm) -> None:
    await tx.execute(
        """
        INSERT INTO hosted_realms (tenant_id, provider, desired, actual, revision)
        VALUES ($1, $2, $3, $4, $5)
        """,
        realm.tenant_id,
        realm.provider,
        realm.desired,
        realm.actual,
        realm.revision,
    )


async def find(tx: Tx, tenant_id: TenantId, *, lock: bool = False) -> HostedRealm | None:
    row = await tx.fetchrow(
        f"""
        SELECT {COLUMNS} FROM hosted_realms h JOIN realms r USING (tenant_id)
        WHERE h.tenant_id = $1 {"FOR UPDATE OF h" if lock else ""}
        """,
        tenant_id,
    )
    return _hosted(row) if row else None


async def save(tx: Tx, realm: HostedRealm) -> None:
    """Of one whose row is locked."""
    there = realm.hosted
    await tx.execute(
        """
        UPDATE hosted_realms SET issuer = $2, keys_url = $3, welcome_url = $4, desired = $5,
            actual = $6, revision = $7, refused = $8, fault = $9, failures = $10, retry_at = $11
        WHERE tenant_id = $1
        """,
        realm.tenant_id,
        there.issuer if there else None,
        there.keys_url if there else None,
        there.welcome_url if there else None,
        realm.desired,
        realm.actual,
        realm.revision,
        realm.refused,
        realm.fault,
        realm.failures,
        realm.retry_at,
    )


async def next_of(tx: Tx, providers: Sequence[str]) -> HostedRealm | None:
    """One that is not as it shall be, or that someone is invited to, and may be tried now."""
    row = await tx.fetchrow(
        f"""
        SELECT {COLUMNS}, i.id AS guest_id, i.email AS guest_email
        FROM hosted_realms h JOIN realms r USING (tenant_id)
        LEFT JOIN LATERAL (
            SELECT i.id, i.email FROM invitations i
            WHERE i.tenant_id = h.tenant_id AND i.accepted_at IS NULL AND i.expires_at > $1
                AND NOT EXISTS (SELECT FROM hosted_invitations c WHERE c.invitation_id = i.id)
            ORDER BY i.id LIMIT 1) i ON h.actual = 'open'
        WHERE h.provider = ANY($2) AND NOT h.refused AND (h.retry_at IS NULL OR h.retry_at <= $1)
            AND (h.desired <> h.actual OR i.id IS NOT NULL)
        ORDER BY h.retry_at NULLS FIRST, h.tenant_id LIMIT 1
        """,
        tx.now,
        list(providers),
    )
    if row is None:
        return None
    guest = Guest(InvitationId(row["guest_id"]), row["guest_email"]) if row["guest_id"] else None
    return _hosted(row, guest)


async def retry_at(tx: Tx, providers: Sequence[str]) -> datetime | None:
    at: datetime | None = await tx.fetchval(
        "SELECT min(retry_at) FROM hosted_realms WHERE provider = ANY($1) AND NOT refused",
        list(providers),
    )
    return at


async def carried(tx: Tx, tenant_id: TenantId, guest: Guest) -> None:
    await tx.execute(
        """
        INSERT INTO hosted_invitations (invitation_id, tenant_id, carried_at) VALUES ($1, $2, $3)
        ON CONFLICT DO NOTHING
        """,
        guest.id,
        tenant_id,
        tx.now,
    )


async def is_carried(tx: Tx, tenant_id: TenantId, email: str) -> bool:
    """Nobody with this address waits for the provider to know of them."""
    done: bool = await tx.fetchval(
        """
        SELECT NOT EXISTS (SELECT FROM invitations i
            WHERE i.tenant_id = $1 AND i.email = $2 AND i.accepted_at IS NULL AND i.expires_at > $3
            AND NOT EXISTS (SELECT FROM hosted_invitations c WHERE c.invitation_id = i.id))
        """,
        tenant_id,
        email,
        tx.now,
    )
    return done


async def link(tx: Tx, tenant_id: TenantId, subject: str, user_id: UserId) -> bool:
    """False if another request of theirs did, just now."""
    linked = await tx.execute(
        """
        INSERT INTO hosted_identities (tenant_id, subject, user_id, linked_at)
        VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
        """,
        tenant_id,
        subject,
        user_id,
        tx.now,
    )
    return linked > 0
