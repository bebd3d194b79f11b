"""All SQL that touches the balances, credits and debits tables."""

from collections.abc import Sequence

from penstock.central.balances.model import Balance, Credit
from penstock.kernel.db import Record, Tx
from penstock.kernel.questions import Question
from penstock_contracts.ids import AllocationId, TenantId


def balances(tx: Tx, tenant_ids: Sequence[TenantId]) -> Question[list[Balance]]:
    """Of those tenants that have one, as of the transaction's time."""
    return Question(
        """
        SELECT (b.tenant_id, b.currency, b.credited_micros - (
                SELECT coalesce(sum(debited_micros), 0) FROM debits d
                WHERE d.tenant_id = b.tenant_id),
            (SELECT coalesce(sum(cost_micros(
                    lower(u.during), $2, u.gpus, u.price_micros_per_gpu_hour)), 0)
                FROM usage_segments u
                WHERE u.tenant_id = b.tenant_id AND upper_inf(u.during)),
            (SELECT coalesce(sum(a.gpus * a.price_micros_per_gpu_hour), 0) FROM allocations a
                WHERE a.tenant_id = b.tenant_id AND a.freed_at IS NULL AND a.node_id IS NOT NULL
                AND (a.desired = 'active' OR a.observed = 'active')))::balance_line
        FROM balances b WHERE b.tenant_id = ANY($1)
        """,
        (tenant_ids, tx.now),
        lambda rows: [_balance(row) for row in rows],
    )


def _balance(row: Record) -> Balance:
    return Balance(
        TenantId(row["tenant_id"]), row["currency"], row["balance"], row["accrued"], row["burn"]
    )


async def add_credit(tx: Tx, credit: Credit) -> None:
    """Into the tenant's balance, which its first credit opens. The currency must be its own."""
    await tx.execute(
        """
        INSERT INTO balances AS b (tenant_id, currency, credited_micros) VALUES ($1, $2, $3)
        ON CONFLICT (tenant_id)
        DO UPDATE SET credited_micros = b.credited_micros + excluded.credited_micros
        """,
        credit.tenant_id,
        credit.currency,
        credit.amount_micros,
    )
    await tx.execute(
        """
        INSERT INTO credits
            (id, tenant_id, amount_micros, currency, reason, created_by, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        credit.id,
        credit.tenant_id,
        credit.amount_micros,
        credit.currency,
        credit.reason,
        credit.created_by,
        credit.created_at,
    )


async def currencies_held(tx: Tx, tenant_id: TenantId) -> set[str]:
    """The currencies of the tenant's leases that are not over."""
    rows = await tx.fetch(
        "SELECT DISTINCT currency FROM allocations WHERE tenant_id = $1 AND freed_at IS NULL",
        tenant_id,
    )
    return {row["currency"] for row in rows}


async def debit(tx: Tx, id: AllocationId, micros: int, currency: str) -> bool:
    """Whether it was taken: only from a balance, and only in its currency."""
    taken = await tx.execute(
        """
        INSERT INTO debits AS d (tenant_id, site_id, debited_micros)
        SELECT b.tenant_id, a.site_id, $2 FROM allocations a JOIN balances b USING (tenant_id)
        WHERE a.id = $1 AND b.currency = $3
        ON CONFLICT (tenant_id, site_id)
        DO UPDATE SET debited_micros = d.debited_micros + excluded.debited_micros
        """,
        id,
        micros,
        currency,
    )
    return taken > 0


async def adjust(tx: Tx, id: AllocationId, micros: int) -> None:
    """Of a debit that was made: an insert of what is returned would be refused as negative."""
    await tx.execute(
        """
        UPDATE debits d SET debited_micros = d.debited_micros + $2
        FROM allocations a
        WHERE a.id = $1 AND (d.tenant_id, d.site_id) = (a.tenant_id, a.site_id)
        """,
        id,
        micros,
    )
