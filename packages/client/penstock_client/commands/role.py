"""`penstock role`: which role somebody has, and where."""

import re
from typing import Annotated, Final

from cyclopts import App, Parameter

from penstock_client import answers, errors, session
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import aged, column
from penstock_client.views.access import BoundRole, Conditions

app = App(name="role", help="Roles: which role somebody has, and where.")

HOURS: Final = re.compile(r"([0-9]{1,2})-([0-9]{1,2})")
COLUMNS: Final = (
    column("ID", "id"),
    column("SUBJECT", "subject"),
    column("ROLE", "role"),
    column("SCOPE", "scope"),
    column("SCOPE ID", "scope_id"),
    aged("CREATED", "created_at"),
)
Several = Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())]
Days = Annotated[list[int] | None, Parameter(consume_multiple=True, negative=())]


@app.command
def ls(*, subject: str | None = None, scope: str | None = None, options: Options = UNSET) -> None:
    """List role bindings: all you may see, or those of one subject or place.

    Parameters
    ----------
    subject
        The id of a user, a group, a service account, a key or a client.
    scope
        The id of a tenant, an organization, a project or a site, or `platform`.
    """
    with session.start(options) as run:
        page = run.client.roles.list(subject=subject, scope=scope)
    answers.listing(options, page, COLUMNS, empty="no roles are bound: `penstock role bind`")


@app.command
def bind(
    subject: str,
    role: BoundRole,
    /,
    *,
    tenant: str | None = None,
    organization: str | None = None,
    project: str | None = None,
    site: str | None = None,
    family: Several = None,
    residency: Several = None,
    hours: str | None = None,
    weekday: Days = None,
    second_factor: bool = False,
    options: Changing = UNSAID,
) -> None:
    """Give a user, a group, a service account, a key or a client a role at a place.

    The place is one of the next four; your own tenant (or the platform) if none is named.

    Parameters
    ----------
    family
        Only leases of these GPU families.
    residency
        Only leases where one of these tags is true.
    hours
        Only in these hours (UTC), such as 8-18; 22-6 spans midnight.
    weekday
        Only on these days: 1 is Monday.
    second_factor
        Only in sessions that proved a second factor.
    """
    conditions: Conditions = {}
    if family:
        conditions["families"] = family
    if residency:
        conditions["residency"] = residency
    if hours is not None:
        begin, end = _hours(hours)
        conditions["hours"] = {"begin": begin, "end": end}
    if weekday:
        conditions["weekdays"] = weekday
    if second_factor:
        conditions["second_factor"] = True
    with session.start(options) as run:
        made = run.client.roles.bind(
            subject, role, tenant=tenant, organization=organization, project=project, site=site,
            conditions=conditions or None,
        )  # fmt: skip
    answers.thing(options, made, next=f"penstock role unbind {made['id']}")


@app.command
def unbind(id: str, /, *, options: Changing = UNSAID) -> None:
    """Take a role away again."""
    with session.start(options) as run:
        answers.thing(options, run.client.roles.unbind(id))


def _hours(text: str) -> tuple[int, int]:
    found = HOURS.fullmatch(text)
    if found is None:
        raise errors.Misused(f"--hours: {text!r} is not like 8-18")
    return int(found[1]), int(found[2])
