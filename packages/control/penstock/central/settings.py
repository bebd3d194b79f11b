"""What can be set about a central process: `PENSTOCK_CENTRAL_…`."""

from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field

from penstock.kernel.settings import Settings

PREFIX = "PENSTOCK_CENTRAL_"


class CentralSettings(Settings):
    database_url: str = Field(repr=False)
    data: Path
    replica: str = "central-1"  # unique among the processes of one central
    http_listen: str = "127.0.0.1:8080"
    join_listen: str = "127.0.0.1:8081"
    link_listen: str = "127.0.0.1:8082"
    metrics_listen: str = "127.0.0.1:8083"
    public_url: str = Field(default="", pattern=r"^(https?://[^/?#@\s]+)?$")  # as users reach it
    join_advertise: str = ""  # what sites dial, if it is not what we listen on
    link_advertise: str = ""
    bootstrap_token_file: Path | None = None
    certificate_life_s: float = Field(default=3600.0, ge=5, le=3600)
    site_grace_s: float = Field(default=60.0, ge=0.1, le=86_400)  # then a missing site is away
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def site_grace(self) -> timedelta:
        return timedelta(seconds=self.site_grace_s)

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
