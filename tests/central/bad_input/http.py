"""Bodies, headers, tokens, paths and pages that no operation takes."""

from central import plane
from penstock_contracts.ids import AllocationId, NodeId, SlotId, TenantId

from .requests import LEASE, Bad, absent, get


def raw(status: int, code: str, body: bytes, **headers: str) -> Bad:
    typed = {
        "Content-Type": "application/json",
        **{k.replace("_", "-"): headers[k] for k in headers},
    }
    return Bad(status, code, "POST", "/v1/projects", raw=body, headers=typed)


CASES: dict[str, Bad] = {
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
    "a wrong method": Bad(405, "method_not_allowed", "DELETE", "/v1/projects"),
    "an unknown parameter": get(422, "invalid", "/v1/allocations?colour=red"),
    "a cursor that is none": get(422, "invalid", "/v1/allocations?cursor=%21%21"),
    "a cursor that is not ASCII": get(422, "invalid", "/v1/allocations?cursor=_____w=="),
    "a cursor too long": get(422, "invalid", "/v1/allocations?cursor=" + "A" * 201),
    "a page of none": get(422, "invalid", "/v1/allocations?limit=0"),
    "a page of all": get(422, "invalid", "/v1/allocations?limit=501"),
    "a page of many": get(422, "invalid", "/v1/allocations?limit=ten"),
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
}  # fmt: skip
