"""Typed ids: a prefix that says what it is, and a UUIDv7 in base 32 (TypeID).

Every kind of id in Penstock is a class in this file.
"""

import os
import time
from collections import deque
from typing import ClassVar, Self

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
VALUES = {letter: value for value, letter in enumerate(ALPHABET)}
PAIRS = [first + second for first in ALPHABET for second in ALPHABET]
SUFFIX_LENGTH = 26
ENTROPY_BYTES = 10  # of an id


class InvalidId(ValueError):
    """The text is not an id of the kind that was asked for."""


class Id(str):
    """An id as text. Compare, store and print it as the string it is."""

    __slots__ = ()
    prefix: ClassVar[str] = ""

    @classmethod
    def new(cls) -> Self:
        return cls(f"{cls.prefix}_{encode(uuid7(time.time_ns() // 1_000_000, entropy()))}")

    @classmethod
    def parse(cls, text: str) -> Self:
        prefix, _, suffix = text.rpartition("_")
        if prefix != cls.prefix or not is_suffix(suffix):
            raise InvalidId(f"{text[:64]!r} is not a {cls.prefix} id")
        return cls(text)

    @property
    def suffix(self) -> str:
        return self.rpartition("_")[2]


class TenantId(Id):
    prefix = "tenant"


class OrganizationId(Id):
    prefix = "org"


class ProjectId(Id):
    prefix = "project"


class SkuId(Id):
    prefix = "sku"


class SiteId(Id):
    prefix = "site"


class NodeId(Id):
    prefix = "node"


class SlotId(Id):
    prefix = "slot"


class AllocationId(Id):
    prefix = "alloc"


class ProofId(Id):
    prefix = "proof"


class KeyId(Id):
    prefix = "key"


class CreditId(Id):
    prefix = "credit"


class PoolId(Id):
    prefix = "pool"


class AssignmentId(Id):
    prefix = "assignment"


class TemplateId(Id):
    prefix = "template"


class OnboardingId(Id):
    prefix = "onboarding"


class TokenId(Id):
    prefix = "token"


class EventId(Id):
    prefix = "event"


class UserId(Id):
    prefix = "user"


class SessionId(Id):
    prefix = "session"


class InvitationId(Id):
    prefix = "invite"


class ClientId(Id):
    prefix = "client"


class ProviderId(Id):
    prefix = "idp"


class ServiceAccountId(Id):
    prefix = "sa"


class GroupId(Id):
    prefix = "group"


class BindingId(Id):
    prefix = "binding"


class DisputeId(Id):
    prefix = "dispute"


class ReenrolmentId(Id):
    prefix = "reenrolment"


def is_id(text: str) -> bool:
    """Whether it has the form of an id of ours, of any kind."""
    prefix, _, suffix = text.rpartition("_")
    return is_suffix(suffix) and any(kind.prefix == prefix for kind in Id.__subclasses__())


_entropy: deque[bytes] = deque()
os.register_at_fork(after_in_child=_entropy.clear)  # or parent and child would make the same ids


def entropy() -> bytes:
    """What the system gives is asked for many at a time: asking takes longer than making an id.
    Each is given to one thread only, since `pop` is one step."""
    try:
        return _entropy.pop()
    except IndexError:
        many = os.urandom(256 * ENTROPY_BYTES)
        _entropy.extend(
            many[at : at + ENTROPY_BYTES] for at in range(ENTROPY_BYTES, len(many), ENTROPY_BYTES)
        )
        return many[:ENTROPY_BYTES]


def uuid7(now_ms: int, entropy: bytes) -> int:
    """RFC 9562: 48 bits of milliseconds, version, 12 random, variant, 62 random."""
    random = int.from_bytes(entropy[:10])
    value = (now_ms & (1 << 48) - 1) << 80
    value |= 7 << 76
    value |= (random >> 62 & 0xFFF) << 64
    value |= 2 << 62
    return value | (random & (1 << 62) - 1)


def encode(value: int) -> str:
    return "".join([PAIRS[value >> shift & 1023] for shift in range(120, -1, -10)])


def is_suffix(text: str) -> bool:
    return len(text) == SUFFIX_LENGTH and text[0] <= "7" and all(c in VALUES for c in text)
