"""Clients: the programs that people of a realm let act for them, or that act for themselves."""

import ipaddress
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from penstock_contracts.ids import TenantId

CODE: Final = "authorization_code"
REFRESH: Final = "refresh_token"
CREDENTIALS: Final = "client_credentials"
DEVICE: Final = "urn:ietf:params:oauth:grant-type:device_code"
GRANTS: Final = (CODE, REFRESH, CREDENTIALS, DEVICE)

COMMAND_LINE: Final = "penstock-cli"  # the id of the client that every realm has


@dataclass(frozen=True)
class Client:
    id: str
    tenant_id: TenantId
    name: str
    secret_hash: bytes | None
    redirect_uris: tuple[str, ...]
    grants: tuple[str, ...]
    scopes: tuple[str, ...]
    role: str | None
    trusted: bool
    created_at: datetime
    disabled_at: datetime | None = None

    @property
    def public(self) -> bool:
        return self.secret_hash is None

    def redirects_to(self, uri: str) -> bool:
        """Exactly one of its addresses; on a loopback address, at any port (RFC 8252)."""
        return uri in self.redirect_uris or any(
            _without_port(uri) == registered
            for registered in self.redirect_uris
            if is_loopback(registered) and is_loopback(uri)
        )

    def limit(self, scope: str | None) -> str:
        """Of what is asked, what it may have; all of it, if nothing is asked."""
        asked = self.scopes if not scope else tuple(scope.split())
        return " ".join(dict.fromkeys(each for each in asked if each in self.scopes))


def is_loopback(uri: str) -> bool:
    """Whether it is plain http to an address of the machine itself."""
    try:
        parts = urlsplit(uri)
        return parts.scheme == "http" and ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def is_redirect_uri(uri: str) -> bool:
    """Whether codes may be sent there: https, or this machine; nothing hidden in it."""
    try:
        parts = urlsplit(uri)
        parts.port  # noqa: B018 raises if it is none
    except ValueError:
        return False
    plain = uri.isascii() and uri.isprintable() and not {" ", '"', "\\", "*"} & set(uri)
    whole = bool(parts.hostname) and "@" not in parts.netloc and "#" not in uri
    return plain and whole and (parts.scheme == "https" or is_loopback(uri))


def _without_port(uri: str) -> str:
    parts = urlsplit(uri)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    bare = parts._replace(netloc=host).geturl()
    return bare if "@" not in parts.netloc else ""
