"""Requests that must be refused, and the words they are made of."""

from dataclasses import dataclass, field
from typing import Any

from penstock_contracts.ids import Id

LEASE = {"project": "main", "sku": "h100.slice", "gpus": 1}
NAMES = (
    "",
    "UPPER",
    "with space",
    "-dash",
    "dash-",
    "a" * 64,
    "a\x00b",
    "a\n",
    "naïve",
    "a/b",
    "\u202e",
)
# Of other alphabets, or of two in one; invisible; much too long.
LOOKALIKES = ("\u0430cme", "acm\u0435", "\u03b1cme", "a\u200bcme", "ac\u0301me", "x" * 10_000)
# Text that shows otherwise than it is: C1 controls, direction, joiners, line and paragraph ends.
UNSEEN = ("a\x9bc", "a\x85b", "a\u202eb", "a\u2066b", "a\u200bb", "\ufeffa", "a\u2028b", "a\u2029b")
ADDRESSES = (
    "\u0430da@acme.example", "a\u202eb\u200b\u009bc@acme.example", "ada@\u0430cme.example",
    "ada", "@acme.example", "ada@acme", "a b@acme.example", '"a"@acme.example',
    "ada@acme.example\n", " ada@acme.example", "a" * 65 + "@acme.example",
    "ada@" + "a" * 250 + ".example",
)  # fmt: skip


def absent(kind: type[Id]) -> str:
    """An id of nothing, the same in every run."""
    return f"{kind.prefix}_{'0' * 26}"


@dataclass(frozen=True)
class Bad:
    """A request that must be refused with this status and code."""

    status: int
    code: str
    method: str
    path: str
    body: Any = None
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    caller: str = "admin"


def platform(path: str, **body: object) -> Bad:
    return Bad(422, "invalid", "POST", path, body, caller="platform")


def change(method: str, path: str, status: int = 422, code: str = "invalid", **body: object) -> Bad:
    return Bad(status, code, method, path, body, caller="platform")


def get(status: int, code: str, path: str, caller: str = "admin", **headers: str) -> Bad:
    named = {name.replace("_", "-"): headers[name] for name in headers}
    return Bad(status, code, "GET", path, headers=named, caller=caller)
