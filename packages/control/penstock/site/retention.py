"""What grows at a site, how long each is kept, and how it goes."""

from datetime import datetime, timedelta
from typing import Final

from dbos import DBOS

from penstock.kernel import feed, retention
from penstock.kernel.db import Database
from penstock.kernel.retention import Batch, Kind, Trimmer
from penstock.site.settings import SiteSettings
from penstock.site.tasks import service as tasks

ENDED: Final = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
BATCH: Final = 100


def trimmer(database: Database, settings: SiteSettings) -> Trimmer:
    kept = timedelta(seconds=settings.tasks_kept_s)
    rejections = timedelta(seconds=settings.rejections_kept_s)
    kinds = (
        retention.rows(database, "tasks", kept, tasks.forget),
        Kind("workflows", kept, forget_workflows),
        retention.rows(database, "rejections", rejections, feed.forget_rejections),
    )
    return Trimmer(database, settings.sweep_every_s, kinds)


async def forget_workflows(before: datetime) -> Batch:
    """Deletes workflows that ended before then, and their steps, from the engine's own tables.
    Their documents are marked as started, so none begins again."""
    ended = await DBOS.list_workflows_async(
        status=ENDED, completed_before=before.isoformat(), limit=BATCH,
        load_input=False, load_output=False,
    )  # fmt: skip
    if ended:
        await DBOS.delete_workflows_async([each.workflow_id for each in ended])
    return Batch(len(ended), more=len(ended) == BATCH)
