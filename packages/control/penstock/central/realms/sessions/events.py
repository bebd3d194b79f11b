"""What happens to a session."""

from typing import Final

from penstock.kernel.catalogue import TEXT, Audience, EventType, id_of
from penstock_contracts.ids import SessionId, UserId

EVENTS: Final = (
    EventType(
        "session.started",
        "A user signed in, with a browser or through a client.",
        Audience.TENANT,
        SessionId,
        {"user": id_of(UserId), "client": TEXT.or_absent},
    ),
    EventType(
        "session.ended",
        "A user was signed out.",
        Audience.TENANT,
        SessionId,
        {"user": id_of(UserId), "reason": TEXT},
    ),
)
