"""Limits that limit nothing, or that nobody has."""

from penstock_contracts.ids import TenantId

from .requests import Bad, absent, get


def quota(status: int, code: str, **body: object) -> Bad:
    return Bad(status, code, "PUT", "/v1/quotas", body, caller="platform")


CASES: dict[str, Bad] = {
    "a negative limit": quota(422, "invalid", tenant=absent(TenantId), gpus_max=-1),
    "a limit beyond all": quota(422, "invalid", tenant=absent(TenantId), gpus_max=2**63),
    "half a GPU": quota(422, "invalid", tenant=absent(TenantId), gpus_max=0.5),
    "no limit at all": quota(422, "invalid", tenant=absent(TenantId)),
    "a limit for nobody": quota(422, "invalid", gpus_max=1),
    "a limit for two": quota(422, "invalid", project="main", organization="default", gpus_max=1),
    "a limit for an absent tenant": quota(404, "not_found", tenant=absent(TenantId), gpus_max=1),
    "a limit for an absent organization": quota(404, "not_found", organization="no", gpus_max=1),
    "a limit for an absent project": quota(404, "not_found", project="no", gpus_max=1),
    "a limit on an unknown family": quota(
        422, "unknown_family", project="main", family="h900", gpus_max=1
    ),
    "a limit on no family": quota(422, "invalid", project="main", family="", gpus_max=1),
    **{f"{value!r} as {name}": quota(422, "invalid", tenant=absent(TenantId), **{name: value})
       for name in ("gpus_max", "nodes_max", "clusters_max", "vlans_max")
       for value in (-1, 2**63, 2**64, 10**30, 1_000_001, 0.5, "1", None, True)},
    **{f"{value!r} bytes of volumes": quota(
        422, "invalid", tenant=absent(TenantId), volumes_bytes_max=value)
       for value in (-1, 2**53, 2**63, 10**30, 0.5, 1e30, "1", "2TiB", "", None, True, [1])},
    **{f"{value!r} to spend": quota(
        422, "invalid", tenant=absent(TenantId), spend_micros_max=value, currency="USD")
       for value in (-1, 2**63, 10**15 + 1, 0.5, "1", True)},
    **{f"to spend in {value!r}": quota(
        422, "invalid", tenant=absent(TenantId), spend_micros_max=1, currency=value)
       for value in (None, "", "usd", "USDT", "US\n", "\u20ac")},
    "two limits in one": quota(422, "invalid", project="main", gpus_max=1, nodes_max=1),
    "nodes of a family": quota(422, "invalid", project="main", family="h100", nodes_max=1),
    "GPUs in a currency": quota(422, "invalid", project="main", gpus_max=1, currency="USD"),
    "clusters and volumes in one": quota(
        422, "invalid", project="main", clusters_max=1, volumes_bytes_max=1),
    "GPUs and volumes in one": quota(
        422, "invalid", project="main", gpus_max=1, volumes_bytes_max=1),
    **{f"{name} of a {part}": quota(422, "invalid", project="main", **{name: 1, part: value})
       for name in ("clusters_max", "volumes_bytes_max")
       for part, value in (("family", "h100"), ("currency", "USD"))},
    **{f"remove a limit on {kind} with {part}": Bad(
        422, "invalid", "DELETE", f"/v1/quotas?project=main&kind={kind}&{part}")
       for kind in ("clusters", "volumes") for part in ("family=h100", "currency=USD")},
    **{f"a limit on {name}": quota(422, "invalid", project="main", **{name: 1})
       for name in ("images_max", "volumes_max", "volumes_bytes")},
    "remove a limit on images": Bad(
        422, "invalid", "DELETE", "/v1/quotas?project=main&kind=images"),
    "remove a limit on money of no currency": Bad(
        422, "invalid", "DELETE", "/v1/quotas?project=main&kind=spend"),
    "remove a limit on nodes of a family": Bad(
        422, "invalid", "DELETE", "/v1/quotas?project=main&kind=nodes&family=h100"),
    "quotas of nobody": get(422, "invalid", "/v1/quotas", caller="platform"),
    "quotas of two": get(422, "invalid", "/v1/quotas?project=main&organization=default"),
    "quotas of an absent project": get(404, "not_found", "/v1/quotas?project=no"),
    "no such limit": Bad(404, "not_found", "DELETE", "/v1/quotas?organization=no"),
}  # fmt: skip
