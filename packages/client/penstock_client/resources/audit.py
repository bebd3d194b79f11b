"""Who did what, and whether the log of it is whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from penstock_client import errors, requests
from penstock_client.requests import Transport
from penstock_client.resources import pages, single
from penstock_client.views.audit import AuditEntry, AuditVerification
from penstock_client.views.pages import Page


@dataclass(frozen=True)
class Audit:
    transport: Transport

    def list(
        self,
        *,
        actor: str | None = None,
        action: str | None = None,
        subject: str | None = None,
        tenant: str | None = None,
        since: str | None = None,
        until: str | None = None,
        order: Literal["newest", "oldest"] = "newest",
        limit: int | None = None,
    ) -> Page[AuditEntry]:
        """Times are RFC 3339 with an offset; `until` is not included."""
        request = requests.get(
            "audit", actor=actor, action=action, subject=subject, tenant=tenant,
            since=since, until=until, order=order,
        )  # fmt: skip
        return pages.collect(self.transport, request, AuditEntry, limit=limit)

    def lines(self, *, after: int = 0) -> Iterator[str]:
        """The chain as text, read a page at a time."""
        cursor: str | None = None
        while True:
            request = requests.get("audit", "lines", after=after, limit=500, cursor=cursor)
            body = self.transport.send(request)
            if not isinstance(body, dict) or "items" not in body:
                raise errors.NotTheApi(f"{request.path} did not answer with a list of lines")
            given = cast("dict[str, object]", body)
            yield from cast("list[str]", given["items"])
            cursor = cast("str | None", given.get("next"))
            if cursor is None:
                return

    def verify(self, *, after: int = 0, limit: int | None = None) -> AuditVerification:
        """A part of the chain, recomputed by the platform. `next` says where to go on."""
        request = requests.get("audit", "verify", after=after, limit=limit)
        return single.fetch(self.transport, request, AuditVerification)
