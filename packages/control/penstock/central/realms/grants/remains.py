"""All SQL that deletes codes, device codes, refresh tokens and revoked tokens that ran out.

Rows that somebody holds are left for the next time. The database allows no more than this: see
the policies `ran_out`.
"""

from datetime import timedelta
from typing import Final

from penstock.kernel.db import Tx

# For a while a program that asks too late is told that its code ran out, not that there is none.
DEVICE_KEPT: Final = timedelta(minutes=10)
REVOKED_KEPT: Final = timedelta(minutes=1)
OVER: Final = """
    NOT EXISTS (SELECT FROM sessions s
        WHERE s.id = session_id AND s.ended_at IS NULL AND s.expires_at >= now())
"""


async def forget_devices(tx: Tx, limit: int) -> int:
    return await tx.execute(
        """
        DELETE FROM device_codes WHERE hash IN (
            SELECT hash FROM device_codes WHERE expires_at < $1
            ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
        """,
        tx.now - DEVICE_KEPT,
        limit,
    )


async def forget_codes(tx: Tx, limit: int) -> int:
    """A used one is kept while its session lives: it ends that, if it comes again."""
    return await tx.execute(
        f"""
        DELETE FROM authorization_codes WHERE hash IN (
            SELECT hash FROM authorization_codes c WHERE c.expires_at < $1 AND {OVER}
            ORDER BY c.expires_at LIMIT $2 FOR UPDATE OF c SKIP LOCKED)
        """,  # noqa: S608 # no value is in it
        tx.now,
        limit,
    )


async def forget_refresh_tokens(tx: Tx, limit: int) -> int:
    """Also spent ones are kept while their session lives, for the same reason."""
    return await tx.execute(
        """
        DELETE FROM refresh_tokens WHERE hash IN (
            SELECT r.hash FROM sessions s JOIN refresh_tokens r ON r.session_id = s.id
            WHERE least(s.expires_at, s.ended_at) < $1
            LIMIT $2 FOR UPDATE OF r SKIP LOCKED)
        """,
        tx.now,
        limit,
    )


async def forget_revoked(tx: Tx, limit: int) -> int:
    """A token that ran out is refused whether it was revoked or not."""
    return await tx.execute(
        """
        DELETE FROM revoked_tokens WHERE (tenant_id, jti) IN (
            SELECT tenant_id, jti FROM revoked_tokens WHERE expires_at < $1
            ORDER BY expires_at LIMIT $2)
        """,
        tx.now - REVOKED_KEPT,
        limit,
    )
