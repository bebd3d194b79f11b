"""Central is killed as it places a gang, or gives one back: all of it happened, or nothing did."""

import asyncio
from pathlib import Path
from typing import Final

import httpx2
import pytest

from penstock.placement.model import Shape

from . import callers, proofs
from .callers import Scene
from .stage import SKU

pytestmark = pytest.mark.anyio

GANG: Final = {"project": "main", "sku": SKU[Shape.BAREMETAL], "nodes": 2}
KEY: Final = {"Idempotency-Key": "gang"}


async def killed(
    scene: Scene, point: str, path: str, body: object = None, headers: dict[str, str] | None = None
) -> None:
    """Ask, and have central die at this place meanwhile; then it runs again."""
    scene.arm(point, "kill")
    async with scene.client() as client:
        with pytest.raises(httpx2.TransportError):
            await client.post(path, json=body, headers=headers)
    assert scene.replica.process is not None
    async with asyncio.timeout(30):
        await scene.replica.process.wait()
    await scene.replica.start()


async def desired(scene: Scene) -> list[str]:
    rows = await scene.stage.database.fetch("SELECT desired FROM allocations ORDER BY id")
    return [row["desired"] for row in rows]


@pytest.mark.parametrize(("moment", "members"), [("before_commit", 0), ("after_commit", 2)])
async def test_a_gang_is_there_whole_or_not_at_all(
    central_url: str, tmp_path: Path, moment: str, members: int
) -> None:
    async with callers.central(central_url, tmp_path) as scene:
        await killed(scene, f"central.placement.{moment}", "/v1/allocations", GANG, KEY)
        assert len(await desired(scene)) == members
        async with scene.client() as client:
            lease = (await client.post("/v1/allocations", json=GANG, headers=KEY)).json()
            assert [m["status"] for m in lease["members"]] == ["placed", "placed"]
        assert len(await desired(scene)) == 2, "the same key gives the same gang"
        await killed(
            scene, "central.release.begun", f"/v1/allocations/{lease['members'][1]['id']}/release"
        )
        assert await desired(scene) == ["active", "active"]
        async with scene.client() as client:
            released = await client.post(f"/v1/allocations/{lease['id']}/release")
        assert released.json()["status"] == "releasing"
        assert await desired(scene) == ["released", "released"]
        for member in lease["members"]:
            order = await scene.stage.order(member["id"])
            node = scene.stage.nodes[order.node_id]
            made = (proofs.make(proofs.GOOD, order, at, node) for at in range(len(order.slots)))
            await scene.stage.report(proofs.report(order, [proof for proof in made if proof]))
        assert await scene.stage.violations() == {}
        async with scene.client() as client:
            again = await client.post("/v1/allocations", json=GANG)
            assert again.status_code == 201, "its nodes can be leased again"
