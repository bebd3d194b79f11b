"""What happens to a project."""

from typing import Final

from penstock.kernel.catalogue import TEXT, Audience, EventType, id_of
from penstock_contracts.ids import OrganizationId, ProjectId

EVENTS: Final = (
    EventType(
        "project.created",
        "The tenant has another project.",
        Audience.TENANT,
        ProjectId,
        {"name": TEXT, "organization": id_of(OrganizationId)},
    ),
)
