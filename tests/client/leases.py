"""A lease, as the API would show it."""

SLICE = {
    "id": "alloc_1",
    "tenant": "tenant_1",
    "project": "project_1",
    "sku": "h100-8.slice",
    "gpus": 2,
    "site": "site_1",
    "node": "node_1",
    "slots": ["slot_1", "slot_2"],
    "status": "placed",
    "desired": "active",
    "observed": "unknown",
    "execution": "running",
    "states": {
        "desired": {"state": "active", "at": "2026-01-01T00:00:00Z", "age_s": 4},
        "observed": {"state": "unknown", "at": None, "age_s": None, "reason": "no report yet"},
        "execution": {"state": "running", "age_s": 3, "workflow": "realize", "step": "provision"},
        "projected": {"state": "placed", "age_s": 3},
    },
    "price_micros_per_gpu_hour": 2_490_000,
    "currency": "USD",
    "created_at": "2026-01-01T00:00:00Z",
}


ALLOCATION = "/v1/allocations/alloc_1"
