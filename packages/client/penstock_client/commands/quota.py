"""`penstock quota`: how many GPUs may be held at once, and how many are."""

from dataclasses import dataclass
from typing import Final

from cyclopts import App, Parameter

from penstock_client import answers, errors, session, words
from penstock_client.options import UNSET, Options
from penstock_client.screen import Column, column
from penstock_client.words import Row

app = App(
    name="quota", help="Quotas: how many GPUs may be held at once, and how many are held now."
)


@Parameter(name="*")
@dataclass(frozen=True)
class Scope:
    """Whose GPUs are counted: one of these, or your own tenant if all are left out."""

    tenant: str | None = None
    """All that a tenant holds."""
    organization: str | None = None
    """All that an organization's projects hold."""
    project: str | None = None
    """All that a project holds."""

    def refuse_several(self) -> None:
        if sum(name is not None for name in (self.tenant, self.organization, self.project)) > 1:
            raise errors.Misused("name one of --tenant, --organization and --project")


MINE: Final = Scope()


def family(row: Row) -> str:
    return words.plain(row.get("family") or "all")


def free(row: Row) -> str:
    limit, used = row.get("gpus_max"), row.get("gpus_used")
    if not isinstance(limit, int) or not isinstance(used, int):
        return words.NONE
    return str(limit - used)


COLUMNS: Final = (
    column("SCOPE", "scope"),
    column("ID", "scope_id"),
    Column("FAMILY", family),
    column("USED", "gpus_used", right=True),
    column("LIMIT", "gpus_max", right=True),
    Column("FREE", free, right=True),
)


@app.command
def ls(*, scope: Scope = MINE, options: Options = UNSET) -> None:
    """List what is held and may be held, in total and by GPU family."""
    scope.refuse_several()
    with session.start(options) as run:
        page = run.client.quotas.list(
            tenant=scope.tenant, organization=scope.organization, project=scope.project
        )
    answers.listing(options, page, COLUMNS, empty="nothing is limited and nothing is held")


@app.command(name="set")
def set_quota(
    gpus: int,
    /,
    *,
    scope: Scope = MINE,
    family: str | None = None,
    options: Options = UNSET,
) -> None:
    """Limit how many GPUs may be held at once.

    Parameters
    ----------
    gpus
        The most that may be held; not less than what is held now.
    family
        Limit only this GPU family (h100); all together if left out.
    """
    scope.refuse_several()
    with session.start(options) as run:
        line = run.client.quotas.set(
            gpus,
            tenant=scope.tenant,
            organization=scope.organization,
            project=scope.project,
            family=family,
        )
    answers.thing(options, line)


@app.command
def rm(*, scope: Scope = MINE, family: str | None = None, options: Options = UNSET) -> None:
    """Remove a limit. Those of the organization and the tenant around it stay.

    Parameters
    ----------
    family
        The limit on this GPU family; the one on all together if left out.
    """
    scope.refuse_several()
    with session.start(options) as run:
        line = run.client.quotas.remove(
            tenant=scope.tenant,
            organization=scope.organization,
            project=scope.project,
            family=family,
        )
    answers.thing(options, line)
