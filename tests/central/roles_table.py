"""What each role is answered by each operation: the table that test_roles walks.

Statuses are in the order of ROLES (platform admin, platform auditor, site operator, supplier,
admin, organization admin, project admin, member, viewer, finance), then of OTHERS (the same
from the site operator on, at another site or in another tenant). Those are programs, with keys;
people who signed in (USERS) are answered as programs of their role. Nobody at all: 401, always.
"""

from dataclasses import dataclass
from typing import Final

from .plane import Json


@dataclass(frozen=True)
class Row:
    own: str
    other: str
    body: Json | None = None
    query: str = ""
    renew: bool = False  # what it is done to is gone afterwards: each caller gets a new one
    users: str = ""  # where the signed-in (USERS) are answered otherwise than keys of their role
    goes_on: bool = False  # after its answer, so it is waited for


UNSEEN: Final = "404 404 404 404 404 404 404 404"
REFUSED: Final = "403 403 403 403 403 403 403 403"
ANYONE: Final = "200 200 200 200 200 200 200 200"

TABLE: Final[dict[str, Row]] = {
    "GET /v1/me": Row("200 200 200 200 200 200 200 200 200 200", ANYONE),
    "GET /v1/tenants": Row(
        "200 200 403 403 200 200 200 200 200 200", "403 403 200 200 200 200 200 200"
    ),
    "POST /v1/tenants": Row(
        "201 403 403 403 403 403 403 403 403 403", REFUSED, {"name": "new-{caller}"}
    ),
    "GET /v1/tenants/{tenant}": Row("200 200 404 404 200 200 200 200 200 200", UNSEEN),
    "GET /v1/tenants/{tenant}/placement": Row("200 200 404 404 200 200 200 200 200 403", UNSEEN),
    "PUT /v1/tenants/{tenant}/placement": Row(
        "200 403 404 404 403 403 403 403 403 403", UNSEEN, {"strategy": "spread"}
    ),
    "POST /v1/tenants/{tenant}/keys": Row(
        "201 403 404 404 201 403 403 403 403 403", UNSEEN, {"name": "k", "role": "viewer"}
    ),
    "GET /v1/tenants/{tenant}/timeline": Row("200 200 404 404 200 200 200 200 200 200", UNSEEN),
    "POST /v1/tenants/{tenant}/suspend": Row(
        "200 403 404 404 403 403 403 403 403 403", UNSEEN, {"reason": "unpaid"}
    ),
    "POST /v1/tenants/{tenant}/resume": Row(
        "200 403 404 404 403 403 403 403 403 403", UNSEEN, {"reason": "paid"}
    ),
    "POST /v1/tenants/{gone}/offboard": Row(
        "202 403 404 404 404 404 404 404 404 404", UNSEEN, {"reason": "left"}
    ),
    "GET /v1/tenants/{tenant}/network": Row("200 200 404 404 200 403 403 200 200 403", UNSEEN),
    "POST /v1/tenants/{tenant}/network": Row(
        "201 403 404 404 403 403 403 403 403 403", UNSEEN, {"vlans": 1}
    ),
    "GET /v1/onboardings": Row("200 200 403 403 403 403 403 403 403 403", REFUSED),
    "POST /v1/onboardings": Row(
        "202 403 403 403 403 403 403 403 403 403",
        REFUSED,
        {"tenant": "newcomer", "admin": {"email": "a@b.example"}},
        goes_on=True,
    ),
    "GET /v1/onboardings/{onboarding}": Row("200 200 404 404 404 404 404 404 404 404", UNSEEN),
    "GET /v1/onboardings/{onboarding}/timeline": Row(
        "200 200 404 404 404 404 404 404 404 404", UNSEEN
    ),
    "GET /v1/templates": Row("200 200 403 403 403 403 403 403 403 403", REFUSED),
    "GET /v1/templates/{template}": Row("200 200 404 404 404 404 404 404 404 404", UNSEEN),
    "PUT /v1/templates/{template}": Row(
        "200 403 403 403 403 403 403 403 403 403", REFUSED, {"strategy": "spread"}
    ),
    "GET /v1/pools": Row("200 200 403 403 403 403 403 403 403 403", REFUSED),
    "POST /v1/pools": Row(
        "201 403 403 403 403 403 403 403 403 403",
        REFUSED,
        {"name": "new", "kind": "vni", "first": 1, "last": 9},
    ),
    "GET /v1/pools/{pool}": Row("200 200 404 404 404 404 404 404 404 404", UNSEEN),
    "GET /v1/tenants/{tenant}/balance": Row("200 200 404 404 200 403 403 200 200 200", UNSEEN),
    "POST /v1/tenants/{tenant}/credits": Row(
        "201 403 404 404 403 403 403 403 403 403",
        UNSEEN,
        {"amount_micros": 10**9, "currency": "USD", "reason": "paid"},
    ),
    "GET /v1/organizations": Row(
        "200 200 403 403 200 200 200 200 200 403", "403 403 200 200 200 200 200 403"
    ),
    "POST /v1/organizations": Row(
        "201 403 404 404 201 403 403 403 403 403",
        UNSEEN,
        {"name": "new-{caller}", "tenant": "{tenant}"},
    ),
    "GET /v1/organizations/{organization}": Row("200 200 404 404 200 200 404 200 200 404", UNSEEN),
    "GET /v1/quotas": Row(
        "200 200 404 404 200 200 200 200 200 200", UNSEEN, query="?project={project}"
    ),
    "PUT /v1/quotas": Row(
        "200 403 404 404 200 200 403 403 403 403", UNSEEN, {"project": "{project}", "gpus_max": 100}
    ),
    "DELETE /v1/quotas": Row(
        "200 403 404 404 200 200 403 403 403 403", UNSEEN, query="?project={project}"
    ),
    "GET /v1/projects": Row(
        "200 200 403 403 200 200 200 200 200 403", "403 403 200 200 200 200 200 403"
    ),
    "POST /v1/projects": Row(
        "201 403 404 404 201 201 403 403 403 403",
        UNSEEN,
        {"name": "new-{caller}", "tenant": "{tenant}"},
    ),
    "GET /v1/projects/{project}": Row("200 200 404 404 200 200 200 200 200 404", UNSEEN),
    "GET /v1/skus": Row(
        "200 200 403 403 200 200 200 200 200 403", "403 403 200 200 200 200 200 403"
    ),
    "POST /v1/skus": Row(
        "201 403 403 403 403 403 403 403 403 403",
        REFUSED,
        {
            "name": "new-{caller}",
            "shape": "gpu_slice",
            "family": "h100",
            "gpu_counts": [1],
            "price_micros_per_gpu_hour": 1,
        },
    ),
    "GET /v1/skus/{sku}": Row(
        "200 200 403 403 200 200 200 200 200 403", "403 403 200 200 200 200 200 403"
    ),
    "GET /v1/sites": Row(
        "200 200 200 200 403 403 403 403 403 403", "200 200 403 403 403 403 403 403"
    ),
    "POST /v1/sites": Row(
        "201 403 403 403 403 403 403 403 403 403", REFUSED, {"name": "new-{caller}"}
    ),
    "GET /v1/sites/{site}": Row("200 200 200 200 404 404 404 404 404 404", UNSEEN),
    "PATCH /v1/sites/{site}": Row(
        "200 403 403 403 404 404 404 404 404 404", UNSEEN, {"tags": ["eu"]}
    ),
    "POST /v1/sites/{site}/token": Row("201 403 201 403 404 404 404 404 404 404", UNSEEN),
    "POST /v1/sites/{site}/node-tokens": Row(
        "201 403 201 403 404 404 404 404 404 404", UNSEEN, {"count": 1}
    ),
    "GET /v1/nodes": Row(
        "200 200 200 200 403 403 403 403 403 403", "200 200 403 403 403 403 403 403"
    ),
    "GET /v1/nodes/{node}": Row("200 200 200 200 404 404 404 404 404 404", UNSEEN),
    "PATCH /v1/nodes/{node}": Row(
        "200 403 200 403 404 404 404 404 404 404", UNSEEN, {"tags": ["fast"]}
    ),
    "GET /v1/nodes/{node}/slots": Row("200 200 200 200 404 404 404 404 404 404", UNSEEN),
    "POST /v1/nodes/{node}/drain": Row("200 403 200 403 404 404 404 404 404 404", UNSEEN),
    "POST /v1/nodes/{node}/undrain": Row("200 403 200 403 404 404 404 404 404 404", UNSEEN),
    "POST /v1/nodes/{node}/approve": Row("200 403 200 403 404 404 404 404 404 404", UNSEEN),
    "POST /v1/nodes/{node}/replace": Row("409 403 409 403 404 404 404 404 404 404", UNSEEN),
    "POST /v1/nodes/{node}/rejoin-token": Row("201 403 201 403 404 404 404 404 404 404", UNSEEN),
    "GET /v1/reenrolments": Row(
        "200 200 200 200 403 403 403 403 403 403", "200 200 403 403 403 403 403 403"
    ),
    "GET /v1/reenrolments/{reenrolment}": Row("200 200 200 200 404 404 404 404 404 404", UNSEEN),
    # Only the platform's own operators: it is what a site could not do by itself.
    "POST /v1/reenrolments/{reenrolment}/approve": Row(
        "409 403 403 403 404 404 404 404 404 404", UNSEEN, {"reason": "looks right"}
    ),
    "POST /v1/reenrolments/{reenrolment}/reject": Row(
        "200 403 403 403 404 404 404 404 404 404", UNSEEN, {"reason": "looks wrong"}
    ),
    "POST /v1/nodes/{spare}/retire": Row(
        "202 403 202 403 404 404 404 404 404 404", UNSEEN, {"reason": "it is old"}
    ),
    "GET /v1/slots/{slot}": Row("200 200 200 200 404 404 404 404 404 404", UNSEEN),
    "POST /v1/slots/{slot}/approve": Row("200 403 200 403 404 404 404 404 404 404", UNSEEN),
    "POST /v1/slots/{slot}/cleanup": Row("409 403 409 403 404 404 404 404 404 404", UNSEEN),
    "GET /v1/allocations": Row(
        "200 200 403 403 200 200 200 200 200 403", "403 403 200 200 200 200 200 403"
    ),
    "POST /v1/allocations": Row(
        "201 403 404 404 201 201 201 201 403 404",
        UNSEEN,
        {"project": "{project}", "sku": "h100.slice", "gpus": 1},
    ),
    "GET /v1/allocations/{allocation}": Row("200 200 404 404 200 200 200 200 200 404", UNSEEN),
    "GET /v1/allocations/{allocation}/timeline": Row(
        "200 200 404 404 200 200 200 200 200 404", UNSEEN
    ),
    "GET /v1/allocations/{allocation}/receipt": Row(
        "200 200 404 404 200 200 200 200 200 404", UNSEEN
    ),
    "GET /v1/allocations/{allocation}/receipt/replay": Row(
        "200 200 404 404 200 200 200 200 200 404", UNSEEN
    ),
    "POST /v1/allocations/{allocation}/abandon": Row(
        "409 403 404 404 403 403 403 403 403 404", UNSEEN, {"reason": "the node is gone"}
    ),
    "POST /v1/allocations/{allocation}/release": Row(
        "202 403 404 404 202 202 202 202 403 404", UNSEEN
    ),
    "GET /v1/audit": Row(
        "200 200 403 403 200 403 403 403 403 403", "403 403 200 403 403 403 403 403"
    ),
    "GET /v1/audit/lines": Row("200 200 403 403 403 403 403 403 403 403", REFUSED),
    "GET /v1/audit/verify": Row("200 200 403 403 403 403 403 403 403 403", REFUSED),
    "GET /v1/availability": Row(
        "200 200 403 403 200 200 200 200 200 403", "403 403 200 200 200 200 200 403"
    ),
    "GET /v1/defragmentation": Row(
        "200 200 403 403 403 403 403 403 403 403", REFUSED, query="?family=h100&site={site}"
    ),
    "GET /v1/usage": Row(
        "200 200 403 403 200 200 200 200 200 200", "403 403 200 200 200 200 200 200"
    ),
    "GET /v1/disputes": Row(
        "200 200 403 403 200 200 200 200 200 200", "403 403 200 200 200 200 200 200"
    ),
    "GET /v1/disputes/{dispute}": Row("200 200 404 404 200 200 200 200 200 200", UNSEEN),
    "POST /v1/disputes/{dispute}/settle": Row(
        "200 403 404 404 403 403 403 403 403 403", UNSEEN, {"reason": "asked them"}
    ),
    "GET /v1/events": Row(
        "200 200 403 403 200 403 403 200 200 403", "403 403 200 403 403 200 200 403"
    ),
    "GET /v1/invariants": Row("200 200 403 403 403 403 403 403 403 403", REFUSED),
    "GET /v1/loops": Row("200 200 403 403 403 403 403 403 403 403", REFUSED),
    "GET /v1/keys": Row("200 200 200 200 200 200 200 200 200 200", ANYONE),
    "POST /v1/keys": Row(
        "403 403 403 403 403 403 403 403 403 403", REFUSED, {"name": "mine"}, users="201 201 201"
    ),
    "POST /v1/keys/{key}/revoke": Row("200 403 404 404 200 404 404 403 403 404", UNSEEN),
    "GET /v1/users": Row(
        "200 200 403 403 200 403 403 200 200 403", "403 403 200 403 403 200 200 403"
    ),
    "POST /v1/users/invite": Row(
        "201 403 404 404 201 403 403 403 403 403",
        UNSEEN,
        {"email": "new-{caller}@acme.example", "tenant": "{tenant}"},
    ),
    "GET /v1/users/{user}": Row("200 200 404 404 200 404 404 200 200 404", UNSEEN),
    "PATCH /v1/users/{user}": Row(
        "200 403 404 404 200 404 404 403 403 404", UNSEEN, {"role": "viewer"}
    ),
    "POST /v1/users/{user}/disable": Row("200 403 404 404 200 404 404 403 403 404", UNSEEN),
    "POST /v1/users/{user}/enable": Row("200 403 404 404 200 404 404 403 403 404", UNSEEN),
    "POST /v1/users/{user}/reset": Row(
        "201 403 404 404 201 404 404 403 403 404", UNSEEN, {"second_factor": True}
    ),
    "GET /v1/sessions": Row("200 200 200 200 200 200 200 200 200 200", ANYONE),
    "POST /v1/sessions/{session}/revoke": Row("200 403 404 404 200 404 404 403 403 404", UNSEEN),
    "GET /v1/clients": Row(
        "200 200 403 403 200 403 403 200 200 403", "403 403 200 403 403 200 200 403"
    ),
    "POST /v1/clients": Row(
        "201 403 404 404 201 403 403 403 403 403",
        UNSEEN,
        {"name": "new-{caller}", "tenant": "{tenant}"},
    ),
    "GET /v1/clients/{client}": Row("200 200 404 404 200 404 404 200 200 404", UNSEEN),
    "POST /v1/clients/{client}/disable": Row("200 403 404 404 200 404 404 403 403 404", UNSEEN),
    "GET /v1/providers": Row(
        "200 200 403 403 200 403 403 200 200 403", "403 403 200 403 403 200 200 403"
    ),
    "POST /v1/providers": Row(
        "201 403 404 404 403 403 403 403 403 403",
        UNSEEN,
        {
            "name": "new-{caller}",
            "issuer": "https://idp.example",
            "client_id": "c",
            "client_secret": "s",
            "tenant": "{tenant}",
        },
    ),
    "POST /v1/providers/{provider}/disable": Row("200 403 404 404 200 404 404 403 403 404", UNSEEN),
    "POST /v1/realm/rotate": Row(
        "200 403 404 404 200 403 403 403 403 403", UNSEEN, {"tenant": "{tenant}"}
    ),
    "POST /v1/realm/suspend": Row(
        "200 403 404 404 404 404 404 404 404 404", UNSEEN, {"tenant": "{gone}", "reason": "stolen"}
    ),
    "POST /v1/realm/resume": Row(
        "200 403 404 404 403 403 403 403 403 403", UNSEEN, {"tenant": "{tenant}", "reason": "found"}
    ),
    "GET /v1/role-bindings": Row(
        "200 200 403 403 200 200 200 200 200 403", "403 403 200 200 200 200 200 403"
    ),
    "POST /v1/role-bindings": Row(
        "201 403 404 404 201 201 201 403 403 404",
        UNSEEN,
        {"subject": "{fresh}", "role": "viewer", "project": "{project}"},
        renew=True,
    ),
    "DELETE /v1/role-bindings/{binding}": Row(
        "200 403 404 404 200 200 200 403 403 404", UNSEEN, renew=True
    ),
    "GET /v1/groups": Row(
        "200 200 403 403 200 403 403 200 200 403", "403 403 200 403 403 200 200 403"
    ),
    "POST /v1/groups": Row(
        "201 403 404 404 201 403 403 403 403 403",
        UNSEEN,
        {"name": "new-{caller}", "tenant": "{tenant}"},
    ),
    "GET /v1/groups/{group}": Row("200 200 404 404 200 404 404 200 200 404", UNSEEN),
    "DELETE /v1/groups/{team}": Row("200 403 404 404 200 404 404 403 403 404", UNSEEN, renew=True),
    "POST /v1/groups/{group}/members": Row(
        "200 403 404 404 200 404 404 403 403 404", UNSEEN, {"member": "{account}"}
    ),
    "DELETE /v1/groups/{group}/members/{account}": Row(
        "200 403 404 404 200 404 404 403 403 404", UNSEEN
    ),
    "GET /v1/service-accounts": Row(
        "200 200 403 403 200 403 403 200 200 403", "403 403 200 403 403 200 200 403"
    ),
    "POST /v1/service-accounts": Row(
        "201 403 404 404 201 403 403 403 403 403",
        UNSEEN,
        {"name": "new-{caller}", "tenant": "{tenant}"},
    ),
    "POST /v1/service-accounts/{account}/keys": Row(
        "201 403 404 404 201 404 404 403 403 404", UNSEEN, {"name": "k"}
    ),
    "POST /v1/service-accounts/{account}/disable": Row(
        "200 403 404 404 200 404 404 403 403 404", UNSEEN
    ),
    "POST /v1/service-accounts/{account}/enable": Row(
        "200 403 404 404 200 404 404 403 403 404", UNSEEN
    ),
    "GET /v1/access/explain": Row(
        "200 200 200 200 200 200 200 200 200 200", ANYONE, query="?action=project.create"
    ),
}

