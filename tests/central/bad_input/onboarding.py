"""Pools, files, templates and networks that no tenant can come with."""

from penstock_contracts.ids import OnboardingId, PoolId, TemplateId, TenantId

from .requests import LOOKALIKES, NAMES, Bad, absent, change, get, platform

POOL = {"name": "x", "kind": "vlan", "first": 1, "last": 9}
FILE = {"tenant": "x", "admin": {"email": "ada@acme.example"}}


def pool(kind: str, first: int, last: int) -> Bad:
    body = {"name": "x", "kind": kind, "first": first, "last": last}
    return change("POST", "/v1/pools", 422, "pool_out_of_bounds", **body)


def file(**changes: object) -> Bad:
    return platform("/v1/onboardings", **{**FILE, **changes})


CASES: dict[str, Bad] = {
    **{f"a pool named {name!r}": platform("/v1/pools", **{**POOL, "name": name})
       for name in (*NAMES, *LOOKALIKES)},
    "a pool of no kind": platform("/v1/pools", **{**POOL, "kind": "vxlan"}),
    "a pool below nothing": platform("/v1/pools", **{**POOL, "first": -1}),
    "a pool from fractions": platform("/v1/pools", **{**POOL, "first": 1.5}),
    "a pool without an end": platform("/v1/pools", name="x", kind="vlan", first=1),
    "a pool without anything": platform("/v1/pools", name="x", kind="vlan"),
    "a pool with both": platform("/v1/pools", **POOL, prefix="10.0.0.0/8"),
    "a pool at no site": change("POST", "/v1/pools", 422, "unknown_site", **POOL, site="nowhere"),
    "VLAN 0": pool("vlan", 0, 9),
    "VLAN 4095": pool("vlan", 1, 4095),
    "VNI 0": pool("vni", 0, 9),
    "VNI 2**24": pool("vni", 1, 2**24),
    "partition key 0": pool("pkey", 0, 9),
    "the default partition": pool("pkey", 1, 0x7FFF),
    "a full partition key": pool("pkey", 0x8001, 0x8009),
    "VRF 0": pool("vrf", 0, 9),
    "a pool that ends before it begins": pool("vlan", 9, 8),
    "addresses as numbers": pool("ipv4", 1, 2),
    **{f"the prefix {prefix!r}": change("POST", "/v1/pools", 422, "pool_out_of_bounds", name="x",
                                        kind="ipv4", prefix=prefix)
       for prefix in ("10.0.0.1/8", "10.0.0.0/33", "10.0.0", "fd00::/48", "::/200", "1/2/3")},
    **{f"the prefix {prefix!r}": platform("/v1/pools", name="x", kind="ipv4", prefix=prefix)
       for prefix in ("", "ten", "10.0.0.0/8\n", "1" * 44)},
    **{f"a tenant onboarded as {name[:20]!r}": file(tenant=name) for name in (*NAMES, *LOOKALIKES)},
    **{f"a project onboarded as {name[:20]!r}": file(organizations=[
        {"name": "o", "projects": [{"name": name}]}]) for name in (*NAMES, *LOOKALIKES)},
    **{f"the first admin {email[:20]!r}": file(admin={"email": email}) for email in (
        "", "ada", "@acme.example", "ada@", "ada@acme", "a da@acme.example", "ada@acme.example\n",
        "ada@\u0430cme.example", "\u202eada@acme.example", f"{'a' * 10_000}@acme.example")},
    "no admin": platform("/v1/onboardings", tenant="x"),
    "a file with an unknown key": file(colour="red"),
    "a file with an unknown key inside": file(networks=[{"vlan": 2}]),
    "a file with a limit below nothing": file(quotas=[{"gpus_max": -1}]),
    "a file with a limit twice": file(quotas=[{"gpus_max": 1}, {"gpus_max": 2}]),
    "a file with a spend limit twice": file(
        quotas=[{"spend_micros_max": 1, "currency": "USD"}] * 2),
    **{f"a file with {value!r} of {name}": file(quotas=[{name: value}])
       for name in ("clusters_max", "volumes_bytes_max") for value in (-1, 10**30, "2TiB", 1.5)},
    "a file with clusters and volumes in one": file(
        quotas=[{"clusters_max": 1, "volumes_bytes_max": 1}]),
    "a file with a limit on volumes twice": file(
        quotas=[{"volumes_bytes_max": 1}, {"volumes_bytes_max": 2}]),
    "a template with more bytes than JSON keeps exact": change(
        "PUT", "/v1/templates/x", quotas=[{"volumes_bytes_max": 2**53}]),
    "a file with a limit on nothing": file(quotas=[{"family": "h100"}]),
    "a file with VLANs of a project": file(organizations=[
        {"name": "o", "projects": [{"name": "p", "quotas": [{"vlans_max": 1}]}]}]),
    "a file with VLANs of an organization": file(organizations=[
        {"name": "o", "quotas": [{"vlans_max": 1}]}]),
    "a file with an organization twice": file(organizations=[{"name": "o"}, {"name": "o"}]),
    "a file with a project in two": file(organizations=[
        {"name": name, "projects": [{"name": "p"}]} for name in ("a", "b")]),
    "a file with two networks everywhere": file(networks=[{"vlans": 1}, {"vlans": 2}]),
    "a file with VLANs as text": file(networks=[{"vlans": "2"}]),
    "a file with no VLAN": file(networks=[{"vlans": 0}]),
    "a file with 257 VLANs": file(networks=[{"vlans": 257}]),
    "a file with a /33": file(networks=[{"ipv4": [33]}]),
    "a file with 300 organizations": file(organizations=[{"name": f"o{n}"} for n in range(300)]),
    "a template of a site and sites": change("PUT", "/v1/templates/x", 422, "unknown_site",
                                             site="nowhere", sites=["nowhere"]),
    "a template with an unknown SKU": change("PUT", "/v1/templates/x", 422, "unknown_sku",
                                             skus=["h900"]),
    "a template for an unknown family": change(
        "PUT", "/v1/templates/x", 422, "unknown_family",
        quotas=[{"family": "h900", "gpus_max": 1}]),
    "a template with a bad name": change("PUT", "/v1/templates/NO"),
    "an image that is none": change("PUT", "/v1/templates/x", images=["a b"]),
    "nothing more": platform(f"/v1/tenants/{absent(TenantId)}/network"),
    "fewer VLANs": platform(f"/v1/tenants/{absent(TenantId)}/network", vlans=-1),
    "a network for nobody": change("POST", f"/v1/tenants/{absent(TenantId)}/network", 404,
                                   "not_found", vlans=1),
    "no such pool": get(404, "not_found", f"/v1/pools/{absent(PoolId)}", "platform"),
    "no such template": get(404, "not_found", f"/v1/templates/{absent(TemplateId)}", "platform"),
    "no such onboarding": get(404, "not_found", f"/v1/onboardings/{absent(OnboardingId)}",
                              "platform"),
}  # fmt: skip
