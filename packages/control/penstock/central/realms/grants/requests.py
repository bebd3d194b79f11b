"""Every parameter of an authorization request in OpenID Connect Core, and what becomes of it.

What would change the meaning of a request is done or refused, never passed over in silence. The
specification lets an issuer pass over the rest, and all parameters that it has never heard of.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from penstock.central.realms.parameters import Asked
from penstock.kernel import numbers

DONE: Final = frozenset(
    {
        "client_id", "code_challenge", "code_challenge_method", "id_token_hint", "max_age", "nonce",
        "prompt", "redirect_uri", "response_mode", "response_type", "scope", "state",
    }
)  # fmt: skip
# Hints, and wishes that an issuer grants as it can (Core 3.1.2.1, 5.5, 15.1).
PASSED_OVER: Final = frozenset(
    {"acr_values", "claims", "claims_locales", "display", "login_hint", "ui_locales"}
)
REFUSED: Final[Mapping[str, str]] = {
    "registration": "registration_not_supported",
    "request": "request_not_supported",
    "request_uri": "request_uri_not_supported",
}
RESPONSE_MODES: Final = ("query",)
PROMPTS: Final = ("none", "login", "consent", "select_account")


@dataclass(frozen=True)
class Objection:
    error: str
    description: str


def unsupported(asked: Asked) -> Objection | None:
    """A parameter that this issuer does not know how to heed."""
    for name, error in REFUSED.items():
        if asked.get(name):
            return Objection(error, f"This issuer takes no '{name}': send plain parameters.")
    return None


def objection(asked: Asked) -> Objection | None:
    """What is wrong with an authorization request, whoever is logged in."""
    prompts = asked.get("prompt").split()
    if (refused := unsupported(asked)) is not None:
        return refused
    if asked.get("response_mode") not in ("", *RESPONSE_MODES):
        return Objection("invalid_request", "Unsupported 'response_mode': only query is.")
    if not set(prompts) <= set(PROMPTS) or ("none" in prompts and len(prompts) > 1):
        return Objection("invalid_request", "Invalid 'prompt'.")
    if not _is_age(asked.get("max_age")):
        return Objection("invalid_request", "Invalid 'max_age'.")
    return None


def _is_age(max_age: str) -> bool:
    return not max_age or numbers.whole(max_age) is not None
