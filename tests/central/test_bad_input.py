"""Whatever is sent, the answer is a problem+json with a stable code, and nothing changed."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from penstock.local.postgres import EmbeddedPostgres
from penstock_contracts.ids import (
    AllocationId,
    Id,
    NodeId,
    OnboardingId,
    PoolId,
    ProjectId,
    SiteId,
    SlotId,
    TemplateId,
    TenantId,
)

from . import plane, stand_in_site
from .conftest import catalog
from .plane import Api, Central, Tenant

pytestmark = pytest.mark.anyio

LEASE = {"project": "main", "sku": "h100.slice", "gpus": 1}
CREDIT = {"amount_micros": 1, "currency": "USD", "reason": "paid"}


def absent(kind: type[Id]) -> str:
    """An id of nothing, the same in every run."""
    return f"{kind.prefix}_{'0' * 26}"


@dataclass(frozen=True)
class Bad:
    """A request that must be refused with this status and code."""

    status: int
    code: str
    method: str
    path: str
    body: Any = None
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    caller: str = "admin"


def lease(status: int, code: str, **changes: object) -> Bad:
    return Bad(status, code, "POST", "/v1/allocations", {**LEASE, **changes})


def raw(status: int, code: str, body: bytes, **headers: str) -> Bad:
    typed = {
        "Content-Type": "application/json",
        **{k.replace("_", "-"): headers[k] for k in headers},
    }
    return Bad(status, code, "POST", "/v1/projects", raw=body, headers=typed)


def platform(path: str, **body: object) -> Bad:
    return Bad(422, "invalid", "POST", path, body, caller="platform")


def change(method: str, path: str, status: int = 422, code: str = "invalid", **body: object) -> Bad:
    return Bad(status, code, method, path, body, caller="platform")


def policy(status: int = 422, code: str = "invalid", **body: object) -> Bad:
    return change("PUT", f"/v1/tenants/{absent(TenantId)}/placement", status, code, **body)


def quota(status: int, code: str, **body: object) -> Bad:
    return Bad(status, code, "PUT", "/v1/quotas", body, caller="platform")


def credit(**changes: object) -> Bad:
    return platform(f"/v1/tenants/{absent(TenantId)}/credits", **{**CREDIT, **changes})


def get(status: int, code: str, path: str, caller: str = "admin", **headers: str) -> Bad:
    named = {name.replace("_", "-"): headers[name] for name in headers}
    return Bad(status, code, "GET", path, headers=named, caller=caller)


SKU = {
    "name": "new", "shape": "gpu_slice", "family": "h100", "gpu_counts": [1],
    "price_micros_per_gpu_hour": 1,
}  # fmt: skip
NAMES = (
    "",
    "UPPER",
    "with space",
    "-dash",
    "dash-",
    "a" * 64,
    "a\x00b",
    "a\n",
    "naïve",
    "a/b",
    "\u202e",
)

# Of other alphabets, or of two in one; invisible; much too long.
LOOKALIKES = ("\u0430cme", "acm\u0435", "\u03b1cme", "a\u200bcme", "ac\u0301me", "x" * 10_000)
POOL = {"name": "x", "kind": "vlan", "first": 1, "last": 9}
FILE = {"tenant": "x", "admin": {"email": "ada@acme.example"}}


def pool(kind: str, first: int, last: int) -> Bad:
    body = {"name": "x", "kind": kind, "first": first, "last": last}
    return change("POST", "/v1/pools", 422, "pool_out_of_bounds", **body)


def file(**changes: object) -> Bad:
    return platform("/v1/onboardings", **{**FILE, **changes})


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
    "an unknown SKU": lease(422, "unknown_sku", sku="h900"),
    "an unknown site": lease(422, "unknown_site", site="nowhere"),
    "an unknown project": lease(404, "not_found", project="nothing"),
    "an absent project id": lease(404, "not_found", project=absent(ProjectId)),
    "a project with NUL": lease(422, "invalid", project="a\x00"),
    "a project with a line": lease(422, "invalid", project="main\n"),
    "a project that is null": lease(422, "invalid", project=None),
    "no body": Bad(422, "invalid", "POST", "/v1/allocations"),
    "a list for a body": raw(422, "invalid", b"[1]"),
    "text for a body": raw(422, "invalid", b'"name"'),
    "null for a body": raw(422, "invalid", b"null"),
    "broken JSON": raw(422, "invalid", b'{"name": '),
    "not UTF-8": raw(400, "bad_request", b'{"name": "\xff\xfe"}'),
    "too deep": raw(400, "bad_request", b"[" * 60_000),
    "an integer of 50,000 digits": raw(400, "bad_request", b'{"name": ' + b"9" * 50_000 + b"}"),
    "NaN": raw(422, "invalid", b'{"name": NaN}'),
    "a lone surrogate": raw(422, "invalid", b'{"name": "\\ud800"}'),
    "a lone surrogate for a field": raw(422, "invalid", b'{"name": "ok", "\\ud800": 1}'),
    "a field named NUL": raw(422, "invalid", b'{"name": "ok", "\\u0000": 1}'),
    "a wrong content type": raw(422, "invalid", b"name=x", Content_Type="text/plain"),
    "a form": raw(422, "invalid", b"name=x", Content_Type="application/x-www-form-urlencoded"),
    "too large": raw(413, "too_large", b'{"name": "' + b"x" * 70_000 + b'"}'),
    "an empty key": raw(422, "invalid", b'{"name": "ok"}', Idempotency_Key=""),
    "a key with a space": raw(422, "invalid", b'{"name": "ok"}', Idempotency_Key="a b"),
    "a key of 201": raw(422, "invalid", b'{"name": "ok"}', Idempotency_Key="k" * 201),
    "a bad key for a lease": Bad(
        422, "invalid", "POST", "/v1/allocations", LEASE, headers={"Idempotency-Key": "a b"}
    ),
    "a name taken": Bad(409, "name_taken", "POST", "/v1/projects", {"name": "main"}),
    "a tenant's name taken": Bad(
        409, "name_taken", "POST", "/v1/tenants", {"name": "acme"}, caller="platform"
    ),
    "a site's name taken": Bad(
        409, "name_taken", "POST", "/v1/sites", {"name": "site-a"}, caller="platform"
    ),
    "a SKU's name taken": Bad(
        409, "name_taken", "POST", "/v1/skus", {**SKU, "name": "h100.slice"}, caller="platform"
    ),
    **{f"a project named {name!r}": raw(422, "invalid", json.dumps({"name": name}).encode())
       for name in NAMES},
    "a project for nobody": platform("/v1/projects", name="x"),
    "a project for an absent tenant": Bad(
        404, "not_found", "POST", "/v1/projects",
        {"name": "x", "tenant": absent(TenantId)}, caller="platform",
    ),
    "a tenant with a limit": platform("/v1/tenants", name="x", gpu_limit=1),
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
       for name in ("gpus_max", "nodes_max", "vlans_max")
       for value in (-1, 2**63, 2**64, 1_000_001, 0.5, "1", None, True)},
    **{f"{value!r} to spend": quota(
        422, "invalid", tenant=absent(TenantId), spend_micros_max=value, currency="USD")
       for value in (-1, 2**63, 10**15 + 1, 0.5, "1", True)},
    **{f"to spend in {value!r}": quota(
        422, "invalid", tenant=absent(TenantId), spend_micros_max=1, currency=value)
       for value in (None, "", "usd", "USDT", "US\n", "\u20ac")},
    "two limits in one": quota(422, "invalid", project="main", gpus_max=1, nodes_max=1),
    "nodes of a family": quota(422, "invalid", project="main", family="h100", nodes_max=1),
    "GPUs in a currency": quota(422, "invalid", project="main", gpus_max=1, currency="USD"),
    "a limit on clusters": quota(422, "invalid", project="main", clusters_max=1),
    "remove a limit on clusters": Bad(
        422, "invalid", "DELETE", "/v1/quotas?project=main&kind=clusters"),
    "remove a limit on money of no currency": Bad(
        422, "invalid", "DELETE", "/v1/quotas?project=main&kind=spend"),
    "remove a limit on nodes of a family": Bad(
        422, "invalid", "DELETE", "/v1/quotas?project=main&kind=nodes&family=h100"),
    "quotas of nobody": get(422, "invalid", "/v1/quotas", caller="platform"),
    "quotas of two": get(422, "invalid", "/v1/quotas?project=main&organization=default"),
    "quotas of an absent project": get(404, "not_found", "/v1/quotas?project=no"),
    "no such limit": Bad(404, "not_found", "DELETE", "/v1/quotas?organization=no"),
    "an organization's name taken": Bad(
        409, "name_taken", "POST", "/v1/organizations", {"name": "default"}
    ),
    "an organization for nobody": platform("/v1/organizations", name="x"),
    "a project in no organization": Bad(
        422, "unknown_organization", "POST", "/v1/projects", {"name": "x", "organization": "no"}
    ),
    "a credit of nothing": credit(amount_micros=0),
    "a negative credit": credit(amount_micros=-1),
    "a credit in fractions": credit(amount_micros=0.5),
    "a credit beyond all": credit(amount_micros=10**16),
    "a credit in shells": credit(currency="shells"),
    "a credit for no reason": credit(reason=""),
    "a credit for nobody": Bad(
        404, "not_found", "POST", f"/v1/tenants/{absent(TenantId)}/credits", CREDIT,
        caller="platform",
    ),
    "no such balance": get(404, "not_found", f"/v1/tenants/{absent(TenantId)}/balance"),
    "a SKU of no shape": platform("/v1/skus", **{**SKU, "shape": "sphere"}),
    "a SKU with no counts": platform("/v1/skus", **{**SKU, "gpu_counts": []}),
    "a SKU with a count twice": platform("/v1/skus", **{**SKU, "gpu_counts": [1, 1]}),
    "a SKU with zero GPUs": platform("/v1/skus", **{**SKU, "gpu_counts": [0]}),
    "a SKU below free": platform("/v1/skus", **{**SKU, "price_micros_per_gpu_hour": -1}),
    "a SKU beyond price": platform("/v1/skus", **{**SKU, "price_micros_per_gpu_hour": 2**70}),
    "a SKU in shells": platform("/v1/skus", **{**SKU, "currency": "shells"}),
    "a key of no role": platform(f"/v1/tenants/{absent(TenantId)}/keys", name="x", role="god"),
    "a platform key for a tenant": platform(
        f"/v1/tenants/{absent(TenantId)}/keys", name="x", role="platform_admin"
    ),
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
        }).items()
    },
    "a policy for nobody": policy(404, "not_found", sites=["nowhere"]),
    "no node tokens": platform(f"/v1/sites/{absent(SiteId)}/node-tokens", count=0),
    "too many node tokens": platform(f"/v1/sites/{absent(SiteId)}/node-tokens", count=10_001),
    "a drain reason with NUL": platform(f"/v1/nodes/{absent(NodeId)}/drain", reason="a\x00"),
    "a drain reason too long": platform(f"/v1/nodes/{absent(NodeId)}/drain", reason="a" * 501),
    **{
        f"no such {path}": get(404, "not_found", path, caller="platform")
        for path in (
            f"/v1/allocations/{absent(AllocationId)}", "/v1/allocations/alloc_nope",
            f"/v1/allocations/{absent(NodeId)}", f"/v1/allocations/{absent(AllocationId)}/timeline",
            f"/v1/allocations/{absent(AllocationId)}/receipt", f"/v1/nodes/{absent(NodeId)}",
            f"/v1/nodes/{absent(NodeId)}/slots", f"/v1/slots/{absent(SlotId)}", "/v1/sites/nowhere",
            "/v1/skus/nothing", "/v1/projects/nothing", "/v1/organizations/nothing",
            f"/v1/tenants/{absent(TenantId)}",
            "/v1/allocations/%F0%9F%92%A9", "/v1/allocations/%FF%FE",
            "/v1/allocations/" + "x" * 5000, "/v1/allocations/..%2F..%2Fetc",
            "/v1/allocations/'%20OR%201=1--", "/v1/nothing", "/v2/allocations",
            "/v1/nodes/%22", "/v1/nodes/%5C",
        )
    },
    **{
        f"NUL in {path}": get(422, "invalid", path, caller="platform")
        for path in (
            "/v1/allocations/%00", "/v1/skus/%00", "/v1/projects/%00", "/v1/tenants/%00",
            "/v1/nodes/%00", "/v1/slots/%00", "/v1/sites/%00", "/v1/organizations/%00",
            "/v1/quotas?project=%00", "/v1/tenants/%00/balance",
            "/v1/allocations?project=%00", "/v1/nodes?site=%00", "/v1/usage?allocation=%00",
            "/v1/allocations?cursor=AA==",
        )
    },
    "release of nothing": Bad(
        404, "not_found", "POST", f"/v1/allocations/{absent(AllocationId)}/release"
    ),
    "a wrong method": Bad(405, "method_not_allowed", "DELETE", "/v1/projects"),
    "an unknown parameter": get(422, "invalid", "/v1/allocations?colour=red"),
    "an unknown parameter of a lease": Bad(
        422, "invalid", "POST", "/v1/allocations?dry=1", LEASE
    ),
    "a cursor that is none": get(422, "invalid", "/v1/allocations?cursor=%21%21"),
    "a cursor that is not ASCII": get(422, "invalid", "/v1/allocations?cursor=_____w=="),
    "a cursor too long": get(422, "invalid", "/v1/allocations?cursor=" + "A" * 201),
    "a page of none": get(422, "invalid", "/v1/allocations?limit=0"),
    "a page of all": get(422, "invalid", "/v1/allocations?limit=501"),
    "a page of many": get(422, "invalid", "/v1/allocations?limit=ten"),
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
    "waiting for no time": lease(422, "invalid", queue=True, queue_for_s=0),
    "waiting for years": lease(422, "invalid", queue=True, queue_for_s=10_000_000),
    "waiting, perhaps": lease(422, "invalid", queue="yes"),
    "a negative priority": lease(422, "invalid", priority=-1),
    "a priority beyond all": lease(422, "invalid", priority=101),
    "an end that has passed": lease(422, "invalid", ends_at="2020-01-01T00:00:00Z"),
    "an end without a time zone": lease(422, "invalid", ends_at="2999-01-01T00:00:00"),
    "an end that is no time": lease(422, "invalid", ends_at="soon"),
    "status as a banana": get(422, "invalid", "/v1/allocations?status=banana"),
    "an event id that is none": get(422, "invalid", "/v1/events", Last_Event_ID="x"),
    "a negative event id": get(422, "invalid", "/v1/events", Last_Event_ID="-1"),
    "an event id beyond all": get(422, "invalid", "/v1/events", Last_Event_ID="9" * 19),
    "an event id in other digits": get(422, "invalid", "/v1/events", Last_Event_ID="\u00b2"),
    "an unknown parameter of events": get(422, "invalid", "/v1/events?after=1"),
    "no token": get(401, "unauthenticated", "/v1/me", caller="nobody"),
    "no token for a lease": Bad(
        401, "unauthenticated", "POST", "/v1/allocations", LEASE, caller="nobody"
    ),
    **{
        f"the token {token[:20]!r}": get(
            401, "unauthenticated", "/v1/me", caller="nobody", Authorization=token
        )
        for token in (
            "Bearer", "Bearer nope", "Basic YTpi", "bearer  x", "Bearer " + "x" * 300,
            "Bearer \u00e9", f"Bearer {plane.TOKEN}x", f"Bearer {plane.TOKEN[:-1]}", plane.TOKEN,
        )
    },
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


@dataclass(frozen=True)
class Stage:
    central: Central
    tenant: Tenant

    def caller(self, name: str) -> Api:
        if name == "platform":
            return self.central.platform
        if name == "nobody":
            return self.central.caller(None)
        return self.tenant.apis[name]


@pytest.fixture(scope="module")
async def stage(
    server: EmbeddedPostgres, templates: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Stage, None]:
    """One central for all cases: since none may change anything, they cannot meet."""
    folder: Path = tmp_path_factory.mktemp("bad-input")
    url = server.create_database("bad_input", template=templates["central"])
    async with (
        plane.running(url, folder / "central") as central,
        stand_in_site.connected(central, folder / "site", nodes=1),
    ):
        await catalog(central)
        yield Stage(central, await central.tenant("acme"))
    server.drop_database("bad_input")


async def census(central: Central) -> dict[str, int]:
    """How many rows each table has, and where the logs stand."""
    tables = await central.rows(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    )
    names = [row["tablename"] for row in tables if row["tablename"] != "schema_migrations"]
    counts = {name: await central.value(f'SELECT count(*) FROM "{name}"') for name in names}
    # That somebody was denied something is told a little later.
    told = "SELECT count(*) FROM audit_entries WHERE action <> 'access.denied'"
    counts["audit_entries"] = await central.value(told)
    counts["heads"] = await central.value("SELECT sum(seq) FROM feed_heads")
    return counts


async def send(api: Api, bad: Bad) -> plane.Answer:
    arguments: dict[str, Any] = {"headers": {k: v.encode() for k, v in bad.headers.items()}}
    if bad.raw is not None:
        arguments["content"] = bad.raw
    elif bad.body is not None:
        arguments["json"] = bad.body
    return await api.send(bad.method, bad.path, **arguments)


@pytest.mark.parametrize("name", CASES)
async def test_it_is_refused_and_nothing_changed(stage: Stage, name: str) -> None:
    bad = CASES[name]
    before = await census(stage.central)
    answer = await send(stage.caller(bad.caller), bad)
    assert answer.status == bad.status, answer.raw
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json
    assert (problem["code"], problem["status"]) == (bad.code, bad.status)
    assert problem["type"] == f"urn:penstock:problem:{bad.code}"
    assert problem["detail"]
    assert problem["correlation_id"] == answer.headers["x-correlation-id"]
    assert await census(stage.central) == before


async def test_a_foreign_id_within_a_request_is_answered_as_an_absent_one(stage: Stage) -> None:
    """R18, in what is sent along (test_existence has every path)."""
    central, mine = stage.central, stage.tenant
    theirs = await central.tenant("globex")
    lease = await theirs.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    for body in ({"project": theirs.project}, {"project": str(ProjectId.new())}):
        answer = await mine.member.post("/v1/allocations", **{**LEASE, **body})
        assert (answer.status, answer.code) == (404, "not_found")
        assert answer.json["detail"] == f"there is no project {body['project']!r}"
    for id in (lease["id"], str(AllocationId.new())):
        answer = await mine.member.post("/v1/allocations", **LEASE, apart_from=[id])
        assert (answer.status, answer.code) == (422, "unknown_allocation")
        assert answer.json["detail"] == f"apart_from: there is no allocation {id!r}"
    unseen = (await mine.admin.get("/v1/allocations", project=theirs.project)).items
    assert unseen == []
    assert (await theirs.viewer.get(f"/v1/allocations/{lease['id']}")).json["desired"] == "active"


async def test_a_correlation_id_is_kept_if_it_is_plain_and_replaced_if_not(stage: Stage) -> None:
    kept = await stage.tenant.viewer.send("GET", "/v1/me", headers={"X-Correlation-Id": "mine-1"})
    assert kept.headers["x-correlation-id"] == "mine-1"
    for odd in ("a b", "x" * 65, "\u00e9"):
        headers = {"X-Correlation-Id": odd.encode()}
        answer = await stage.tenant.viewer.send("GET", "/v1/me", headers=headers)
        assert answer.status == 200
        assert answer.headers["x-correlation-id"] not in (odd, "")
