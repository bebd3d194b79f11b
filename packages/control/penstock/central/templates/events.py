"""What happens to a template of tenants."""

from typing import Final

from penstock.kernel.catalogue import INTEGER, TEXT, Audience, EventType
from penstock_contracts.ids import TemplateId

EVENTS: Final = (
    EventType(
        "template.set",
        "The template was created or changed.",
        Audience.PLATFORM,
        TemplateId,
        {"name": TEXT, "revision": INTEGER},
    ),
)
