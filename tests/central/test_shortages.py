"""A database that is short of something: every operation says so, with 503, and what to do."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import pytest

from penstock.local.postgres import EmbeddedPostgres

from . import plane, realm_stage, roles_stage
from .plane import Answer, Central, Json, Tenant
from .roles_stage import ROLES, Stage
from .roles_table import TABLE, Row
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio

# What Postgres says when it cannot write, said by Postgres itself at each write.
REFUSE: Final = """
CREATE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '{state}';
END $$;
DO $$ DECLARE name regclass; BEGIN
    FOR name IN SELECT oid FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
    LOOP
        EXECUTE format('CREATE TRIGGER refuse_write BEFORE INSERT OR UPDATE OR DELETE ON %s '
            'FOR EACH STATEMENT EXECUTE FUNCTION refuse_write()', name);
    END LOOP;
END $$;
"""
# As the stage is, there is nothing for them to change.
WRITES_NOTHING: Final = {
    "POST /v1/nodes/{node}/approve",
    "POST /v1/slots/{slot}/approve",
    "POST /v1/nodes/{node}/undrain",
    "POST /v1/service-accounts/{account}/enable",
    "POST /v1/tenants/{tenant}/resume",
    "POST /v1/tenants/{gone}/offboard",
}


@asynccontextmanager
async def refusing(url: str, state: str) -> AsyncGenerator[None, None]:
    await plane.as_superuser(url, REFUSE.format(state=state))
    try:
        yield
    finally:
        await plane.as_superuser(url, "DROP FUNCTION refuse_write CASCADE")


def check(answer: Answer, code: str) -> None:
    assert (answer.status, answer.code) == (503, code), answer.raw
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["retry-after"]) > 0


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("53100", "disk_full"),
        ("53200", "out_of_memory"),
        ("53400", "insufficient_resources"),
        ("25006", "read_only"),
    ],
)
async def test_create_release_and_the_rest_say_what_is_short_and_go_on_afterwards(
    central: Central, site: StandInSite, tenant: Tenant, state: str, code: str
) -> None:
    lease = {"project": "main", "sku": "h100.slice", "gpus": 1}
    held = await tenant.member.made("/v1/allocations", **lease)
    async with refusing(central.settings.database_url, state):
        for answer in (
            await tenant.member.post("/v1/allocations", **lease),
            await tenant.member.post(f"/v1/allocations/{held['id']}/release"),
            await tenant.admin.post("/v1/projects", name="more"),
        ):
            check(answer, code)
    await tenant.member.made("/v1/allocations", **lease)
    await tenant.member.made(f"/v1/allocations/{held['id']}/release")


async def test_a_realms_doors_say_it_too(central: Central, tenant: Tenant) -> None:
    path = "/realms/acme/device_authorization"
    form = {"client_id": realm_stage.CLI, "scope": "openid"}
    nobody = central.caller(None)
    async with refusing(central.settings.database_url, "53100"):
        check(await nobody.send("POST", path, data=form), "disk_full")
    assert (await nobody.send("POST", path, data=form)).status == 200


async def test_every_operation_that_writes_says_it(
    server: EmbeddedPostgres, templates: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("short")
    async with roles_stage.set_up(server, templates["central"], folder) as stage:
        await roles_stage.renew(stage)
        async with refusing(stage.central.settings.database_url, "53100"):
            said = {
                name: await _ask(stage, name, row)
                for name, row in TABLE.items()
                if not name.startswith("GET ") and _may(row)
            }
    assert len(said) > 30
    wrong = {name: status for name, status in said.items() if status != 503}
    assert wrong.keys() <= WRITES_NOTHING, wrong
    assert set(wrong.values()) <= {200, 202}


def _may(row: Row) -> list[str]:
    """The roles that may do it."""
    return [role for role, status in zip(ROLES, row.own.split(), strict=True) if status < "300"]


async def _ask(stage: Stage, operation: str, row: Row) -> int:
    body: Json | None = row.body
    return await stage.ask(stage.own[_may(row)[0]], operation, row.query, body, "short")
