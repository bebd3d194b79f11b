"""A site as one process."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta

from penstock.kernel import db, loops, migrations, process
from penstock.kernel.http import ops
from penstock.kernel.loops import Loops
from penstock.kernel.readiness import Writable
from penstock.kernel.stopping import Stopping
from penstock.kernel.wakeups import Wakeups
from penstock.site import engine, events, executors, kinds, renewal, retention, uplink
from penstock.site.downlink import NodeLinks
from penstock.site.executors import Executor
from penstock.site.nodes import presence
from penstock.site.sagas.workflows import Workflows
from penstock.site.settings import SiteSettings
from penstock.site.tasks.service import Tasks
from penstock_contracts import membership
from penstock_contracts.files import Damaged
from penstock_contracts.ids import SiteId
from penstock_contracts.join import JoinToken
from penstock_contracts.membership import Member


class NotJoined(Exception):
    """The site has not joined the platform and has no token to do so."""


async def migrate(settings: SiteSettings) -> None:
    """Bring the database up to date, as its owner: our tables, and the workflow engine's."""
    owner = migrations.owner(settings.owner_url, "site")
    await migrations.migrate(owner, "site")
    await engine.migrate(owner)


async def serve(settings: SiteSettings, stopping: Stopping | None = None) -> None:
    """Run until cancelled; `stopping` says when it will be."""
    stopping = stopping or Stopping()
    if settings.owner_url is not None:
        await migrate(settings)
    await migrations.check(settings.database_url, "site")
    member = await _join(settings)
    catalogue = events.catalogue(SiteId(member.id))
    database = await db.connect(settings.database_url, "site", size=20, catalogue=catalogue)
    wakeups = Wakeups(settings.database_url)
    tasks = Tasks(
        database, wakeups, member.key, deadline=timedelta(seconds=settings.task_deadline_s)
    )
    engine.prepare(settings)
    known_kinds = kinds.load(tasks)
    workflows = Workflows(database, wakeups, known_kinds)
    url = settings.database_url
    me = Executor(settings.executor, timedelta(seconds=settings.executor_silence_s))
    links = NodeLinks(database, wakeups, settings, member, tasks)
    checks: dict[str, ops.Check] = {
        "database": Writable(database),
        "stopping": stopping.ready,
    }
    known = Loops("site", settings.executor, engine.is_fault)
    server = ops.server(ops.app(checks, known), settings.metrics_listen)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        stack.push_async_callback(database.close)
        known.start(group, (loops.listening(wakeups),))
        await wakeups.listening.wait()
        await database.run(lambda tx: presence.forget_connections(tx, settings.executor))
        await database.run(lambda tx: uplink.describe(tx, settings.join_address))
        engine.launch()
        stack.push_async_callback(engine.stop)
        await stack.enter_async_context(links.listen())
        known.start(
            group,
            (
                renewal.loop(member),
                uplink.loop(database, wakeups, url, me.id, member, known_kinds.decoders),
                executors.loop(database, url, me),
                workflows.loop(),
                retention.trimmer(database, settings).loop(url),
            ),
        )
        ops.start(group, [server])
        await server.listening.wait()
        process.tell_ready(site=member.id)


async def _join(settings: SiteSettings) -> Member:
    folder = settings.data / "membership"
    member = membership.load(folder)
    if member is not None:
        return member
    if settings.token_file is None or not settings.token_file.exists():
        raise NotJoined(
            "this site has not joined yet: set PENSTOCK_SITE_TOKEN_FILE to a file with the "
            "token that `penstock site token NAME` prints"
        )
    try:
        token = JoinToken.decode(settings.token_file.read_text())
    except (ValueError, OSError) as error:
        again = "put there what `penstock site token NAME` prints"
        raise Damaged(settings.token_file, f"holds no join token ({error})", again) from None
    return await membership.join(folder, token, settings.name, with_ca=True)
