"""`penstock site`: run a site, and look after the workflows of one."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Final, TypeVar

from cyclopts import App

from penstock.kernel import db, log, process, settings
from penstock.kernel.catalogue import Catalogue
from penstock.kernel.db import Database, Tx
from penstock.site import app
from penstock.site.documents import service as documents
from penstock.site.documents.service import NotNewest
from penstock.site.sagas import listing
from penstock.site.sagas.workflows import Id
from penstock.site.settings import PREFIX, SiteSettings
from penstock_client import screen
from penstock_client.screen import aged, column

T = TypeVar("T")
COLUMNS: Final = (
    column("ID", "id"),
    aged("SINCE", "since"),
    column("EXECUTOR", "executor"),
    column("STEP", "step"),
    aged("SINCE", "step_since"),
    column("FAILED", "attempts", right=True),
    column("REASON", "reason"),
)

site = App(
    name="site",
    help="Run a site's control plane, set up by PENSTOCK_SITE_… in the environment; "
    "or look after its workflows.",
)
workflow = App(
    name="workflow",
    help="The workflows that run at this site. They are found in its database, which "
    "PENSTOCK_SITE_DATABASE_URL names.",
)
site.command(workflow)


@site.default
def run(*, migrate: bool = False) -> None:
    """Run a site's control plane. It is set up by PENSTOCK_SITE_… in the environment.

    Parameters
    ----------
    migrate
        Bring the database up to date, as its owner (PENSTOCK_SITE_OWNER_URL), and run nothing.
    """
    chosen = settings.load_or_exit(SiteSettings, PREFIX)
    log.configure("site", chosen.log_level)
    if migrate:
        process.run(lambda _stopping: app.migrate(chosen))
    process.run(lambda stopping: app.serve(chosen, stopping))


@workflow.command
def ls(*, json: bool = False) -> None:
    """List the workflows that run, the oldest first."""
    chosen = settings.load_or_exit(SiteSettings, PREFIX)
    found = asyncio.run(_with(chosen, lambda it: listing.running(it, chosen.database_url)))
    rows = [
        {**asdict(one), "since": one.since.isoformat(),
         "step_since": one.step_since.isoformat() if one.step_since else None}
        for one in found
    ]  # fmt: skip
    if json:
        screen.document({"items": rows})
    else:
        screen.table(COLUMNS, rows)


@workflow.command
def cancel(id: str, /, *, reason: str) -> None:
    """Have a workflow give up: it undoes what it did and reports that it failed, and why."""
    if not reason.strip():
        raise SystemExit("say why with --reason: central and the tenant are told")
    about = _parsed(id)
    _act(lambda tx: documents.cancel(tx, about.kind, about.key, about.revision, reason[:400]))
    screen.line(f"{id} is told to give up; `penstock site workflow ls` shows when it has")


@workflow.command(name="hand-over")
def hand_over(id: str, /) -> None:
    """Have the newest version of a workflow begin anew in its place; if it is, nothing happens."""
    about = _parsed(id)
    _act(lambda tx: documents.hand_over(tx, about.kind, about.key, about.revision))
    screen.line(f"{id} is told to leave its work to the newest version")


def _parsed(id: str) -> Id:
    try:
        return Id.parse(id)
    except ValueError:
        raise SystemExit(f"{id!r} is no workflow: `penstock site workflow ls` lists them") from None


def _act(work: Callable[[Tx], Awaitable[None]]) -> None:
    chosen = settings.load_or_exit(SiteSettings, PREFIX)
    try:
        asyncio.run(_with(chosen, lambda database: database.run(work)))
    except NotNewest as error:
        raise SystemExit(str(error)) from None


async def _with(chosen: SiteSettings, work: Callable[[Database], Awaitable[T]]) -> T:
    nothing = Catalogue("/penstock/operator", ())  # what an operator does here emits no event
    database = await db.connect(chosen.database_url, "site", size=1, catalogue=nothing)
    try:
        return await work(database)
    finally:
        await database.close()
