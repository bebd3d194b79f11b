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

ASSERTIONS: Final = frozenset({"client_assertion", "client_assertion_type"})


class Malformed(Exception):
    """The request is none that the protocol knows; the message is for its author."""

    def __init__(self, message: str, error: str = "invalid_request") -> None:
        super().__init__(message)
        self.error = error


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


def fields(encoded: str) -> dict[str, str]:
    """What a form or a query has, each name at most once: readers would differ on which counts."""
    try:
        pairs = parse_qsl(
            encoded, keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict"
        )
    except ValueError:
        raise Malformed("the parameters cannot be read") from None
    if len({name for name, _ in pairs}) < len(pairs):
        raise Malformed("a parameter is there more than once")
    return dict(pairs)


def read(encoded: str) -> dict[str, str]:
    """Parameters, all of them visible ASCII. One without a value is not there (RFC 6749 §3.1)."""
    found: dict[str, str] = {}
    for name, value in fields(encoded).items():
        quoted = name in ECHOED and not {'"', "\\"}.isdisjoint(value)
        if quoted or not _plain(name + value) or len(value) > VALUE_LENGTH_MAX:
            raise Malformed("a parameter has characters that no parameter has, or too many")
        if value:
            found[name] = value
    return found


def check_credentials(authorization: str, parameters: Mapping[str, str]) -> None:
    """A client says who it is in one way (RFC 6749 §2.3), and in one that this issuer knows."""
    if not ASSERTIONS.isdisjoint(parameters):
        raise Malformed("client assertions are not supported here", "invalid_client")
    named = basic(authorization)
    if named is None:
        return
    if "client_secret" in parameters or parameters.get("client_id", named) != named:
        raise Malformed("the client says who it is in two ways")


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
