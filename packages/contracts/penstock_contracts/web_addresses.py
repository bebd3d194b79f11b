"""Addresses on the web, taken apart strictly.

Lenient parsers differ: where one sees a port or a path, another sees a host. So an address that is
not written exactly as RFC 3986 has it is none, and what goes into a header is put together from
the parts, never taken from the text.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

_LABEL: Final = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
# The last part of a name begins with a letter: browsers read `0x7f.1` as a number.
_NAME: Final = re.compile(rf"({_LABEL}\.)*[a-z]([a-z0-9-]{{0,61}}[a-z0-9])?")
_NAME_LENGTH_MAX: Final = 253
_CHARACTER: Final = r"([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_ADDRESS: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:(?P<port>[1-9][0-9]{0,4}))?"
    rf"(?P<path>(/{_CHARACTER}*)*)(\?(?P<query>({_CHARACTER}|[/?])*))?"
)
_PORT_MAX: Final = 65_535


@dataclass(frozen=True)
class WebAddress:
    """An http or https address. It names nobody, and no place within a page."""

    scheme: str
    host: str  # lower case; an IPv6 address in brackets
    port: int | None
    path: str
    query: str | None

    @property
    def origin(self) -> str:
        port = "" if self.port is None else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is plain http to an address of the machine itself."""
        ip = _ip(self.host)
        return self.scheme == "http" and ip is not None and ip.is_loopback

    @property
    def is_private(self) -> bool:
        """Whether nobody on the way can read what is sent there."""
        return self.scheme == "https" or self.is_loopback


def parse(text: str) -> WebAddress | None:
    """The address; None if the text is none."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        return None
    host = _host(found["host"].lower())
    port = None if found["port"] is None else int(found["port"])
    if host is None or (port or 0) > _PORT_MAX:
        return None
    return WebAddress(found["scheme"], host, port, found["path"], found["query"])


def _host(text: str) -> str | None:
    ip = _ip(text)
    if ip is not None:
        return f"[{ip}]" if ip.version == 6 else str(ip)
    named = _NAME.fullmatch(text) is not None and len(text) <= _NAME_LENGTH_MAX
    return text if named else None


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        if host.startswith("["):
            return ipaddress.IPv6Address(host[1:-1])
        return ipaddress.IPv4Address(host)
    except ValueError:
        return None
