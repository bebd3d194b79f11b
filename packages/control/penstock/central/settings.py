"""What can be set about a central process: `PENSTOCK_CENTRAL_…`."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from penstock.kernel.buckets import Rate
from penstock.kernel.http.gateway import Limits
from penstock.kernel.settings import Settings
from penstock_contracts import web_addresses

PREFIX = "PENSTOCK_CENTRAL_"
DAY_S = 86_400.0


def _separated(value: object) -> object:
    """In the environment a list is text with commas."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _is_origin(text: str) -> str:
    address = web_addresses.parse(text)
    if text and (address is None or address.origin != text):
        raise ValueError(
            "an origin is wanted, as in https://gpu.example: no path, in small letters"
        )
    return text


Origin = Annotated[str, AfterValidator(_is_origin)]  # as a browser sends it
Origins = Annotated[tuple[Origin, ...], BeforeValidator(_separated)]


class CentralSettings(Settings):
    database_url: str = Field(repr=False)  # its login may do nothing but serve
    owner_url: str | None = Field(default=None, repr=False)  # for migrations alone
    data: Path
    replica: str = "central-1"  # unique among the processes of one central
    http_listen: str = "127.0.0.1:8080"
    join_listen: str = "127.0.0.1:8081"
    link_listen: str = "127.0.0.1:8082"
    metrics_listen: str = "127.0.0.1:8083"
    public_url: Origin = ""  # as users reach it
    join_advertise: str = ""  # what sites dial, if it is not what we listen on
    link_advertise: str = ""
    bootstrap_token_file: Path | None = None
    policies: Path | None = (
        None  # a file of rules: what is forbidden besides; SIGHUP reads it again
    )
    certificate_life_s: float = Field(default=3600.0, ge=5, le=3600)
    site_grace_s: float = Field(default=60.0, ge=0.1, le=86_400)  # then a missing site is away
    # A lease's tenant is warned so long before its end; 0: not at all.
    ending_warning_s: float = Field(default=900.0, ge=0, le=30 * 86_400)
    # Each replica's own: a limit of all together is divided by their number.
    tenant_requests_per_s: float = Field(default=5_000, ge=0.1)
    tenant_requests_burst: int = Field(default=10_000, ge=1)
    key_requests_per_s: float = Field(default=5_000, ge=0.1)
    key_requests_burst: int = Field(default=10_000, ge=1)
    # Those who are not known, from one address (IPv6: one /64): all that they ask, and of that
    # what guesses or is dear (signing in, tokens, codes).
    address_requests_per_s: float = Field(default=200, ge=0.1)
    address_requests_burst: int = Field(default=2_000, ge=1)
    address_attempts_per_s: float = Field(default=20, ge=0.1)
    address_attempts_burst: int = Field(default=500, ge=1)
    bad_keys_per_s: float = Field(default=10, ge=0.1)  # from one address
    bad_keys_burst: int = Field(default=500, ge=1)
    requests_max: int = Field(default=1_000, ge=1)  # in progress
    streams_max: int = Field(default=1_000, ge=1)  # of events
    cors_origins: Origins = ()  # web pages of these may call the API
    hsts_s: int = Field(default=0, ge=0)  # say so if TLS is in front, and for how long
    trusted_proxies: str = "127.0.0.1,::1"  # addresses and networks whose X-Forwarded-… counts
    sweep_every_s: float = Field(default=60.0, ge=0.1, le=86_400)  # to delete what ran out
    idempotency_kept_s: float = Field(default=7 * 86_400.0, ge=60)  # answers to Idempotency-Keys
    # How long what grows is kept; evidence goes only once it is exported.
    events_kept_s: float = Field(default=30 * DAY_S, ge=60)
    audit_kept_s: float = Field(default=400 * DAY_S, ge=60)
    fleet_log_kept_s: float = Field(default=30 * DAY_S, ge=60)
    leases_kept_s: float = Field(default=90 * DAY_S, ge=60)  # after their end
    rejections_kept_s: float = Field(default=90 * DAY_S, ge=60)
    stop_linger_s: float = Field(default=0.5, ge=0, le=300)  # served on, though not ready
    audit_store: str = ""  # where evidence is exported to; a folder in DATA if not said
    drivers: Path | None = None  # a TOML file: the drivers besides central's own (docs/drivers.md)
    realm_provider: str = "embedded"  # of tenants whose file says none: a table of that file
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def audit_url(self) -> str:
        return self.audit_store or (self.data.absolute() / "audit").as_uri()

    @property
    def limits(self) -> Limits:
        return Limits(
            tenant=Rate(self.tenant_requests_per_s, self.tenant_requests_burst),
            key=Rate(self.key_requests_per_s, self.key_requests_burst),
            address=Rate(self.address_requests_per_s, self.address_requests_burst),
            attempts=Rate(self.address_attempts_per_s, self.address_attempts_burst),
            bad_keys=Rate(self.bad_keys_per_s, self.bad_keys_burst),
            requests_max=self.requests_max,
            streams_max=self.streams_max,
        )

    @property
    def site_grace(self) -> timedelta:
        return timedelta(seconds=self.site_grace_s)

    @property
    def ending_warning(self) -> timedelta:
        return timedelta(seconds=self.ending_warning_s)

    @property
    def url(self) -> str:
        """Where the API is for users: the beginning of every issuer, and tokens' audience."""
        return self.public_url or f"http://{self.http_listen}"

    @property
    def join_address(self) -> str:
        return self.join_advertise or self.join_listen

    @property
    def link_address(self) -> str:
        return self.link_advertise or self.link_listen
