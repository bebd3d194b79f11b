"""The workflow engine (DBOS) of a site, with its bookkeeping in the site's own database."""

from typing import Final

from dbos import DBOS, DBOSConfig
from sqlalchemy import Engine, ExceptionContext, event

from penstock.kernel import db
from penstock.site.settings import SiteSettings

# Workflows of another version are not resumed: change it when their steps change.
WORKFLOW_VERSION: Final = "leases-1"


def prepare(settings: SiteSettings) -> None:
    """Make the engine; workflows can be declared, none runs yet."""
    if not event.contains(Engine, "handle_error", _wait_for_the_database):
        event.listen(Engine, "handle_error", _wait_for_the_database)
    DBOS(config=_config(settings))


def stop() -> None:
    DBOS.destroy(workflow_completion_timeout_sec=0)


def _config(settings: SiteSettings) -> DBOSConfig:
    return {
        "name": "penstock-site",
        "system_database_url": settings.database_url,
        "application_version": WORKFLOW_VERSION,
        "executor_id": settings.executor,
        "log_level": "WARNING",
        "sys_db_pool_size": 10,
        "sys_db_idle_transaction_timeout_sec": db.IDLE_IN_TRANSACTION_S_MAX,
    }


def _wait_for_the_database(context: ExceptionContext) -> None:
    """The engine tries again when a connection was lost. It knows some failures to connect by
    their words, and not those of a socket that refuses or a name that cannot be resolved: it
    would fail the workflow, or end the site. So each of them counts as a lost connection."""
    if context.connection is None:
        context.is_disconnect = True
