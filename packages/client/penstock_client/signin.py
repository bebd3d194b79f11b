"""Signing in to a tenant's realm: the device flow, and tokens that renew themselves."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import quote

from penstock_client import contexts, errors, requests
from penstock_client.contexts import Context, Login
from penstock_client.secrets import Secret

CLIENT: Final = "penstock-cli"
SCOPE: Final = "openid profile email offline_access administer keys"
DEVICE: Final = "urn:ietf:params:oauth:grant-type:device_code"
RENEW_S: Final = 30.0  # before a token runs out
DEFAULT_INTERVAL_S: Final = 5  # RFC 8628, where the server names none
SLOWER_BY_S: Final = 5
Pause = Callable[[float], None]


@dataclass(frozen=True)
class Invitation:
    """What to show someone, so that they let us in."""

    url: str
    complete_url: str
    user_code: str
    device_code: str = field(repr=False)
    interval_s: float
    expires_in_s: float


@dataclass(frozen=True)
class Realm:
    issuer: str
    token_url: str
    device_url: str
    revocation_url: str


def discover(api: str, tenant: str) -> Realm:
    """The tenant's realm: where the API has it, or where the API says that it lives."""
    here = f"{contexts.check(api)}/realms/{quote(tenant, safe='')}"
    status, found = _described(here)
    if found.get("code") != "realm_elsewhere":
        return _read(here, status, found)
    issuer = _text(found, "issuer")
    if not issuer.startswith("https://") and not requests.is_loopback(issuer):
        raise errors.LoginFailed(f"{issuer} is not https: what you sign in with could be read")
    return _realm(issuer)


def begin(realm: Realm) -> Invitation:
    status, body = _exchange(realm.device_url, {"client_id": CLIENT, "scope": SCOPE})
    if status != 200:
        raise errors.LoginFailed(f"{realm.issuer} does not let us begin: {_reason(body)}")
    return Invitation(
        url=_text(body, "verification_uri"),
        complete_url=_text(body, "verification_uri_complete"),
        user_code=_text(body, "user_code"),
        device_code=_text(body, "device_code"),
        interval_s=_number(body, "interval", DEFAULT_INTERVAL_S),
        expires_in_s=_number(body, "expires_in", 600),
    )


def wait(
    realm: Realm, invitation: Invitation, *, pause: Pause = time.sleep
) -> tuple[Secret, Login]:
    """Ask as often as the server says until someone has decided: the protocol knows no telling."""
    interval_s, until = invitation.interval_s, time.monotonic() + invitation.expires_in_s
    form = {
        "grant_type": DEVICE,
        "device_code": invitation.device_code,
        "client_id": CLIENT,
    }
    while time.monotonic() < until:
        pause(interval_s)
        status, body = _exchange(realm.token_url, form)
        if status == 200:
            return _signed_in(realm.issuer, body)
        match body.get("error"):
            case "authorization_pending":
                pass
            case "slow_down":
                interval_s += SLOWER_BY_S
            case "access_denied":
                raise errors.LoginFailed("you were not let in: it was refused in the browser")
            case _:
                raise errors.LoginFailed(f"signing in did not work: {_reason(body)}")
    raise errors.LoginFailed("nobody came in time: run `penstock login` again")


def tokens(context: Context) -> str | Callable[[], str]:
    """The context's token, or how to get the one that is good now."""
    if context.login is None:
        return context.token
    held = context

    def token() -> str:
        nonlocal held
        if _is_old(held):
            held = _renewed(held.name)
        return held.token

    return token


def end(context: Context) -> None:
    """Give the session back; whether or not the platform hears of it, it is forgotten here."""
    if context.login is None:
        return
    realm = _realm(context.login.issuer)
    form = {"client_id": CLIENT, "token": context.login.refresh_token}
    _exchange(realm.revocation_url, form)


def _renewed(name: str) -> Context:
    """By one process at a time: whoever comes second finds what the first one got."""
    with contexts.locked():
        stored = contexts.load()
        context = stored.get(name)
        if context.login is None or not _is_old(context):
            return context
        realm = _realm(context.login.issuer)
        form = {
            "grant_type": "refresh_token",
            "refresh_token": context.login.refresh_token,
            "client_id": CLIENT,
        }
        status, body = _exchange(realm.token_url, form)
        if status != 200:
            raise errors.SignedOut(name)
        token, login = _signed_in(realm.issuer, body)
        renewed = replace(context, token=token, login=login)
        contexts.save(replace(stored, known={**stored.known, name: renewed}))
        return renewed


def _is_old(context: Context) -> bool:
    return context.login is not None and time.time() >= context.login.expires_at - RENEW_S


def _signed_in(issuer: str, body: Mapping[str, object]) -> tuple[Secret, Login]:
    expires_at = time.time() + _number(body, "expires_in", 300)
    login = Login(issuer, Secret(_text(body, "refresh_token")), expires_at)
    return Secret(_text(body, "access_token")), login


def _realm(issuer: str) -> Realm:
    return _read(issuer, *_described(issuer))


def _described(issuer: str) -> tuple[int, Mapping[str, object]]:
    return _exchange(f"{issuer}/.well-known/openid-configuration")


def _read(issuer: str, status: int, found: Mapping[str, object]) -> Realm:
    if status != 200:
        raise errors.LoginFailed(f"there is no realm at {issuer}: is the tenant's name right?")
    if found.get("issuer") != issuer:
        raise errors.LoginFailed(
            f"{issuer} calls itself {found.get('issuer')}: use that address with --api"
        )
    return Realm(
        issuer,
        _text(found, "token_endpoint"),
        _text(found, "device_authorization_endpoint"),
        _text(found, "revocation_endpoint"),
    )


def _exchange(url: str, form: Mapping[str, str] | None = None) -> tuple[int, Mapping[str, object]]:
    from penstock_client import http  # late: most commands never sign in

    return http.exchange(url, form)


def _text(body: Mapping[str, object], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise errors.NotTheApi(f"the answer has no {name}")
    return value


def _number(body: Mapping[str, object], name: str, default: float) -> float:
    value = body.get(name)
    return float(value) if isinstance(value, int | float) else float(default)


def _reason(body: Mapping[str, object]) -> str:
    return str(body.get("error_description") or body.get("error") or "no reason is given")
