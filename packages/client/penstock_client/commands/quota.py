"""`penstock quota`: how much may be held at once or spent in a month, and how much is."""

from dataclasses import dataclass
from typing import Final

from cyclopts import App, Parameter

from penstock_client import amounts, answers, errors, screen, session, sizes, words
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import Column, column
from penstock_client.views.quotas import Quota, QuotaKind
from penstock_client.words import Row

app = App(
    name="quota", help="Quotas: how much may be held at once, or spent in a month, and how much is."
)


@Parameter(name="*")
@dataclass(frozen=True)
class Scope:
    """Whose use is counted: one of these, or your own tenant if all are left out."""

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
    return words.plain(row.get("family") or "all") if row.get("kind") == "gpus" else words.NONE


def counted(row: Row, count: object) -> str:
    if row.get("kind") == "spend":
        return words.money(count, row.get("currency"))
    if row.get("kind") == "volumes" and isinstance(count, int):
        return sizes.said(count)
    return words.plain(count)


def free(row: Row) -> str:
    limit, used = row.get("limit"), row.get("used")
    if not isinstance(limit, int) or not isinstance(used, int):
        return words.NONE
    return counted(row, limit - used)


COLUMNS: Final = (
    column("SCOPE", "scope"),
    column("ID", "scope_id"),
    column("KIND", "kind"),
    Column("FAMILY", family),
    Column("USED", lambda row: counted(row, row.get("used")), right=True),
    Column("LIMIT", lambda row: counted(row, row.get("limit")), right=True),
    Column("FREE", free, right=True),
)


def show(options: Options, line: Quota) -> None:
    if options.json:
        screen.document(line)
    else:
        screen.table(COLUMNS, [line])


@app.command
def ls(*, scope: Scope = MINE, options: Options = UNSET) -> None:
    """List what is used and may be used: GPUs in total and by family, and all that is limited."""
    scope.refuse_several()
    with session.start(options) as run:
        page = run.client.quotas.list(
            tenant=scope.tenant, organization=scope.organization, project=scope.project
        )
    answers.listing(options, page, COLUMNS, empty="nothing is limited and nothing is held")


@app.command(name="set")
def set_quota(
    gpus: int | None = None,
    /,
    *,
    scope: Scope = MINE,
    family: str | None = None,
    nodes: int | None = None,
    clusters: int | None = None,
    volumes: str | None = None,
    vlans: int | None = None,
    spend: str | None = None,
    currency: str = "USD",
    options: Changing = UNSAID,
) -> None:
    """Limit how much may be held at once, or spent in a month: one limit at a time.

    Parameters
    ----------
    gpus
        The most GPUs at once; not less than what is held now.
    family
        Limit only this GPU family (h100); all together if left out.
    nodes
        The most whole nodes at once.
    clusters
        The most clusters at once.
    volumes
        The most bytes of all volumes together: 2TiB, 500GB, 4096.
    vlans
        The most VLANs; of a tenant only.
    spend
        The most that a calendar month (UTC) may cost: 5000.00.
    currency
        What it is spent in; goes with --spend.
    """
    scope.refuse_several()
    limits = (gpus, nodes, clusters, volumes, vlans, spend)
    if sum(limit is not None for limit in limits) != 1:
        raise errors.Misused(
            "give one of: a number of GPUs, --nodes, --clusters, --volumes, --vlans and --spend"
        )
    with session.start(options) as run:
        line = run.client.quotas.set(
            gpus,
            nodes_max=nodes,
            clusters_max=clusters,
            volumes_bytes_max=None if volumes is None else sizes.bytes_of(volumes, "--volumes"),
            vlans_max=vlans,
            spend_micros_max=None if spend is None else amounts.micros_of(spend, "--spend"),
            tenant=scope.tenant,
            organization=scope.organization,
            project=scope.project,
            family=family,
            currency=None if spend is None else currency,
        )
    show(options, line)


@app.command
def rm(
    *,
    scope: Scope = MINE,
    kind: QuotaKind = "gpus",
    family: str | None = None,
    currency: str = "USD",
    options: Changing = UNSAID,
) -> None:
    """Remove a limit. Those of the organization and the tenant around it stay.

    Parameters
    ----------
    kind
        The limit on this.
    family
        The limit on this GPU family; the one on all together if left out.
    currency
        Of a limit on spend.
    """
    scope.refuse_several()
    with session.start(options) as run:
        line = run.client.quotas.remove(
            tenant=scope.tenant,
            organization=scope.organization,
            project=scope.project,
            kind=None if kind == "gpus" else kind,
            family=family,
            currency=currency if kind == "spend" else None,
        )
    show(options, line)
