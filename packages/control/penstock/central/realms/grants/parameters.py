"""What a client sends, made safe before anything reads it."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote

FIELDS_MAX: Final = 40
VALUE_LENGTH_MAX: Final = 8_192
# Named in error descriptions, where RFC 6749 allows neither quotes nor backslashes.
ECHOED: Final = frozenset({"redirect_uri", "response_type", "grant_type"})


class Malformed(Exception):
    """The request is none that the protocol knows; the message is for its author."""


@dataclass(frozen=True)
class Asked:
    """One request to a protocol endpoint."""

    method: str
    uri: str
    parameters: Mapping[str, str] = field(repr=False)
    authorization: str = field(default="", repr=False)
    agent: str = ""

    def get(self, name: str) -> str:
        return self.parameters.get(name, "")

    @property
    def client_id(self) -> str:
        """Who the client says it is."""
        return basic(self.authorization) or self.get("client_id")


def read(encoded: str) -> dict[str, str]:
    """Parameters, each at most once (RFC 6749 §3.1), all of them visible ASCII."""
    try:
        pairs = parse_qsl(
            encoded, keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict"
        )
    except ValueError:
        raise Malformed("the parameters cannot be read") from None
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise Malformed("a parameter is there more than once")
        quoted = name in ECHOED and not {'"', "\\"}.isdisjoint(value)
        if quoted or not _plain(name + value) or len(value) > VALUE_LENGTH_MAX:
            raise Malformed("a parameter has characters that no parameter has, or too many")
        found[name] = value
    return found


def basic(authorization: str) -> str | None:
    """The client that the header names, if it is HTTP Basic."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        named, colon, _ = base64.b64decode(encoded, validate=True).decode("ascii").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise Malformed("the Authorization header cannot be read") from None
    if not colon:
        raise Malformed("the Authorization header cannot be read")
    return unquote(named)


def _plain(text: str) -> bool:
    return text.isascii() and text.isprintable()
