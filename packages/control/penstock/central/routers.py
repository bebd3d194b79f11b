"""The whole API: every router of every noun."""

from penstock.central import doors, standing
from penstock.central.access import api as keys
from penstock.central.allocations import api as allocations
from penstock.central.allocations import slots_api as leased_slots
from penstock.central.audit import api as audit
from penstock.central.availability import api as availability
from penstock.central.balances import api as balances
from penstock.central.bindings import api as bindings
from penstock.central.defragmentation import api as defragmentation
from penstock.central.disputes import api as disputes
from penstock.central.documentation import api as documentation
from penstock.central.explanations import api as explanations
from penstock.central.groups import api as groups
from penstock.central.networks import api as networks
from penstock.central.networks import pools_api as pools
from penstock.central.nodes import api as nodes
from penstock.central.nodes import life_api as node_lives
from penstock.central.offboardings import api as offboardings
from penstock.central.onboardings import api as onboardings
from penstock.central.onboardings import tenants_api as new_tenants
from penstock.central.organizations import api as organizations
from penstock.central.placement import api as placement
from penstock.central.policies import api as policies
from penstock.central.projects import api as projects
from penstock.central.quotas import api as quotas
from penstock.central.realms import routers as realms
from penstock.central.reenrolments import api as reenrolments
from penstock.central.service_accounts import api as service_accounts
from penstock.central.sites import api as sites
from penstock.central.skus import api as skus
from penstock.central.slots import api as slots
from penstock.central.templates import api as templates
from penstock.central.tenants import api as tenants
from penstock.central.usage import api as usage

ROUTERS = (  # tried in this order: the busiest first
    placement.asking, allocations.router, placement.router, tenants.router, new_tenants.router,
    policies.router, organizations.router, projects.router, quotas.router, balances.router,
    skus.router, sites.router, nodes.router, node_lives.router, reenrolments.router,
    slots.router, leased_slots.router, usage.router,
    disputes.router, availability.router, defragmentation.router, audit.router, pools.router,
    networks.router, templates.router, onboardings.router, offboardings.router, doors.router,
    standing.router, keys.router, bindings.router, groups.router, service_accounts.router,
    explanations.router, *realms.ROUTERS, documentation.router,
)  # fmt: skip
