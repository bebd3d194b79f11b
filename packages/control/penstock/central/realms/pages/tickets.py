"""What a form must bring back unchanged and unread: sealed, for one browser, for minutes."""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import orjson

from penstock.central.realms.pages.browsers import Browser
from penstock.kernel.sealing import Seal, SealBroken

LIFE: Final = timedelta(minutes=10)


def give(seal: Seal, browser: Browser, kind: str, now: datetime, **content: str) -> str:
    body = orjson.dumps({**content, "until": (now + LIFE).timestamp()})
    return base64.urlsafe_b64encode(seal.seal(_purpose(browser, kind), body)).decode()


def take(
    seal: Seal, browser: Browser, kind: str, now: datetime, ticket: str
) -> Mapping[str, str] | None:
    """What was put into it; None if it is not good here and now."""
    try:
        sealed = base64.b64decode(ticket.encode(), altchars=b"-_", validate=True)
        content = orjson.loads(seal.open(_purpose(browser, kind), sealed))
    except (binascii.Error, SealBroken, UnicodeEncodeError):
        return None
    return content if content.pop("until") > now.timestamp() else None


def _purpose(browser: Browser, kind: str) -> str:
    return f"{kind} ticket of {browser.realm.name} for {browser.mark}"
