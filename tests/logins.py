"""Other logins to a test's database. Planes serve with their own, which owns nothing."""

import re

from penstock.local.postgres import ROLE


def owner_url(url: str) -> str:
    """As whoever migrates."""
    return _as(url, ROLE)


def superuser_url(url: str) -> str:
    """Above every wall."""
    return _as(url, "postgres")


def _as(url: str, role: str) -> str:
    return re.sub(r"//[^@/]*@", f"//{role}@", url, count=1)
