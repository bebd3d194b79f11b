"""How much may be held or spent, and how much is."""

from typing import Literal, TypedDict

QuotaKind = Literal["gpus", "nodes", "clusters", "volumes", "vlans", "spend"]


class Quota(TypedDict):
    """What a scope uses and may use; `limit` is None where nothing is limited.

    Of volumes: bytes. Of spend: micro-units of the currency, since the month began. `family` is
    None for GPUs of all families; `gpus_max` and `gpus_used` are `limit` and `used` of GPUs.
    """

    scope: Literal["tenant", "organization", "project"]
    scope_id: str
    kind: QuotaKind
    family: str | None
    currency: str | None
    limit: int | None
    used: int
    burn_micros_per_hour: int | None
    gpus_max: int | None
    gpus_used: int | None
