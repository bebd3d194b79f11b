"""A fleet of two sites with tags, for tests of policy over HTTP."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from . import stand_in_site
from .conftest import catalog
from .plane import Answer, Api, Central, Json, Tenant
from .stand_in_site import Node, StandInSite


@dataclass(frozen=True)
class Fleet:
    """At `eu` two nodes of 8 H100s; at `us` one of them, and one of 4 L40S."""

    central: Central
    tenant: Tenant
    eu: StandInSite
    us: StandInSite
    ids: dict[str, str]  # nodes by name

    async def ask(self, api: Api | None = None, **terms: object) -> Answer:
        asked = {"project": "main", "sku": "h100.slice", "gpus": 1, **terms}
        return await (api or self.tenant.member).post("/v1/allocations", **asked)

    async def placed(self, api: Api | None = None, **terms: object) -> str:
        """The name of the node that it went to."""
        answer = await self.ask(api, **terms)
        assert answer.status == 201, answer.json
        return next(name for name, id in self.ids.items() if id == answer.json["node"])

    async def refused(self, api: Api | None = None, **terms: object) -> Json:
        """The explanation; `rejections` only of rules that removed something."""
        answer = await self.ask(api, **terms)
        assert (answer.status, answer.code) == (409, "sku_unavailable"), answer.json
        told: Json = answer.json["explanation"]
        told["rejections"] = {rule: n for rule, n in told["rejections"].items() if n}
        return told

    async def policy(self, **policy: object) -> Json:
        path = f"/v1/tenants/{self.tenant.id}/placement"
        return (await self.platform("PUT", path, **policy)).json

    async def node(self, name: str, **changes: object) -> Json:
        return (await self.platform("PATCH", f"/v1/nodes/{self.ids[name]}", **changes)).json

    async def platform(self, method: str, path: str, **body: object) -> Answer:
        answer = await self.central.platform.send(method, path, json=body)
        assert answer.status == 200, answer.json
        return answer


@asynccontextmanager
async def staged(central: Central, tenant: Tenant, folder: Path) -> AsyncGenerator[Fleet, None]:
    async with (
        stand_in_site.connected(central, folder / "eu", "eu", tags=["eu", "country:de"]) as eu,
        stand_in_site.connected(central, folder / "us", "us", tags=["us"]) as us,
    ):
        nodes = {
            "eu-1": await eu.add(Node("eu-1")),
            "eu-2": await eu.add(Node("eu-2")),
            "us-1": await us.add(Node("us-1")),
            "us-l40s": await us.add(Node("us-l40s", 4, "l40s")),
        }
        await catalog(central)
        await central.platform.made(
            "/v1/skus", name="l40s.slice", shape="gpu_slice", family="l40s", gpu_counts=[1],
            price_micros_per_gpu_hour=1,
        )  # fmt: skip
        ids = {name: str(node.id) for name, node in nodes.items()}
        yield Fleet(central, tenant, eu, us, ids)
