"""Whose key was seen before is believed only as far as the batch that places it: there it is asked
for again, with everything else."""

from dataclasses import replace
from typing import Any

import pytest

from penstock.central.access import keys
from penstock.central.access.keys import Holders, NewKey
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Outcome, Placed
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Database
from penstock.kernel.errors import Problem, Unauthenticated

from . import fleet_stage
from .fleet_stage import Stage
from .plane import Api, Central, Json, Tenant, as_superuser
from .stand_in_site import StandInSite
from .waiting import until

pytestmark = pytest.mark.anyio

LEASE: dict[str, Any] = {"project": "main", "sku": "h100.slice", "gpus": 1}


async def make(stage: Stage, role: str, **fields: Any) -> NewKey:
    async with stage.database.transaction() as tx:
        return await keys.create(
            tx, SYSTEM, tenant_id=stage.tenant_id, name="k", role=role, **fields
        )


async def asked(stage: Stage, key: NewKey, role: str = "member") -> Outcome:
    """By somebody who was remembered with this role."""
    holders = Holders(stage.database)
    await holders.authenticate(key.token)
    held = holders.recall(key.token)
    assert held is not None
    ask = stage.ask(1, actor=replace(held.actor, role=role), credential=held.hash)
    (outcome,) = await Committer(stage.database).commit([ask])
    return outcome


async def test_it_is_by_whom_the_key_is_of_now(database: Database) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    member, viewer = await make(stage, "member"), await make(stage, "viewer")
    given = await asked(stage, member, role="viewer")
    assert isinstance(given, Placed)
    assert given.allocation.created_by == f"key:{member.id}"
    denied = await asked(stage, viewer, role="member")
    assert isinstance(denied, Problem)
    assert denied.code == "forbidden"


@pytest.mark.parametrize("end", ["revoked_at = now()", "expires_at = now()"])
async def test_one_that_ended_is_refused_and_others_in_its_batch_are_not(
    database: Database, central_url: str, end: str
) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    good, bad = await make(stage, "member"), await make(stage, "member")
    asks = [
        stage.ask(1, credential=keys.hash_token(key.token), correlation_id=key.id)
        for key in (bad, good, bad)
    ]
    await as_superuser(central_url, f"UPDATE api_keys SET {end} WHERE id = $1", bad.id)
    first, second, third = await Committer(database).commit([*asks])
    assert isinstance(first, Unauthenticated)
    assert isinstance(third, Unauthenticated)
    assert isinstance(second, Placed)
    assert second.allocation.created_by == f"key:{good.id}"


async def revoked(central: Central, tenant: Tenant) -> Api:
    """A key that leased, and was revoked then."""
    for _ in range(2):
        assert (await tenant.member.post("/v1/allocations", **LEASE)).status == 201
    own = (await tenant.member.get("/v1/me")).json["id"]
    await central.execute("UPDATE api_keys SET revoked_at = now() WHERE id = $1", own)
    return tenant.member


@pytest.mark.parametrize("wish", [LEASE, {**LEASE, "gpus": "many"}, {**LEASE, "sku": "nothing"}])
async def test_a_revoked_key_is_told_that_it_is_not_known_whatever_it_asks(
    central: Central, site: StandInSite, tenant: Tenant, wish: dict[str, Any]
) -> None:
    api = await revoked(central, tenant)
    before = await central.value("SELECT count(*) FROM allocations")
    refused = await api.post("/v1/allocations", **wish)
    assert (refused.status, refused.code) == (401, "unauthenticated")
    assert refused.json["detail"] == keys.UNKNOWN
    assert await central.value("SELECT count(*) FROM allocations") == before


async def test_what_is_refused_to_a_remembered_key_is_audited_as_its_own(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    own = (await tenant.viewer.get("/v1/me")).json["id"]
    for _ in range(2):
        assert (await tenant.viewer.post("/v1/allocations", **LEASE)).status == 403

    async def look() -> list[Json]:
        rows = await central.rows("SELECT * FROM audit_entries WHERE action = 'access.denied'")
        return rows if sum(row["detail"]["count"] for row in rows) == 2 else []

    denied = await until(central.settings.database_url, "audit", look)
    assert {row["actor"] for row in denied} == {f"key:{own}"}
