"""What happens to the onboarding of a tenant."""

from typing import Final

from penstock.central.onboardings.model import StepStatus
from penstock.kernel.catalogue import FLAG, TEXT, Audience, EventType, one_of
from penstock_contracts.ids import OnboardingId

EVENTS: Final = (
    EventType(
        "onboarding.created",
        "Someone asked that a tenant be made as its file says.",
        Audience.OWNER,
        OnboardingId,
        {"name": TEXT},
    ),
    EventType(
        "onboarding.stepped",
        "A step of the onboarding was done, failed or was taken back.",
        Audience.OWNER,
        OnboardingId,
        {"step": TEXT, "status": one_of(StepStatus), "detail": TEXT, "changed": FLAG},
    ),
    EventType(
        "onboarding.done",
        "The tenant is as its file says.",
        Audience.OWNER,
        OnboardingId,
        {"reason": TEXT},
    ),
    EventType(
        "onboarding.undone",
        "A step failed, and those before it were taken back.",
        Audience.OWNER,
        OnboardingId,
        {"reason": TEXT},
    ),
)
