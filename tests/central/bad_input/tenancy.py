"""Projects, organizations, keys, groups and credits that cannot be."""

from penstock_contracts.ids import GroupId, OrganizationId, ProjectId, SiteId, SkuId, TenantId

from .requests import ADDRESSES, NAMES, UNSEEN, Bad, absent, get, platform

CREDIT = {"amount_micros": 1, "currency": "USD", "reason": "paid"}


def credit(**changes: object) -> Bad:
    return platform(f"/v1/tenants/{absent(TenantId)}/credits", **{**CREDIT, **changes})


CASES: dict[str, Bad] = {
    "a name taken": Bad(409, "name_taken", "POST", "/v1/projects", {"name": "main"}),
    "a tenant's name taken": Bad(
        409, "name_taken", "POST", "/v1/tenants", {"name": "acme"}, caller="platform"
    ),
    **{f"a project named {name!r}": Bad(422, "invalid", "POST", "/v1/projects", {"name": name})
       for name in NAMES},
    **{f"an invitation for {address!r}"[:90]: Bad(
        422, "invalid", "POST", "/v1/users/invite", {"email": address}) for address in ADDRESSES},
    **{f"a credit because of {text!r}": credit(reason=text) for text in UNSEEN},
    **{f"a tenant named as {kind.prefix} ids are": platform("/v1/tenants", name=absent(kind))
       for kind in (TenantId, ProjectId)},
    **{f"{noun} named as ids are": Bad(
        422, "invalid", "POST", f"/v1/{noun}s", {"name": absent(kind)})
       for noun, kind in {
           "project": ProjectId, "organization": OrganizationId, "group": GroupId,
           "service-account": TenantId,
       }.items()},
    "a site named as ids are": platform("/v1/sites", name=absent(SiteId)),
    "a SKU named as ids are": platform(
        "/v1/skus", name=absent(SkuId), shape="gpu_slice", family="h100", gpu_counts=[1],
        price_micros_per_gpu_hour=1,
    ),
    "a template named as ids are": Bad(
        422, "invalid", "PUT", f"/v1/templates/{absent(TenantId)}", {}, caller="platform"
    ),
    "a pool named as ids are": platform(
        "/v1/pools", name=absent(TenantId), kind="vni", first=1, last=9
    ),
    "a tenant onboarded with an id for a name": platform(
        "/v1/onboardings", tenant=absent(TenantId), admin={"email": "a@b.example"}
    ),
    "a project for nobody": platform("/v1/projects", name="x"),
    "a project for an absent tenant": Bad(
        404, "not_found", "POST", "/v1/projects",
        {"name": "x", "tenant": absent(TenantId)}, caller="platform",
    ),
    "a tenant with a limit": platform("/v1/tenants", name="x", gpu_limit=1),
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
    "a key of no role": platform(f"/v1/tenants/{absent(TenantId)}/keys", name="x", role="god"),
    "a platform key for a tenant": platform(
        f"/v1/tenants/{absent(TenantId)}/keys", name="x", role="platform_admin"
    ),
    "no such group": Bad(404, "not_found", "DELETE", f"/v1/groups/{absent(GroupId)}"),
    "a group with NUL": Bad(422, "invalid", "DELETE", "/v1/groups/%00"),
}  # fmt: skip
