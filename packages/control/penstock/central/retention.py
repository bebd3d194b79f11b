"""What grows at central, how long each is kept, and how it goes."""

from datetime import timedelta

from penstock.central.allocations import remains
from penstock.central.audit.trimming import AuditTrimmer
from penstock.central.evidence.archive import Archive
from penstock.central.evidence.logs import EventLog, FleetLog
from penstock.central.evidence.trimming import Log, LogTrimmer
from penstock.central.settings import CentralSettings
from penstock.kernel import feed, retention
from penstock.kernel.db import Database
from penstock.kernel.objects import Objects
from penstock.kernel.retention import Kind, Trimmer
from penstock_contracts.identity import PrivateKey


def trimmer(
    database: Database, settings: CentralSettings, objects: Objects, key: PrivateKey
) -> Trimmer:
    """In this order: leases go once the fleet's log is exported."""

    def exported(log: Log, kept_s: float) -> Kind:
        archive = Archive(objects, key, log.name, f"{log.name}/")
        kept = timedelta(seconds=kept_s)
        return Kind(log.name, kept, LogTrimmer(database, archive, log).trim)

    audited = AuditTrimmer(database, objects, key)
    kinds = (
        exported(EventLog(), settings.events_kept_s),
        exported(FleetLog(), settings.fleet_log_kept_s),
        Kind("audit", timedelta(seconds=settings.audit_kept_s), audited.trim),
        remains.kind(database, timedelta(seconds=settings.leases_kept_s)),
        retention.rows(
            database, "rejections", timedelta(seconds=settings.rejections_kept_s),
            feed.forget_rejections,
        ),
    )  # fmt: skip
    return Trimmer(database, settings.sweep_every_s, kinds)
