"""How each plane is called: its command and its environment."""

import sys
from collections.abc import Mapping
from pathlib import Path

from penstock.local import health, ports
from penstock.local.bootstrap import SITE
from penstock.local.memory import Memory
from penstock.local.options import Options
from penstock.local.postgres import Logins
from penstock.local.profile import AGENT
from penstock.local.supervisor import Child


def admin_token_file(data: Path) -> Path:
    return data / "central" / "admin-token"


def central(data: Path, database: Logins, api_port: int, memory: Memory) -> Child:
    environment: Mapping[str, str] = {
        **_logins("CENTRAL", database),
        "PENSTOCK_CENTRAL_DATA": str(data / "central"),
        "PENSTOCK_CENTRAL_HTTP_LISTEN": ports.address(api_port),
        "PENSTOCK_CENTRAL_JOIN_LISTEN": memory.address("central_join"),
        "PENSTOCK_CENTRAL_LINK_LISTEN": memory.address("central_link"),
        "PENSTOCK_CENTRAL_METRICS_LISTEN": memory.address("central_metrics"),
        "PENSTOCK_CENTRAL_BOOTSTRAP_TOKEN_FILE": str(admin_token_file(data)),
    }
    command = (sys.executable, "-m", "penstock.central")
    asked = health.http(memory.address("central_metrics"))
    return Child("central", command, environment, health=asked)


def site(data: Path, database: Logins, memory: Memory) -> Child:
    environment: Mapping[str, str] = {
        **_logins("SITE", database),
        "PENSTOCK_SITE_DATA": str(data / "site"),
        "PENSTOCK_SITE_NAME": SITE,
        "PENSTOCK_SITE_TOKEN_FILE": str(data / "site" / "join-token"),
        "PENSTOCK_SITE_JOIN_LISTEN": memory.address("site_join"),
        "PENSTOCK_SITE_LINK_LISTEN": memory.address("site_link"),
        "PENSTOCK_SITE_METRICS_LISTEN": memory.address("site_metrics"),
    }
    command = (sys.executable, "-m", "penstock.site")
    return Child("site", command, environment, health=health.http(memory.address("site_metrics")))


def agents(options: Options, memory: Memory) -> Child:
    folder = options.data / "agent"
    command = [*AGENT, "--data", str(folder), "--token-file", str(folder / "tokens")]
    command += ["--simulate", options.hardware, "--nodes", str(options.nodes)]
    command += ["--health-port", str(memory.ports["agents_health"])]
    if options.delay_ms is not None:
        command += ["--delay-ms", str(options.delay_ms)]
    if options.faults is not None:
        command += ["--faults", str(options.faults)]
    return Child("agents", command, health=health.http(memory.address("agents_health")))


def _logins(plane: str, database: Logins) -> dict[str, str]:
    owner = {f"PENSTOCK_{plane}_OWNER_URL": database.owner} if database.owner else {}
    return {f"PENSTOCK_{plane}_DATABASE_URL": database.serving, **owner}
