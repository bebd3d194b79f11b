"""Leases that nobody can ask for."""

from penstock_contracts.ids import AllocationId, ProjectId

from .requests import LEASE, NAMES, Bad, absent, get


def lease(status: int, code: str, **changes: object) -> Bad:
    return Bad(status, code, "POST", "/v1/allocations", {**LEASE, **changes})


CASES: dict[str, Bad] = {
    "an unknown field": lease(422, "invalid", colour="red"),
    "gpus as text": lease(422, "invalid", gpus="2"),
    "gpus as truth": lease(422, "invalid", gpus=True),
    "gpus as fraction": lease(422, "invalid", gpus=1.5),
    "gpus as a list": lease(422, "invalid", gpus=[1]),
    "no gpus": lease(422, "invalid", gpus=0),
    "fewer than none": lease(422, "invalid", gpus=-1),
    "a huge count": lease(422, "invalid", gpus=10**30),
    "a count that the SKU lacks": lease(422, "impossible_count", gpus=3),
    "nodes as text": lease(422, "invalid", nodes="2"),
    "no nodes": lease(422, "invalid", nodes=0),
    "more nodes than a gang may have": lease(422, "invalid", nodes=257),
    "several nodes of a SKU of slices": lease(422, "not_whole_nodes", gpus=1, nodes=2),
    "an unknown SKU": lease(422, "unknown_sku", sku="h900"),
    "an unknown site": lease(422, "unknown_site", site="nowhere"),
    "an unknown project": lease(404, "not_found", project="nothing"),
    "an absent project id": lease(404, "not_found", project=absent(ProjectId)),
    "a project with NUL": lease(422, "invalid", project="a\x00"),
    "a project with a line": lease(422, "invalid", project="main\n"),
    "a project that is null": lease(422, "invalid", project=None),
    **{f"residency by {tag!r}": lease(422, "invalid", residency=[tag]) for tag in NAMES},
    "residency as text": lease(422, "invalid", residency="eu"),
    "a tag twice": lease(422, "invalid", residency=["eu", "eu"]),
    "33 tags": lease(422, "invalid", residency=[f"t{n}" for n in range(33)]),
    "a strategy of luck": lease(422, "invalid", strategy="luck"),
    "a ceiling below free": lease(422, "invalid", price_micros_max=-1),
    "a ceiling beyond price": lease(422, "invalid", price_micros_max=2**70),
    "apart from nothing known": lease(
        422, "unknown_allocation", apart_from=[absent(AllocationId)]
    ),
    "apart from NUL": lease(422, "invalid", apart_from=["a\x00"]),
    "apart from 33": lease(422, "invalid", apart_from=[absent(AllocationId)] * 33),
    "release of nothing": Bad(
        404, "not_found", "POST", f"/v1/allocations/{absent(AllocationId)}/release"
    ),
    "an unknown parameter of a lease": Bad(
        422, "invalid", "POST", "/v1/allocations?dry=1", LEASE
    ),
    "waiting for no time": lease(422, "invalid", queue=True, queue_for_s=0),
    "waiting for years": lease(422, "invalid", queue=True, queue_for_s=10_000_000),
    "waiting, perhaps": lease(422, "invalid", queue="yes"),
    "a negative priority": lease(422, "invalid", priority=-1),
    "a priority beyond all": lease(422, "invalid", priority=101),
    "an end that has passed": lease(422, "invalid", ends_at="2020-01-01T00:00:00Z"),
    "an end without a time zone": lease(422, "invalid", ends_at="2999-01-01T00:00:00"),
    "an end that is no time": lease(422, "invalid", ends_at="soon"),
    "status as a banana": get(422, "invalid", "/v1/allocations?status=banana"),
}  # fmt: skip
