"""What happens to a lease."""

from typing import Final

from penstock.central.allocations.model import Observed, Status
from penstock.kernel.catalogue import INTEGER, TEXT, TEXTS, TIME, Audience, EventType, id_of, one_of
from penstock_contracts.ids import AllocationId, NodeId, ProjectId, SiteId

EVENTS: Final = (
    EventType(
        "allocation.queued",
        "The lease waits for room.",
        Audience.TENANT,
        AllocationId,
        {
            "project": id_of(ProjectId),
            "sku": TEXT,
            "gpus": INTEGER,
            "nodes": INTEGER,
            "priority": INTEGER,
            "expires_at": TIME.or_null,
            "reason": TEXT,
            "position": INTEGER.or_null,
        },
    ),
    EventType(
        "allocation.placed",
        "The lease has its GPUs claimed on a node, which is now asked to hand them over.",
        Audience.TENANT,
        AllocationId,
        {
            "project": id_of(ProjectId),
            "sku": TEXT,
            "gpus": INTEGER,
            "node": id_of(NodeId),
            "site": id_of(SiteId),
        },
    ),
    EventType(
        "allocation.expired",
        "The lease waited as long as it was asked to, and no room came.",
        Audience.TENANT,
        AllocationId,
        {"reason": TEXT},
    ),
    EventType(
        "allocation.cancelled",
        "The lease was cancelled while it waited.",
        Audience.TENANT,
        AllocationId,
        {"by": TEXT, "reason": TEXT},
    ),
    EventType(
        "allocation.stepped",
        "The site began, finished, failed or undid a step of its work on the lease.",
        Audience.TENANT,
        AllocationId,
        {"workflow": TEXT, "step": TEXT, "status": TEXT, "detail": TEXT},
    ),
    EventType(
        "allocation.observed",
        "The node is in another state with the lease.",
        Audience.TENANT,
        AllocationId,
        {"observed": one_of(Observed), "reason": TEXT, "at": TIME, "reported_at": TIME},
    ),
    EventType(
        "allocation.failed",
        "The lease could not be realized, and is released.",
        Audience.TENANT,
        AllocationId,
        {"reason": TEXT},
    ),
    EventType(
        "allocation.releasing",
        "The lease is given back; its GPUs stay claimed until their cleanup is proven.",
        Audience.TENANT,
        AllocationId,
        {"by": TEXT, "reason": TEXT},
    ),
    EventType(
        "allocation.ending",
        "The end of the lease is near; it is released then.",
        Audience.TENANT,
        AllocationId,
        {"project": id_of(ProjectId), "ends_at": TIME},
    ),
    EventType(
        "allocation.released",
        "The cleanup of the whole lease is proven, and its GPUs are free.",
        Audience.TENANT,
        AllocationId,
    ),
    EventType(
        "gang.placed",
        "The lease has several whole nodes, all of them claimed; each is a member of the gang.",
        Audience.TENANT,
        AllocationId,
        {
            "project": id_of(ProjectId),
            "sku": TEXT,
            "gpus": INTEGER,
            "nodes": INTEGER,
            "site": id_of(SiteId),
            "members": TEXTS,
        },
    ),
    EventType(
        "gang.changed",
        "The lease of several nodes is in another state, because one of its members is.",
        Audience.TENANT,
        AllocationId,
        {"status": one_of(Status), "reason": TEXT},
    ),
    EventType(
        "allocation.abandoned",
        "An operator gave up waiting for the release; its slots stay blocked.",
        Audience.TENANT,
        AllocationId,
        {"by": TEXT, "reason": TEXT},
    ),
)
