"""The seven steps in order (`model.STEPS`), each with its undo."""

from typing import Final

from penstock.central.onboardings.job import Stage
from penstock.central.onboardings.steps import (
    admin,
    domain,
    network,
    projects,
    quotas,
    ready,
    realm,
)

STAGES: Final = {
    stage.name: stage
    for stage in (
        Stage("domain", domain.do, domain.undo),
        Stage("realm", realm.do, realm.undo),
        Stage("admin", admin.do, admin.undo),
        Stage("network", network.do, network.undo),
        Stage("quotas", quotas.do, quotas.undo),
        Stage("projects", projects.do, projects.undo),
        Stage("ready", ready.do, ready.undo),
    )
}