# Served, but no part of the API.
UNLISTED: Final = {
    "GET /metrics": Row("200 200 403 403 403 403 403 403 403 403", REFUSED),
}

# The same operations where it matters what they are done to.
ELSEWHERE: Final[list[tuple[str, Row]]] = [
    (
        "GET /v1/quotas",
        Row("200 200 404 404 200 403 403 200 200 200", UNSEEN, query="?tenant={tenant}"),
    ),
    (
        "GET /v1/quotas",
        Row(
            "200 200 404 404 200 200 404 200 200 200", UNSEEN, query="?organization={organization}"
        ),
    ),
    (
        "PUT /v1/quotas",
        Row(
            "200 403 404 404 403 403 403 403 403 403",
            UNSEEN,
            {"tenant": "{tenant}", "gpus_max": 200},
        ),
    ),
    (
        "PUT /v1/quotas",
        Row(
            "200 403 404 404 200 403 404 403 403 403",
            UNSEEN,
            {"organization": "{organization}", "gpus_max": 99},
        ),
    ),
    (
        "DELETE /v1/quotas",
        Row(
            "200 403 404 404 200 403 404 403 403 403", UNSEEN, query="?organization={organization}"
        ),
    ),
    (
        "DELETE /v1/quotas",
        Row("200 403 404 404 403 403 403 403 403 403", UNSEEN, query="?tenant={tenant}"),
    ),
    (
        "POST /v1/role-bindings",
        Row(
            "201 403 404 404 201 403 403 403 403 403",
            UNSEEN,
            {"subject": "{fresh}", "role": "admin", "tenant": "{tenant}"},
            renew=True,
        ),
    ),
    (
        "POST /v1/role-bindings",
        Row(
            "201 403 404 404 201 201 404 403 403 404",
            UNSEEN,
            {"subject": "{fresh}", "role": "org_admin", "organization": "{organization}"},
            renew=True,
        ),
    ),
    (
        "POST /v1/role-bindings",
        Row(
            "201 403 404 404 201 201 201 403 403 404",
            UNSEEN,
            {"subject": "{fresh}", "role": "project_admin", "project": "{project}"},
            renew=True,
        ),
    ),
    (
        "GET /v1/access/explain",
        Row(
            "200 200 404 404 200 404 404 403 403 404",
            UNSEEN,
            query="?action=project.create&actor={user}",
        ),
    ),
    (
        "GET /v1/events",
        Row(
            "200 200 404 404 200 200 200 200 200 404",
            "404 404 200 404 404 200 200 404",
            query="?subject={allocation}",
        ),
    ),
]
