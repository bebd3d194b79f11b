"""The workflow engine (DBOS) of a site, with its bookkeeping in the site's own database."""

import asyncio
import threading
from contextlib import suppress
from typing import Final
from urllib.parse import quote

from dbos import DBOS, DBOSConfig
from dbos._error import DBOSInitializationError  # it exports none of its errors
from sqlalchemy import Engine, ExceptionContext, event
from sqlalchemy.exc import SQLAlchemyError

from penstock.kernel import faults, log, migrations, pools
from penstock.kernel.migrations import MigrationRefused
from penstock.site import engine_sessions
from penstock.site.settings import SiteSettings

# The engine resumes no workflow of another version than this. So it is the same for ever: what
# changes is each saga's own version, which its workflows carry (`sagas/workflows.py`).
ENGINE_VERSION: Final = "site"
ROLE: Final = "penstock_site_engine"
SCHEMA: Final = "dbos"
POOL_SIZE: Final = 10
# Who waits for a connection while the database is away waits for as long as it is: to give up would
# fail the workflow.
POOL_WAIT_S_MAX: Final = 30 * 86_400
END_S_MAX: Final = 1.5
READ_ONLY: Final = "25006"
logger = log.get(__name__)


async def migrate(owner_url: str) -> None:
    """The engine's own tables, made by the database's owner; at run time only rows change."""
    await asyncio.to_thread(DBOS.migrate, owner_url)
    await migrations.allow_rows(owner_url, "site", ROLE, SCHEMA)


def prepare(settings: SiteSettings) -> None:
    """Make the engine; workflows can be declared, none runs yet."""
    if not event.contains(Engine, "handle_error", _wait_for_the_database):
        event.listen(Engine, "handle_error", _wait_for_the_database)
        event.listen(Engine, "do_connect", engine_sessions.connect)
    engine_sessions.begin()
    DBOS(config=_config(settings))
    log.adopt("dbos")


def launch() -> None:
    """Run workflows. Until then a database that does not answer is a failure to start."""
    try:
        DBOS.launch()
    except DBOSInitializationError as error:
        raise MigrationRefused(
            f"the workflow engine cannot use the database ({error}): run `penstock site --migrate` "
            "with the owner's login in PENSTOCK_SITE_OWNER_URL"
        ) from error
    engine_sessions.waits.set()


async def stop() -> None:
    """Let its threads end what they do; but not wait for a database that is away."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def destroy() -> None:
        DBOS.destroy(workflow_completion_timeout_sec=0)
        with suppress(RuntimeError):  # nobody waited until now
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=destroy, daemon=True).start()
    try:
        async with asyncio.timeout(END_S_MAX):
            await ended.wait()
    except TimeoutError:
        engine_sessions.stopping.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S_MAX):
                await ended.wait()


def address(url: str) -> str:
    """Where another process reads the engine's tables: the same database, in the engine's role."""
    return f"{url}{'&' if '?' in url else '?'}options={quote(f'-c role={ROLE}')}"


def is_fault(error: BaseException) -> bool:
    """Whether the database failed, for us or for the engine; and not this program."""
    return isinstance(error, SQLAlchemyError) or faults.is_fault(error)


def _config(settings: SiteSettings) -> DBOSConfig:
    return {
        "name": "penstock-site",
        "system_database_url": settings.database_url,
        "dbos_system_schema": SCHEMA,
        "run_migrations": False,  # its login may not: see `migrate`
        "application_version": ENGINE_VERSION,
        "executor_id": settings.executor,
        "log_level": "WARNING",
        "sys_db_pool_size": POOL_SIZE,
        "sys_db_idle_transaction_timeout_sec": pools.IDLE_IN_TRANSACTION_S_MAX,
        "db_engine_kwargs": {
            "pool_timeout": POOL_WAIT_S_MAX,
            "connect_args": {**engine_sessions.OPTIONS, "options": f"-c role={ROLE}"},
        },
    }


def _wait_for_the_database(context: ExceptionContext) -> None:
    """The engine tries again when a connection was lost. It knows some failures to connect by
    their words, and not those of a socket that refuses, of a name that cannot be resolved or of a
    standby: it would fail the workflow, or end the site. So each of them counts as a lost
    connection."""
    read_only = getattr(context.original_exception, "sqlstate", None) == READ_ONLY
    if context.connection is None or read_only:
        context.is_disconnect = True
