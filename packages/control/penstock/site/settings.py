"""What can be set about a site process: `PENSTOCK_SITE_…`."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from penstock.kernel.settings import Settings

PREFIX = "PENSTOCK_SITE_"


class SiteSettings(Settings):
    database_url: str = Field(repr=False)  # its login may do nothing but serve
    owner_url: str | None = Field(default=None, repr=False)  # for migrations alone
    data: Path
    name: str = "site"
    executor: str = "site-1"  # unique among the processes of one site
    token_file: Path | None = None  # the join token; needed once
    join_listen: str = "127.0.0.1:8091"
    link_listen: str = "127.0.0.1:8092"
    metrics_listen: str = "127.0.0.1:8093"
    join_advertise: str = ""  # what nodes dial, if it is not what we listen on
    link_advertise: str = ""
    task_deadline_s: float = Field(default=600.0, gt=0, le=86_400)
    executor_silence_s: float = Field(default=20.0, ge=1, le=3600)  # longer is dead
    link_hold_s: float = Field(default=10.0, ge=0, le=600)  # doubles with each further end
    tasks_kept_s: float = Field(default=14 * 86_400.0, ge=60)  # and workflows; after their end
    rejections_kept_s: float = Field(default=90 * 86_400.0, ge=60)
    sweep_every_s: float = Field(default=60.0, ge=0.1, le=86_400)  # to delete what is too old
    certificate_life_s: float = Field(default=3600.0, ge=5, le=3600)
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def join_address(self) -> str:
        return self.join_advertise or self.join_listen

    @property
    def link_address(self) -> str:
        return self.link_advertise or self.link_listen
