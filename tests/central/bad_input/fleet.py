"""Sites, nodes, SKUs, policies, availability and plans that make no sense."""

from typing import Any

from penstock_contracts.ids import NodeId, SiteId, TenantId

from .requests import Bad, absent, change, get, platform

SKU = {
    "name": "new", "shape": "gpu_slice", "family": "h100", "gpu_counts": [1],
    "price_micros_per_gpu_hour": 1,
}  # fmt: skip


def policy(status: int = 422, code: str = "invalid", **body: object) -> Bad:
    return change("PUT", f"/v1/tenants/{absent(TenantId)}/placement", status, code, **body)


CASES: dict[str, Bad] = {
    "a site's name taken": Bad(
        409, "name_taken", "POST", "/v1/sites", {"name": "site-a"}, caller="platform"
    ),
    "a SKU's name taken": Bad(
        409, "name_taken", "POST", "/v1/skus", {**SKU, "name": "h100.slice"}, caller="platform"
    ),
    "a SKU of no shape": platform("/v1/skus", **{**SKU, "shape": "sphere"}),
    "a SKU with no counts": platform("/v1/skus", **{**SKU, "gpu_counts": []}),
    "a SKU with a count twice": platform("/v1/skus", **{**SKU, "gpu_counts": [1, 1]}),
    "a SKU with zero GPUs": platform("/v1/skus", **{**SKU, "gpu_counts": [0]}),
    "a SKU below free": platform("/v1/skus", **{**SKU, "price_micros_per_gpu_hour": -1}),
    "a SKU beyond price": platform("/v1/skus", **{**SKU, "price_micros_per_gpu_hour": 2**70}),
    "a SKU in shells": platform("/v1/skus", **{**SKU, "currency": "shells"}),
    "a site with a tag in capitals": platform("/v1/sites", name="x", tags=["EU"]),
    "a site change of nothing": change("PATCH", f"/v1/sites/{absent(SiteId)}"),
    "an absent site's tags": change(
        "PATCH", f"/v1/sites/{absent(SiteId)}", 404, "not_found", tags=["eu"]
    ),
    "a node's price below free": change(
        "PATCH", f"/v1/nodes/{absent(NodeId)}", price_micros_per_gpu_hour=-1
    ),
    "a node's tags as null": change("PATCH", f"/v1/nodes/{absent(NodeId)}", tags=None),
    "a node's leaf with a line": change("PATCH", f"/v1/nodes/{absent(NodeId)}", leaf="a\n"),
    "an unknown field of a node": change("PATCH", f"/v1/nodes/{absent(NodeId)}", family="b300"),
    "an absent node's tags": change(
        "PATCH", f"/v1/nodes/{absent(NodeId)}", 404, "not_found", tags=["eu"]
    ),
    **{
        f"a policy with {said}": policy(**body) for said, body in dict[str, dict[str, Any]]({
            "no site": {"sites": []}, "a site twice": {"sites": ["a", "a"]},
            "no family": {"families": []}, "a family in capitals": {"families": ["H100"]},
            "65 families": {"families": [f"f{n}" for n in range(65)]},
            "a strategy of luck": {"strategy": "luck"}, "a colour": {"colour": "red"},
            "a ceiling below free": {"price_micros_max": -1},
            "a ceiling of truth": {"price_micros_max": True},
            "residency as null": {"residency": None},
            "no weight": {"weight": 0}, "too much weight": {"weight": 1001},
        }).items()
    },
    "a policy for nobody": policy(404, "not_found", sites=["nowhere"]),
    "no node tokens": platform(f"/v1/sites/{absent(SiteId)}/node-tokens", count=0),
    "too many node tokens": platform(f"/v1/sites/{absent(SiteId)}/node-tokens", count=10_001),
    "a drain reason with NUL": platform(f"/v1/nodes/{absent(NodeId)}/drain", reason="a\x00"),
    "a drain reason too long": platform(f"/v1/nodes/{absent(NodeId)}/drain", reason="a" * 501),
    "availability of an unknown SKU": get(422, "unknown_sku", "/v1/availability?sku=h900"),
    "availability at an unknown site": get(422, "unknown_site", "/v1/availability?site=nowhere"),
    **{
        f"availability with {query!r}": get(422, "invalid", f"/v1/availability?{query}")
        for query in ("sku=", "sku=%00", "site=%00", "site=A%20B", "sku=" + "a" * 65, "gpus=1")
    },
    **{
        f"a plan with {query!r}": get(422, code, f"/v1/defragmentation?{query}", caller="platform")
        for query, code in (
            ("", "invalid"), ("family=h100", "invalid"), ("site=site-a", "invalid"),
            ("family=h100&site=site-a&gpus=0", "invalid"),
            ("family=h100&site=site-a&gpus=65", "invalid"),
            ("family=h100&site=site-a&gpus=two", "invalid"),
            ("family=h100&site=site-a&move=now", "invalid"),
            ("family=h100%00&site=site-a", "invalid"),
            ("family=h100&site=site-a&gpus=9", "impossible_count"),
            ("family=h900&site=site-a", "unknown_family"),
            ("family=h100&site=nowhere", "unknown_site"),
        )
    },
    "a plan to be carried out": Bad(
        405, "method_not_allowed", "POST", "/v1/defragmentation", caller="platform"
    ),
}  # fmt: skip
