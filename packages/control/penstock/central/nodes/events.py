"""What happens to a node."""

from typing import Final

from penstock.kernel.catalogue import INTEGER, TEXT, TEXTS, Audience, EventType, id_of
from penstock_contracts.ids import NodeId, SiteId, TenantId

EVENTS: Final = (
    EventType(
        "node.enrolled",
        "The node joined its site with a key of its own.",
        Audience.PLATFORM,
        NodeId,
        {"site": id_of(SiteId), "name": TEXT},
    ),
    EventType(
        "node.connected",
        "The node's link to its site is up.",
        Audience.PLATFORM,
        NodeId,
        {"site": id_of(SiteId), "name": TEXT, "reason": TEXT},
    ),
    EventType(
        "node.disconnected",
        "The node's link to its site is down.",
        Audience.PLATFORM,
        NodeId,
        {"site": id_of(SiteId), "name": TEXT, "reason": TEXT},
    ),
    EventType(
        "node.discovered",
        "The node told what hardware it has.",
        Audience.PLATFORM,
        NodeId,
        {"hardware": TEXT, "unready": TEXT},
    ),
    EventType(
        "node.faulted",
        "What the node told of its hardware cannot be, so nothing is placed there.",
        Audience.PLATFORM,
        NodeId,
        {"fault": TEXT},
    ),
    EventType(
        "node.schedulable",
        "Slots of the node were approved, so leases may be placed there.",
        Audience.PLATFORM,
        NodeId,
        {"slots": INTEGER},
    ),
    EventType(
        "node.health_changed",
        "Other checks of the node's host do not pass than before; none, if `count` is 0.",
        Audience.PLATFORM,
        NodeId,
        {"site": id_of(SiteId), "name": TEXT, "problems": TEXTS, "count": INTEGER},
    ),
    EventType(
        "node.discrepancy_found",
        "What the node's host holds differs from its leases, or differs in another way.",
        Audience.PLATFORM,
        NodeId,
        {"site": id_of(SiteId), "name": TEXT, "discrepancies": TEXTS, "count": INTEGER},
    ),
    EventType(
        "node.discrepancy_cleared",
        "What the node's host holds is what its leases say again.",
        Audience.PLATFORM,
        NodeId,
        {"site": id_of(SiteId), "name": TEXT},
    ),
    EventType(
        "node.updated",
        "An operator changed what policy goes by; the fields are those that changed.",
        Audience.PLATFORM,
        NodeId,
        {
            "tags": TEXTS.or_absent,
            "reserved_for": id_of(TenantId).or_null.or_absent,
            "price_micros_per_gpu_hour": INTEGER.or_absent,
            "leaf_assigned": TEXT.or_null.or_absent,
        },
    ),
    EventType(
        "node.retiring",
        "Nothing new is placed on the node; it is retired once its last lease is over.",
        Audience.PLATFORM,
        NodeId,
        {"site": id_of(SiteId), "name": TEXT, "reason": TEXT},
    ),
    EventType(
        "node.retired",
        "The node is gone for good: its key opens nothing, its name is free.",
        Audience.PLATFORM,
        NodeId,
        {"site": id_of(SiteId), "name": TEXT, "reason": TEXT},
    ),
    EventType(
        "node.drained",
        "Nothing new is placed on the node; leases that run there go on.",
        Audience.PLATFORM,
        NodeId,
        {"reason": TEXT},
    ),
    EventType(
        "node.undrained",
        "Leases may be placed on the node again.",
        Audience.PLATFORM,
        NodeId,
        {"reason": TEXT},
    ),
)
